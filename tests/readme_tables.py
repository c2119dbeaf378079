"""What is made from the roles' argument_specs.yml: the options table of each role's README, the sample's schemas.

python -m tests.readme_tables --check    # names the files that are out of date; exit code 1 if there are any
python -m tests.readme_tables --write    # brings them up to date
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from edgectl.inventory import schema

ROLES = Path(__file__).resolve().parent.parent / "roles"
BEGIN = "<!-- options:begin -->"
END = "<!-- options:end -->"


def roles() -> list[Path]:
    """Every role that has options."""
    return sorted(file.parent.parent for file in ROLES.glob("*/meta/argument_specs.yml"))


def table(role: Path) -> str:
    """The table for one role, markers included."""
    options = specified_options(role)
    lines = [BEGIN, "| Option | Type | Default | What it does |", "|---|---|---|---|"]
    lines += [row for name, spec in options.items() for row in _rows(name, spec)]
    return "\n".join([*lines, END])


def specified_options(role: Path) -> dict[str, Mapping[str, Any]]:
    """Options of all entry points of a role."""
    specs = yaml.safe_load((role / "meta" / "argument_specs.yml").read_text())["argument_specs"]
    return {name: spec for entry in specs.values() for name, spec in (entry.get("options") or {}).items()}


def with_table(text: str, role: Path) -> str:
    """A README's text with its table brought up to date; the markers are added when they are missing."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        return f"{text.rstrip()}\n\n## Options\n\n{table(role)}\n"
    return f"{before}{table(role)}{after}"


def outdated() -> Iterator[tuple[Path, str]]:
    """Files that are not what the roles' argument_specs.yml say, and the text that they should have."""
    wanted = {ROLES.parent / "inventory" / name: text for name, text in schema.files().items()}
    for role in roles():
        readme = role / "README.md"
        wanted[readme] = with_table(readme.read_text() if readme.exists() else f"# {role.name}\n", role)
    for file, text in wanted.items():
        if not file.exists() or file.read_text() != text:
            yield file, text


def main(arguments: list[str] | None = None) -> int:
    """Check or write all of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    group = parser.add_mutually_exclusive_group(required=True)
    group.add_argument("--check", action="store_true")
    group.add_argument("--write", action="store_true")
    wanted = parser.parse_args(arguments)
    stale = list(outdated())
    for file, text in stale:
        name = file.relative_to(ROLES.parent)
        if wanted.check:
            print(f"{name}: out of date; run: python -m tests.readme_tables --write")
        else:
            file.write_text(text)
            print(f"{name}: written")
    return 1 if stale and wanted.check else 0


def _rows(name: str, spec: Mapping[str, Any], indent: str = "") -> Iterator[str]:
    kind = spec.get("type", "str")
    if spec.get("elements"):
        kind = f"{kind} of {spec['elements']}"
    if spec.get("choices"):
        kind = "list of " if kind.startswith("list") else ""
        kind += " \\| ".join(f"`{_plain(choice)}`" for choice in spec["choices"])
    default = "**required**" if spec.get("required") else _default(spec.get("default"))
    yield f"| {indent}`{name}` | {kind} | {default} | {_description(spec)} |"
    for member, inner in (spec.get("options") or {}).items():
        yield from _rows(f"{name}.{member}", inner)


def _description(spec: Mapping[str, Any]) -> str:
    description = spec.get("description", "")
    text = " ".join(description) if isinstance(description, list) else description
    # Ansible's markup for code, options and values: C(x), O(x), V(x).
    text = re.sub(r"\b[COV]\(([^()]*)\)", r"`\1`", " ".join(text.split()))
    return text.replace("|", "\\|")


def _default(value: object) -> str:
    if value is None:
        return ""
    text = " ".join(_plain(value).split()).replace("|", "\\|")
    return f"`{text}`" if text else "empty"


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


if __name__ == "__main__":
    sys.exit(main())
