"""Every role: defaults/main.yml, argument_specs.yml and the README's table say the same."""

import re
from itertools import pairwise

import pytest
import yaml

from tests import readme_tables

EXAMPLE = re.compile(r"# [a-z_]+_[a-z_]+: ")
ROLES = [role.name for role in readme_tables.roles()]


@pytest.fixture(params=ROLES)
def role(request):
    return readme_tables.ROLES / request.param


def defaults(role):
    file = role / "defaults" / "main.yml"
    return (yaml.safe_load(file.read_text()) or {}) if file.exists() else {}


def public(options):
    return {name for name in options if not name.startswith("__")}


def test_every_default_is_specified_and_every_specified_option_stands_in_the_defaults(role):
    specs = readme_tables.specified_options(role)
    text = (role / "defaults" / "main.yml").read_text()
    # An option that has a value for some hosts only stands there as an example, commented out.
    examples = {name for name, spec in specs.items() if "default" not in spec and f"\n# {name}:" in text}
    expected = {name for name, spec in specs.items() if not spec.get("required")}
    assert public(defaults(role)) | examples == expected


def test_defaults_are_the_same_in_both_places(role):
    given, specs = defaults(role), readme_tables.specified_options(role)
    differing = {
        name: (given[name], specs[name].get("default"))
        for name in given
        if name in specs and given[name] != specs[name].get("default") and not _computed(given[name], specs[name])
    }
    assert differing == {}


def test_every_option_is_described_and_carries_its_roles_name(role):
    for name, spec in readme_tables.specified_options(role).items():
        assert spec.get("description"), name
        assert name.startswith(f"{role.name}_")


def test_every_default_has_a_comment_above_it(role):
    lines = (role / "defaults" / "main.yml").read_text().splitlines()
    bare = [line for above, line in pairwise(lines) if _is_option(line) and not _explains(above)]
    assert bare == []


def test_the_readmes_table_is_up_to_date(role):
    text = (role / "README.md").read_text()
    assert text == readme_tables.with_table(text, role), "run: python -m tests.readme_tables --write"


def test_an_option_that_is_true_or_false_is_read_as_that_where_a_role_decides_by_it(role):
    """`-e machine_load_modules=false` arrives as text, and text is true."""
    every = (readme_tables.specified_options(one).items() for one in readme_tables.roles())
    names = "|".join(name for options in every for name, spec in options if spec["type"] == "bool")
    # A module's argument is converted by the module; a message may say how an option is set.
    undecided = re.compile(rf"\b({names})\b(?!: |(?: \| default\(\w+\))? \| bool\b| }}}}\"$)", re.MULTILINE)
    parts = [path for part in ("tasks", "templates", "vars", "handlers") for path in (role / part).glob("*.*")]
    found = [f"{path.name}: {hit.group()}" for path in parts for hit in undecided.finditer(path.read_text())]
    assert found == []


def _computed(value, spec):
    # A default that is a template may be described in words instead.
    return "{{" in str(value) and "default" not in spec


def _is_option(line):
    return ":" in line and line[:1] not in (" ", "#", "-", "")


def _explains(line):
    # An option may share the comment of the one above it.
    return line.startswith("#") or _is_option(line)


def test_the_sample_inventory_names_only_options_that_exist_and_shows_their_defaults():
    options = {
        name: spec for role in readme_tables.roles() for name, spec in readme_tables.specified_options(role).items()
    }
    sample = (readme_tables.ROLES.parent / "inventory" / "group_vars" / "all.yml").read_text()
    shown = [line.removeprefix("# ") for line in sample.splitlines() if EXAMPLE.match(line)]
    assert len(shown) > 5
    for line in shown:
        ((name, value),) = yaml.safe_load(line).items()
        # An option that is empty by default is shown with an example.
        assert options[name].get("default") in (value, "")
