"""An inventory's problems as a value, for `edgectl validate`: the same rules as before a bootstrap, nothing raised."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from edgectl.errors import EdgectlError, Problems
from edgectl.inventory import schema
from edgectl.inventory.load import load
from edgectl.inventory.vault import Vault


@dataclass(frozen=True)
class Verdict:
    """What is to be said about an inventory. hosts: their names, when nothing is wrong. remark: on its schemas."""

    inventory: Path
    hosts: tuple[str, ...] = ()
    problems: tuple[EdgectlError, ...] = ()
    remark: str = ""


def validate(path: Path, find_vault: Callable[[], Vault | None] = Vault.from_environment) -> Verdict:
    """Check an inventory by the rules that bootstrap applies before it connects. Touches no host."""
    hosts: tuple[str, ...] = ()
    problems: tuple[EdgectlError, ...] = ()
    try:
        hosts = tuple(host.name for host in load(path, vault=find_vault()).hosts)
    except Problems as error:
        problems = tuple(error.problems)
    except EdgectlError as error:
        problems = (error,)
    return Verdict(path, hosts, problems, schema.remark(path))
