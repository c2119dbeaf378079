"""The state file against itself and the inventory: what was given out once stays as it is."""

from __future__ import annotations

from collections.abc import Iterator

from edgectl.inventory.model import Inventory
from edgectl.inventory.problem import Problem

_UNIQUE = {
    "wireguard_address": "the tunnel address",
    "pod_cidr": "the pod network",
    "wireguard_public_key": "the WireGuard key",
}


def problems(inventory: Inventory) -> Iterator[Problem]:
    """No two hosts hold the same, as after a bad merge; and the cluster has the name that it was made with."""
    for attribute, purpose in _UNIQUE.items():
        first: dict[str, str] = {}
        for name, host in inventory.state.hosts.items():
            value = getattr(host, attribute)
            other = first.setdefault(value, name) if value else name
            if other != name:
                yield Problem(
                    inventory.state_file,
                    f"{name} has {purpose} of {other}: {value}",
                    "edgectl gives each out once; two versions of the file may have been merged",
                    f"bring back the file's last version: git checkout -- {inventory.state_file}",
                    key=attribute,
                )
    cluster = inventory.state.cluster
    if not (inventory.hosts and cluster.name and cluster.ca_hash):
        return
    name = inventory.option("cluster_name", None)
    if isinstance(name, str) and name != cluster.name:
        yield Problem(
            inventory.place("cluster_name"),
            f"cluster_name is {name}, and the cluster was made as {cluster.name}",
            f"its certificates and every node carry that name ({inventory.state_file})",
            f"set cluster_name: {cluster.name}, or take the cluster down first: edgectl reset {inventory.path}",
            key="cluster_name",
        )
