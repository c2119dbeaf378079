"""From a directory to an Inventory: paths, vault, YAML, then Ansible, then the rules. Nothing here touches a host."""

from __future__ import annotations

from pathlib import Path

from edgectl.errors import Problems
from edgectl.inventory import documents, state
from edgectl.inventory.ansible_source import AnsibleSource
from edgectl.inventory.model import Host, Inventory
from edgectl.inventory.problem import Problem
from edgectl.inventory.rules import check, settings
from edgectl.inventory.vault import Vault, require_password, vaulted_files


def load(path: Path, *, vault: Vault | None = None) -> Inventory:
    """Read an inventory and check it. Raises UsageError or Problems, each problem with its file, line and fix."""
    inventory = _read(path, vault)
    if problems := check(inventory):
        raise Problems(problems)
    return inventory


def read(path: Path, *, vault: Vault | None = None) -> Inventory:
    """Read an inventory without the rules: for commands that must work on a half-right one, such as `reset`."""
    inventory = _read(path, vault)
    if inventory.documents.duplicates:  # which of two values was meant is not for us to guess
        raise Problems(inventory.documents.duplicates)
    return inventory


def _read(path: Path, vault: Vault | None) -> Inventory:
    _check_path(path)
    vault = vault or Vault.from_environment()
    vaulted = vaulted_files(path)
    opened = vault or Vault()
    if vaulted and vault is None:
        found = documents.read(path, Vault.read_plain)
        raise Problems([require_password(vaulted), *found.problems, *found.duplicates, *settings.unknown(found)])
    found = documents.read(path, opened.read)
    if found.problems:
        raise Problems([*found.problems, *found.duplicates, *settings.unknown(found)])
    remembered = state.read(path / documents.STATE_FILE)
    source = AnsibleSource(path, opened)
    groups = source.groups()
    return Inventory(
        path=path,
        hosts=tuple(Host(name, tuple(source.groups_of(name)), source, found) for name in _order(groups)),
        groups=groups,
        state=remembered,
        vaulted=tuple(vaulted),
        documents=found,
    )


def needs_password(path: Path) -> list[Path]:
    """The vaulted files of an inventory, so that a command can ask for the password once, before anything else."""
    _check_path(path)
    return vaulted_files(path) if Vault.from_environment() is None else []


def _order(groups: dict[str, list[str]]) -> list[str]:
    """Hosts of the cluster and the hub. The state file is a source too and must not decide the order."""
    names = [name for group in ("control_plane", "workers", "cluster", "hub") for name in groups.get(group, ())]
    return list(dict.fromkeys(names))


def _check_path(path: Path) -> None:
    start = f"edgectl init {path} writes one"
    if not path.exists():
        raise Problem(path, "there is no such inventory directory", fix=start)
    if not path.is_dir():
        raise Problem(
            path,
            "an inventory must be a directory, and this is a file",
            "edgectl keeps what it must remember in edgectl.state.yml beside your hosts.yml",
            f"mkdir inventory && mv {path} inventory/hosts.yml, then give `inventory`",
        )
    names = sorted(file.name for file in path.iterdir() if not file.name.startswith("."))
    ignored = [name for name in names if documents.IGNORED.search(name)]
    if not set(names) - {*ignored, *documents.VARIABLE_DIRECTORIES, documents.STATE_FILE}:
        raise Problem(
            path,
            "the directory holds no inventory file",
            f"Ansible passes over {', '.join(ignored)}" if ignored else "hosts.yml is missing",
            f"mv {path / ignored[0]} {path / 'hosts.yml'}" if ignored else start,
        )
