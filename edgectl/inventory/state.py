"""The state file `edgectl.state.yml`: read here, written only by the module `edgectl_state` on the controller."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from edgectl.inventory.problem import Place, Problem


@dataclass(frozen=True)
class HostState:
    """What edgectl remembers about one host. A field is None as long as nothing is known."""

    machine_id: str | None = None
    wireguard_public_key: str | None = None
    wireguard_address: str | None = None
    pod_cidr: str | None = None
    lan_address: str | None = None
    ssh_host_keys: tuple[str, ...] = ()


@dataclass(frozen=True)
class PeerState:
    """A machine outside the inventory that takes part in the tunnels."""

    wireguard_public_key: str
    wireguard_address: str


@dataclass(frozen=True)
class ClusterState:
    """What edgectl remembers about the cluster; `ca_hash` is known after its first start."""

    name: str | None = None
    ca_hash: str | None = None


@dataclass(frozen=True)
class StateFile:
    """The whole file; empty before the first bootstrap."""

    cluster: ClusterState = field(default_factory=ClusterState)
    hosts: Mapping[str, HostState] = field(default_factory=dict)
    peers: Mapping[str, PeerState] = field(default_factory=dict)

    @property
    def names_by_public_key(self) -> dict[str, str]:
        """WireGuard public key -> name of the host or peer that has it."""
        keys = {name: host.wireguard_public_key for name, host in self.hosts.items()}
        keys |= {name: peer.wireguard_public_key for name, peer in self.peers.items()}
        return {key: name for name, key in keys.items() if key}


def read(file: Path) -> StateFile:
    """Read the state file; one that does not exist is an empty one. Raises UsageError when it has been damaged."""
    if not file.exists():
        return StateFile()
    try:
        document = yaml.safe_load(file.read_text(encoding="utf-8")) or {}
        everything = document.get("all") or {}
        variables = everything.get("vars") or {}
        cluster = variables.get("edgectl_state_cluster") or {}
        peers = {name: _peer(name, body) for name, body in (variables.get("edgectl_state_peers") or {}).items()}
        hosts = {
            name: _host(body["edgectl_state"])
            for name, body in (everything.get("hosts") or {}).items()
            if body and "edgectl_state" in body
        }
        return StateFile(ClusterState(cluster.get("name"), cluster.get("ca_hash")), hosts, peers)
    except (yaml.YAMLError, AttributeError, TypeError, ValueError) as error:
        raise Problem(
            file,
            "the state file cannot be read",
            "it has not the form that edgectl writes"
            if isinstance(error, AttributeError)
            else str(error).splitlines()[0],
            f"edgectl alone writes this file; bring back its last version: git checkout -- {file}",
        ) from error


def places(file: Path) -> dict[tuple[str, str], Place]:
    """The line of each thing that is remembered, by host and field. For a file that `read` has accepted."""
    if not file.exists():
        return {}
    document = yaml.compose(file.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
    return {
        (host, field): Place(file, node.start_mark.line + 1)
        for host, body in _entries(_entry(_entry(document, "all"), "hosts"))
        for field, node in _entries(_entry(body, "edgectl_state"))
    }


def _entry(node: yaml.Node | None, name: str) -> yaml.Node | None:
    return dict(_entries(node)).get(name)


def _entries(node: yaml.Node | None) -> list[tuple[str, yaml.Node]]:
    return [(str(key.value), value) for key, value in node.value] if isinstance(node, yaml.MappingNode) else []


def _host(body: object) -> HostState:
    if not isinstance(body, Mapping):
        raise ValueError(f"edgectl_state is no mapping: {body!r}")  # noqa: TRY004 - a value of the file, not of ours
    known = {name: body.get(name) for name in HostState.__dataclass_fields__ if name != "ssh_host_keys"}
    for name, value in known.items():
        if value is not None and not isinstance(value, str):
            raise ValueError(f"{name} must be text, not {value!r}")
    return HostState(**known, ssh_host_keys=tuple(body.get("ssh_host_keys") or ()))


def _peer(name: object, body: object) -> PeerState:
    known = body if isinstance(body, Mapping) else {}
    key, address = (known.get(field) for field in PeerState.__dataclass_fields__)
    if not isinstance(key, str) or not isinstance(address, str):
        raise ValueError(f"the peer {name} lacks a public key or an address")  # noqa: TRY004 - a value of the file
    return PeerState(key, address)
