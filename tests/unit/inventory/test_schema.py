"""The JSON Schema that editors use: sound inventories pass, and what one file can get wrong is seen."""

from pathlib import Path

import jsonschema
import pytest
import yaml

from edgectl import content
from edgectl.inventory.options import known_options
from edgectl.inventory.schema import FILES, files, remark, schema

CASES = Path(__file__).parents[1] / "data" / "broken-inventories"
SAMPLE = content.root() / "inventory"


def problems(kind, document):
    return [error.message for error in jsonschema.Draft7Validator(schema(kind)).iter_errors(document)]


def with_variables(text):
    return problems("vars", yaml.safe_load(text))


@pytest.mark.parametrize("kind", ["hosts", "vars"])
def test_it_is_a_draft_7_schema(kind):
    jsonschema.Draft7Validator.check_schema(schema(kind))
    assert schema(kind)["$schema"] == "http://json-schema.org/draft-07/schema#"


def test_the_sample_inventory_passes():
    assert problems("hosts", yaml.safe_load((SAMPLE / "hosts.yml").read_text())) == []
    assert problems("vars", yaml.safe_load((SAMPLE / "group_vars" / "all.yml").read_text())) == []


def test_every_roles_default_passes_so_that_it_can_be_copied_into_an_inventory():
    for role in sorted((content.root() / "roles").glob("*/defaults/main.yml")):
        assert problems("vars", yaml.safe_load(role.read_text())) == [], role


@pytest.mark.parametrize("case", ["misspelt-section", "hosts-as-list", "bad-host-names", "address-as-value"])
def test_a_broken_hosts_file_is_seen(case):
    assert problems("hosts", yaml.safe_load((CASES / case / "inventory" / "hosts.yml").read_text()))


@pytest.mark.parametrize(
    "case", ["unknown-options", "unknown-distribution", "wrong-types", "variables-are-a-list", "swap-without-quotes"]
)
def test_a_broken_file_of_variables_is_seen(case):
    assert problems("vars", yaml.safe_load((CASES / case / "inventory" / "group_vars" / "all.yml").read_text()))


def test_variables_of_a_host_and_of_a_group_are_checked_in_hosts_yml_too():
    def inventory(of_group, of_host):
        return {"cluster": {"vars": of_group, "children": {"workers": {"hosts": {"nuc1": of_host}}}}}

    assert problems("hosts", inventory({"ansible_user": "ubuntu"}, {"ansible_port": 22})) == []
    assert problems("hosts", inventory({"cluster_pod_cird": "x"}, None))
    assert problems("hosts", inventory(None, {"ansible_port": 70000}))


def test_templates_own_variables_empty_files_and_host_ranges_are_fine():
    assert with_variables('cluster_pod_prefix: "{{ prefix }}"\nmachine_swap: "{{ swap }}"\nmy_own: {a: [1]}\n') == []
    assert with_variables("") == []
    assert problems("hosts", {"cluster": {"children": {"workers": {"hosts": {"nuc[1:3]": None}}}}}) == []


def test_every_option_is_offered_with_its_description_and_default():
    offered = schema("vars")["properties"]
    for name, option in known_options().items():
        assert offered[name]["description"]
        assert offered[name].get("default") == option.default
        assert "C(" not in offered[name]["description"]


def test_the_samples_schemas_are_those_of_this_edgectl():
    for name, text in files().items():
        assert (SAMPLE / name).read_text() == text, "python -m tests.readme_tables --write"


@pytest.mark.parametrize("old", FILES.values())
def test_an_inventory_with_the_schema_of_another_edgectl_is_told_how_to_renew_it(inventory_directory, old):
    told = remark(inventory_directory({**files(), old: "{}\n"}))
    assert told.endswith(f"edgectl schema --write {inventory_directory()}")
    assert "\n" not in told


def test_nothing_is_said_of_schemas_that_are_current_or_not_there(inventory_directory):
    assert remark(inventory_directory()) == ""
    assert remark(inventory_directory(files())) == ""
