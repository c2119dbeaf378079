"""What a role's work depends on, as one digest: the same at the gate, inside the role, and in another process.

Inputs are: the role's files and all of `plugins/`; every option that the role's files name, its own and others', with
the value that this host has; what the role lists in `meta/receipt.yml` (`facts` that it may decide by and that its own
work does not change, and `inputs` from the state file); and whose host this is. Runs on the controller only.

A fact is named by its path in the probe's document, such as `kernel/release`. The receipt keeps the facts that it was
made from, so that they can be compared without Ansible (edgectl/cluster/verified.py).
"""

from __future__ import annotations

import hashlib
import json
import re
from functools import cache
from pathlib import Path
from typing import Any, Mapping

import yaml

CONTENT = Path(__file__).resolve().parents[2]
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
STATE_FILE = "edgectl.state.yml"
LOCK_FILE = ".edgectl/artifacts.lock.yml"
# What makes an inventory say something else tomorrow, though no file of it has changed.
_DYNAMIC = re.compile(rb"^plugin:|\b(?:lookup|query|q)\(|\bnow\(|\brandom\b|\bansible_facts\b", re.MULTILINE)
_NAME = re.compile(r"\b[a-z][a-z0-9_]*\b")
# Whether a role is to do or undo its work is not what it depends on.
_NO_INPUT = "_state"
_TRUE = ("yes", "on", "true", "1", "y", "t")


def digest(
    role: str,
    options: Mapping[str, Any],
    declared_values: Mapping[str, Any],
    name: str,
    document: Mapping[str, Any],
) -> str:
    """Digest of a role's inputs on one host, from values whose templates have been evaluated.

    options: of `options_used`. declared_values: of `declared`. name: the host's, in the inventory. document: the
    probe's.
    """
    types = known_options()
    inputs = {
        "content": content_digest(role),
        "options": {name: _coerced(value, types[name]) for name, value in options.items()},
        "declared": declared_values,
        "facts": facts(role, document),
        "host": {"name": name, "machine_id": document["identity"]["machine_id"]},
    }
    return hashlib.sha256(json.dumps(inputs, sort_keys=True, default=str).encode()).hexdigest()


@cache
def content_digest(role: str) -> str:
    """Digest of the files that a role runs: its own and all plugins, with paths, modes and bytes."""
    return files_digest((CONTENT / "roles" / role, CONTENT / "plugins"))


def files_digest(directories: tuple[Path, ...]) -> str:
    """Digest of directories of files; compiled Python is left out."""
    seen = hashlib.sha256()
    for directory in directories:
        for path in sorted(path for path in directory.rglob("*") if path.is_file() and path.suffix != ".pyc"):
            executable = bool(path.stat().st_mode & 0o100)
            seen.update(f"{path.relative_to(directory.parent)}\0{executable}\0".encode())
            seen.update(hashlib.sha256(path.read_bytes()).digest())
    return seen.hexdigest()


@cache
def known_options() -> Mapping[str, str]:
    """Every option of every role, with its type."""
    found = {}
    for file in sorted((CONTENT / "roles").glob("*/meta/argument_specs.yml")):
        specs = (_read(file) or {}).get("argument_specs", {})
        for entry_point in specs.values():
            found.update(
                {name: (spec or {}).get("type", "str") for name, spec in entry_point.get("options", {}).items()}
            )
    return found


@cache
def options_used(role: str) -> tuple[str, ...]:
    """The options that a role's files name; none can be forgotten, since nobody has to list them."""
    known = {name for name in known_options() if not name.endswith(_NO_INPUT)}
    named: set[str] = set()
    for path in (CONTENT / "roles" / role).rglob("*"):
        if path.is_file() and path.suffix in (".yml", ".j2"):
            named.update(known.intersection(_NAME.findall(path.read_text(encoding="utf-8"))))
    return tuple(sorted(named))


def declared(role: str) -> Mapping[str, str]:
    """`inputs` of the role's meta/receipt.yml: name -> template."""
    return _receipt(role).get("inputs", {})


def facts(role: str, document: Mapping[str, Any]) -> dict[str, Any]:
    """`facts` of the role's meta/receipt.yml with what a host's document says: path -> value."""
    return {path: fact(document, path) for path in _receipt(role).get("facts", [])}


def fact(document: Mapping[str, Any], path: str) -> Any:
    """What a path such as `kernel/release` leads to; None where there is nothing."""
    found: Any = document
    for part in path.split("/"):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def machine(name: str, document: Mapping[str, Any]) -> dict[str, Any]:
    """Which machine a stamp is of: one that has the disk of another, or its machine-id, must not pass for it."""
    paths = ("identity/machine_id", "identity/product_uuid", "identity/serial", "ssh_host_keys")
    return {"name": name, **{path.rpartition("/")[2]: fact(document, path) for path in paths}}


def inventory_digest(directory: Path, *, with_state: bool) -> str | None:
    """Digest of an inventory directory's files; None where they don't tell all: a script, a plugin, a lookup, a fact.

    with_state: the state file, which edgectl itself writes during a run, counts too.
    """
    seen = hashlib.sha256()
    for path in sorted(directory.rglob("*")):
        relative = path.relative_to(directory)
        hidden = any(part.startswith(".") for part in relative.parts) and str(relative) != LOCK_FILE
        if hidden or not path.is_file():
            continue
        if relative.name == STATE_FILE and not with_state:
            continue
        content = path.read_bytes()
        if path.stat().st_mode & 0o111 or _DYNAMIC.search(content):
            return None
        seen.update(f"{relative}\0".encode() + hashlib.sha256(content).digest())
    return seen.hexdigest()


def stamp_digest(directory: Path) -> str | None:
    """Digest of everything that a complete run depends on besides the hosts: the inventory, and edgectl's content."""
    inventory = inventory_digest(directory, with_state=True)
    if inventory is None:
        return None
    content = files_digest((CONTENT / "roles", CONTENT / "plugins", CONTENT / "playbooks"))
    return hashlib.sha256(f"{inventory} {content}".encode()).hexdigest()


@cache
def _receipt(role: str) -> Mapping[str, Any]:
    return _read(CONTENT / "roles" / role / "meta" / "receipt.yml")


def _read(path: Path) -> Any:
    return yaml.load(path.read_text(encoding="utf-8"), Loader=_LOADER)  # noqa: S506


def _coerced(value: Any, kind: str) -> Any:
    """A value as its option's type: `-e wireguard_port=51820` arrives as text."""
    if value is None:
        return None
    if kind == "bool":
        return value if isinstance(value, bool) else str(value).strip().lower() in _TRUE
    if kind in ("int", "float"):
        try:
            return int(value) if kind == "int" else float(value)
        except (TypeError, ValueError):
            return str(value)
    if kind == "list" and isinstance(value, str):
        return [part.strip() for part in value.split(",")]
    return value if isinstance(value, (list, dict)) else str(value)
