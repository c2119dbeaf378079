"""What holds for each host in the end: role defaults, the user's variables and the state file, and where each is from.

Secrets never leave this module: what is vaulted, what contains something vaulted, and passwords are masked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from edgectl.inventory import state
from edgectl.inventory.ansible_source import Unresolved, Value
from edgectl.inventory.model import Host, Inventory
from edgectl.inventory.options import known_options
from edgectl.inventory.problem import Place
from edgectl.inventory.vault import is_encrypted

MASK = "********"
_PASSWORDS = ("_pass", "_password", "_passphrase", "_private_key", "_secret")
# What a shorter secret has in common with other values is chance.
_SHORTEST_PART = 4

Kind = Literal["default", "inventory", "state"]


@dataclass(frozen=True)
class Origin:
    """Where a value is from: the default of `role`, a place in the inventory, or the state file."""

    kind: Kind
    role: str = ""
    place: Place | None = None

    def __str__(self) -> str:
        return f"default of role {self.role}" if self.kind == "default" else str(self.place)


@dataclass(frozen=True)
class Effective:
    """One option of one host. unknown: why there is no value yet; such as a template that needs facts."""

    name: str
    value: Value
    origin: Origin
    secret: bool = False
    unknown: str = ""


def effective(inventory: Inventory, host: Host) -> list[Effective]:
    """All options and variables of a host: connection and own variables first, then each role's, then the state."""
    encrypted = {file for file in inventory.vaulted if is_encrypted(file)}
    secrets = set(_secrets(host, encrypted)) - {""}
    options = known_options()
    own = sorted(name for name in host.variables if name not in options and not name.startswith("edgectl_state"))
    found = [_variable(inventory, host, name, encrypted, secrets) for name in (*own, *options)]
    return [*(one for one in found if one is not None), *_remembered(inventory, host)]


def _variable(inventory: Inventory, host: Host, name: str, encrypted: set[Path], secrets: set[str]) -> Effective | None:
    option = known_options().get(name)
    if name in host.variables:
        origin = Origin("inventory", place=host.place(name) or Place(inventory.path))
    elif option is not None and host.has(name):
        origin = Origin("default", role=option.role)
    else:
        return None  # an option without a default that nobody has set
    try:
        value = host.evaluate(name)
    except Unresolved as error:
        return Effective(name, None, origin, unknown=error.reason)
    if value == "" and host.needs_facts(name):
        return Effective(name, None, origin, unknown="the host has to be asked")
    hidden = _is_secret(name) or (origin.place is not None and origin.place.file in encrypted)
    if (hidden and value not in ("", {}, [])) or any(_holds(value, secret) for secret in secrets):
        return Effective(name, MASK, origin, secret=True)
    return Effective(name, value, origin)


def _secrets(host: Host, encrypted: set[Path]) -> Iterator[str]:
    """Every text that a vaulted file or value gives this host."""
    for name, raw in host.variables.items():
        try:
            value = host.evaluate(name)
        except Unresolved:
            continue
        place = host.place(name)
        if _is_secret(name) or (place is not None and place.file in encrypted):
            yield from _texts(value)
        else:
            yield from host.source.encrypted(raw, value)


def _is_secret(name: str) -> bool:
    option = known_options().get(name)
    return name.endswith(_PASSWORDS) or (option is not None and option.secret)


def _texts(value: Value) -> Iterator[str]:
    if isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif value is not None and not isinstance(value, bool):
        yield str(value)


def _holds(value: Value, secret: str) -> bool:
    return any(text == secret or (len(secret) >= _SHORTEST_PART and secret in text) for text in _texts(value))


def _remembered(inventory: Inventory, host: Host) -> Iterator[Effective]:
    known = inventory.state.hosts.get(host.name)
    places = state.places(inventory.state_file)
    for name in ("wireguard_address", "pod_cidr", "wireguard_public_key", "machine_id", "lan_address"):
        if known is not None and (value := getattr(known, name)) is not None:
            yield Effective(f"edgectl_state.{name}", value, Origin("state", place=places.get((host.name, name))))
