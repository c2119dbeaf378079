"""Distributions that this release has, what they can't do yet, and options that belong to another one."""

from __future__ import annotations

from collections.abc import Iterator

from edgectl.inventory.model import Inventory
from edgectl.inventory.problem import Problem

# Those that this release makes, the default first; the others are refused by name.
MADE: tuple[str, ...] = ("kubeadm", "k3s")
# Roles that only one distribution uses.
_ROLES = {"kubeadm": ("containerd", "kubeadm", "pod_network"), "k3s": ("k3s",)}


def problems(inventory: Inventory) -> Iterator[Problem]:
    """A distribution that is there, with options that have an effect on it."""
    if not inventory.hosts:
        return
    distribution = inventory.option("cluster_distribution", None)
    if distribution in {"k3s", "eks"} - set(MADE):
        yield Problem(
            inventory.place("cluster_distribution"),
            f"cluster_distribution {distribution} is not in this release yet",
            f"this release has: {', '.join(MADE)}",
            "set cluster_distribution: kubeadm",
            key="cluster_distribution",
        )
    elif distribution in _ROLES:
        yield from _of_others(inventory, str(distribution))


def _of_others(inventory: Inventory, distribution: str) -> Iterator[Problem]:
    others = {role: other for other, roles in _ROLES.items() for role in roles if other != distribution}
    for key in sorted({key for host in inventory.hosts for key in host.variables}):
        for role, other in others.items():
            if key.startswith(f"{role}_"):
                yield Problem(
                    inventory.place(key),
                    f"{key} has no effect on this cluster",
                    f"it belongs to {other}, and cluster_distribution is {distribution}",
                    "take it out",
                    key=key,
                )
