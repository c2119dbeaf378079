"""What a check works with: the state of a host, the finding it returns, and the list that checks enter."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, Callable, List, Union


@dataclasses.dataclass(frozen=True)
class Finding:
    """Something wrong on a host.

    what: one sentence; evidence: what was seen; fix: a command or the line to change, one a line;
    severity: `error` stops a run before anything is changed, `warning` is only shown.
    The registry fills host, layer, id and docs in.
    """

    what: str
    evidence: str = ""
    fix: str = ""
    severity: str = "error"
    host: str = ""
    layer: str = ""
    id: str = ""
    docs: str = ""

    def as_dict(self) -> dict[str, str]:
        return dataclasses.asdict(self)


class Facts:
    """Read-only view of a part of the probe's document: attributes instead of keys, None for what is not known.

    An empty one is false, so a section that could not be read needs no special care.
    """

    __slots__ = ("_data",)

    def __init__(self, data: Mapping[str, Any] | None) -> None:
        self._data = data or {}

    def __getattr__(self, name: str) -> Any:
        return _wrapped(self._data.get(name))

    def __getitem__(self, name: str) -> Any:
        return _wrapped(self._data.get(name))

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def __bool__(self) -> bool:
        return bool(self._data)

    def items(self) -> list[tuple[str, Any]]:
        return [(name, _wrapped(value)) for name, value in self._data.items()]


def _wrapped(value: Any) -> Any:
    if isinstance(value, Mapping):
        return Facts(value)
    if isinstance(value, (list, tuple)):
        return [_wrapped(item) for item in value]
    return value


class HostState:
    """One host as the checks see it: the sections of its document, its options, and the other hosts."""

    def __init__(self, name: str, document: Mapping[str, Any], options: Mapping[str, Any]) -> None:
        self.name = name
        self.in_play = bool(document)
        self.others: list[HostState] = []
        self.reference_time: float | None = None
        self._document = document
        self._options = options

    def __getattr__(self, section: str) -> Facts:
        if section.startswith("_"):
            raise AttributeError(section)
        return Facts(self._document.get(section))

    def list(self, section: str) -> list[Facts]:
        """A section that is a list of entries, such as swap or disks; empty when it could not be read."""
        return [Facts(entry) for entry in self._document.get(section) or []]

    def option(self, name: str, default: Any = None) -> Any:
        """Value of a role's option for this host."""
        value = self._options.get(name)
        return default if value is None else value

    def switch(self, name: str, default: bool) -> bool:
        """A boolean option; `-e name=false` arrives as text."""
        return str(self.option(name, default)).lower() in ("true", "yes", "on", "1")

    @property
    def is_node(self) -> bool:
        return "cluster" in self.option("group_names", ["cluster"])

    @property
    def is_control_plane(self) -> bool:
        return "control_plane" in self.option("group_names", [])

    @property
    def is_hub(self) -> bool:
        return "hub" in self.option("group_names", [])

    @property
    def is_lab(self) -> bool:
        return self._document.get("simulated") == "lab"

    @property
    def machine_id(self) -> str | None:
        """As the host says now; as the state file remembers for a host that is not in this run."""
        return self.identity.machine_id or self.known_machine_id

    @property
    def known_machine_id(self) -> str | None:
        """As the state file remembers."""
        return (self.option("edgectl_state") or {}).get("machine_id")

    @property
    def known_tunnel_key(self) -> str | None:
        """Public key of the host's tunnel, as the state file remembers."""
        return (self.option("edgectl_state") or {}).get("wireguard_public_key")

    @property
    def lan_address(self) -> str | None:
        return self.option("cluster_lan_address") or self.network.default_address


Answer = Union[None, Finding, List[Finding]]
Check = Callable[[HostState], Answer]


@dataclasses.dataclass(frozen=True)
class Registered:
    layer: str
    id: str
    examine: Check
    nodes_only: bool


REGISTRY: list[Registered] = []
# Each layer stands on the one before; findings come in this order.
LAYERS = ("identity", "machine", "network", "runtime", "gpu", "cluster")


def check(layer: str, id: str, nodes_only: bool = False) -> Callable[[Check], Check]:
    """Enter a function into the list of checks; `nodes_only` spares a WireGuard hub what only a node needs."""

    def enter(examine: Check) -> Check:
        REGISTRY.append(Registered(layer, id, examine, nodes_only))
        return examine

    return enter


def examine(state: HostState) -> list[Finding]:
    """All findings on one host, in the order in which the layers build on each other."""
    found = []
    for entry in sorted(REGISTRY, key=lambda entry: LAYERS.index(entry.layer)):
        if entry.nodes_only and not state.is_node:
            continue
        answer = entry.examine(state)
        for finding in answer if isinstance(answer, list) else [answer] if answer else []:
            docs = "docs/checks.md#" + entry.id.lower()
            found.append(dataclasses.replace(finding, host=state.name, layer=entry.layer, id=entry.id, docs=docs))
    return found
