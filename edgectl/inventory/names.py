"""The names of an inventory's hosts and groups, read in milliseconds: without Ansible, from its static files alone.

Shell completion lives on this. What the inventory means, and whether it is right, `load` says.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from edgectl.inventory import documents
from edgectl.inventory.problem import Place

_SECTION = re.compile(r"\[([^:\]]+)(?::(\w+))?\]")
_RANGE = re.compile(r"\[(\w+):(\w+)(?::(\d+))?\]")
_PORT = re.compile(r":\d+$")
# More hosts than that in one range are a typing error, and no shell shows them.
_LONGEST_RANGE = 1000


@dataclass(frozen=True)
class Names:
    """Hosts and groups, each in the order in which they were written."""

    hosts: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()


def read(directory: Path) -> Names:
    """All names that YAML and INI files of an inventory directory hold; a file that is broken gives what it can."""
    found = documents.read(directory, lambda file: file.read_text(encoding="utf-8"))
    hosts = [host for pattern in _in_yaml(found.hosts) for host in expand(pattern)]
    groups = _in_yaml(found.groups)
    for file in documents.ini_files(directory):
        for section, name in _ini_entries(file.read_text(encoding="utf-8").splitlines()):
            if section == "hosts":
                hosts += expand(name)
            else:
                groups.append(name)
    return Names(tuple(dict.fromkeys(hosts)), tuple(dict.fromkeys(groups)))


def _in_yaml(names: Mapping[str, Place]) -> list[str]:
    return [name for name, place in names.items() if place.file.suffix in documents.YAML_SUFFIXES]


def expand(pattern: str) -> list[str]:
    """`nuc[1:3]` is nuc1, nuc2 and nuc3; `nuc[01:10:3]` and `nuc[a:c]` work as in Ansible."""
    match = _RANGE.search(pattern)
    if match is None:
        return [pattern]
    first, last, step = match[1], match[2], int(match[3] or 1)
    if first.isdecimal() and last.isdecimal():
        width = len(first) if first.startswith("0") else 0
        steps = [f"{number:0{width}d}" for number in range(int(first), int(last) + 1, step or 1)[:_LONGEST_RANGE]]
    elif len(first) == len(last) == 1 and (first + last).isalpha():
        steps = [chr(number) for number in range(ord(first), ord(last) + 1, step or 1)]
    else:
        return []
    before, after = pattern[: match.start()], pattern[match.end() :]
    return [name for one in steps for name in expand(before + one + after)]


def _ini_entries(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Pairs of what a line tells of (`hosts`, `group`) and the name."""
    section = "hosts"
    for text in lines:
        line = text.strip()
        if not line or line.startswith(("#", ";")):
            continue
        if line == "---" or line.endswith(":"):
            return  # YAML in a file without a suffix
        if match := _SECTION.match(line):
            section = match[2] or "hosts"
            yield "group", match[1]
        elif section == "hosts":
            yield "hosts", _PORT.sub("", line.split()[0])
        elif section == "children":
            yield "group", line.split()[0]
