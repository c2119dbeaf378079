"""What the shell offers when Tab is pressed: hosts and groups of the inventory, nodes of the lab.

A shell must never show an error in the middle of a command line: whatever goes wrong, nothing is offered.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from edgectl.inventory.names import Names


def hosts_and_groups(context: typer.Context, incomplete: str) -> list[str]:
    """For `--limit`: the last of several names after commas, with or without its `!`; none that is there already."""
    names = _names(context)
    before, comma, word = incomplete.rpartition(",")
    bang = "!" if word.startswith("!") else ""
    taken = {part.strip().lstrip("!") for part in before.split(",")}
    free = [name for name in (*names.hosts, *names.groups) if name not in taken]
    return [before + comma + bang + name for name in _starting(free, word.removeprefix("!"))]


def hosts(context: typer.Context, incomplete: str) -> list[str]:
    """For an argument that names one host."""
    return _starting(_names(context).hosts, incomplete)


def nodes_of_the_lab(context: typer.Context, incomplete: str) -> list[str]:
    """For an argument that names a node of the lab, or of the one that `--name` names."""
    from edgectl.lab import record

    try:
        lab = record.load(str(context.params.get("name") or "lab"))
    except Exception:
        return []
    return _starting((node.name for node in lab.nodes), incomplete) if lab else []


def workloads_of_the_lab(incomplete: str) -> list[str]:
    """For `--workloads`: the last of several names after commas; none that is there already."""
    from edgectl.lab import workloads

    before, comma, word = incomplete.rpartition(",")
    try:
        free = [name for name in (*workloads.names(), workloads.ALL) if name not in before.split(",")]
    except Exception:
        return []
    return [before + comma + name for name in _starting(free, word)]


def _names(context: typer.Context) -> Names:
    from edgectl.inventory import names

    try:
        return names.read(_inventory(context))
    except Exception:
        return names.Names()


def _inventory(context: typer.Context) -> Path:
    # While an option still lacks its value, the argument before it is left unparsed: `bootstrap DIR --limit <Tab>`.
    argument = next((word for word in context.args if Path(word).is_dir()), None)
    given = argument or context.params.get("inventory") or os.environ.get("EDGECTL_INVENTORY") or "inventory"
    return Path(given).expanduser()


def _starting(names: Iterable[str], beginning: str) -> list[str]:
    return [name for name in names if name.startswith(beginning)]


def workloads(_context: typer.Context, incomplete: str) -> list[str]:
    """For an argument that names a workload of the catalogue."""
    from edgectl.workloads import catalogue

    try:
        return _starting([*catalogue.read(), *catalogue.bundles()], incomplete)
    except Exception:
        return []
