"""Address plans: well-formed networks that are apart from each other, from the LAN, and large enough."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from itertools import combinations

from edgectl.inventory.model import Host, Inventory
from edgectl.inventory.problem import Place, Problem

# Option, what it is for, and the longest prefix that makes sense for it.
_NETWORKS = (
    ("cluster_pod_cidr", "pods", 28),
    ("cluster_service_cidr", "services", 28),
    ("wireguard_network", "tunnels", 30),
)
# What to propose, the default first.
_CANDIDATES = {
    "cluster_pod_cidr": ("10.244.0.0/16", "10.42.0.0/16", "172.20.0.0/16"),
    "cluster_service_cidr": ("10.96.0.0/16", "10.43.0.0/16", "172.21.0.0/16"),
    "wireguard_network": ("10.200.0.0/24", "10.99.0.0/24", "172.22.0.0/24"),
}
DEFAULTS = {option: candidates[0] for option, candidates in _CANDIDATES.items()}


@dataclass(frozen=True)
class _Plan:
    option: str
    purpose: str
    place: Place | None
    """Where it is written; None for the role's default."""
    network: IPv4Network

    def __str__(self) -> str:
        return f"{self.option} {self.network}" + ("" if self.place else " (the default)")


def problems(inventory: Inventory) -> Iterator[Problem]:
    """Pod, service and tunnel networks must not touch each other or the LAN, and must have room for the hosts."""
    if not inventory.hosts:
        return
    plans: list[_Plan] = []
    for option, purpose, longest in _NETWORKS:
        parsed = _parse(inventory, option, purpose, longest)
        if isinstance(parsed, Problem):
            yield parsed
        elif parsed is not None:
            plans.append(parsed)
    for one, other in combinations(plans, 2):
        if one.network.overlaps(other.network):
            yield _overlap(inventory, plans, one, other)
    yield from _hosts_inside(inventory, plans)
    by_option = {plan.option: plan for plan in plans}
    yield from _room(inventory, by_option)
    yield from _moved(inventory, by_option)


def _parse(inventory: Inventory, option: str, purpose: str, longest: int) -> _Plan | Problem | None:
    if option == "wireguard_network" and not inventory.option("cluster_wireguard", True):
        return None
    text = inventory.option(option, None)
    if not isinstance(text, str):  # said already
        return None
    written = inventory.hosts[0].place(option)
    place = written or inventory.path
    if text.count("/") != 1:
        return Problem(
            place,
            f"{option} is {text!r}, which has no prefix length",
            "a network is an address, a slash and a prefix length",
            f"for example {option}: {_default(option)}",
            key=option,
        )
    try:
        network = IPv4Network(text, strict=False)
    except ValueError:
        return Problem(
            place,
            f"{option} is {text!r}, which is no IPv4 network",
            "a network is an address, a slash and a prefix length from 0 to 32",
            f"for example {option}: {_default(option)}",
            key=option,
        )
    if str(network) != text:
        return Problem(
            place,
            f"{option} is {text!r}, an address inside a network",
            f"the bits after the first {network.prefixlen} must be zero",
            f"did you mean {network}?",
            key=option,
        )
    if network.prefixlen > longest:
        return Problem(
            place,
            f"{option} {text} is too small for {purpose}",
            f"it has {network.num_addresses} addresses",
            f"use a prefix length of {longest} or less, for example {_default(option)}",
            key=option,
        )
    return _Plan(option, purpose, written, network)


def _overlap(inventory: Inventory, plans: list[_Plan], one: _Plan, other: _Plan) -> Problem:
    # The one to move is the one that the user wrote; of two, the later.
    moved, kept = (other, one) if other.place or not one.place else (one, other)
    return Problem(
        moved.place or inventory.path,
        f"{moved.option} {moved.network} overlaps {kept}",
        f"{one.purpose} and {other.purpose} need networks of their own"
        + (f" ({kept.option} is in {kept.place})" if kept.place else ""),
        f"move one of them, for example {_free(inventory, plans, moved.option)}",
        key=moved.option,
    )


def _hosts_inside(inventory: Inventory, plans: list[_Plan]) -> Iterator[Problem]:
    for plan in plans:
        inside = [(host, address) for host, address in _lan_addresses(inventory) if address in plan.network]
        if inside:
            named = ", ".join(f"{host.name} has {address}" for host, address in inside)
            yield Problem(
                plan.place or inside[0][0].place("ansible_host") or inside[0][0].place() or inventory.path,
                f"{plan} holds addresses of the LAN",
                f"{named}; traffic to them would be taken for that of {plan.purpose}",
                f"move it, for example {_free(inventory, plans, plan.option)}",
                key=plan.option,
            )


def _lan_addresses(inventory: Inventory) -> list[tuple[Host, IPv4Address]]:
    found = [
        (host, _address(host.option(option, None)))
        for host in inventory.hosts
        for option in ("ansible_host", "cluster_lan_address")
    ]
    return list(dict.fromkeys((host, address) for host, address in found if address is not None))


def _room(inventory: Inventory, plans: dict[str, _Plan]) -> Iterator[Problem]:
    nodes = [host for host in inventory.hosts if "cluster" in host.groups]
    pods, prefix = plans.get("cluster_pod_cidr"), inventory.option("cluster_pod_prefix", 24)
    if pods is not None and str(prefix).isdecimal():
        length = int(prefix)
        if not pods.network.prefixlen <= length <= 28:
            yield Problem(
                inventory.hosts[0].place("cluster_pod_prefix") or pods.place or inventory.path,
                f"cluster_pod_prefix {length} does not fit into cluster_pod_cidr {pods.network}",
                f"a node's subnet needs a prefix length from {pods.network.prefixlen} to 28",
                "leave cluster_pod_prefix out, and it is 24"
                if pods.network.prefixlen < 24
                else f"use a larger cluster_pod_cidr, for example {_default('cluster_pod_cidr')}",
                key="cluster_pod_prefix",
            )
        elif (room := 2 ** (length - pods.network.prefixlen)) < len(nodes):
            yield Problem(
                pods.place or inventory.path,
                f"cluster_pod_cidr {pods.network} has room for {room} nodes, and there are {len(nodes)}",
                f"each node takes a /{length} of it",
                f"use a larger one, for example {_default('cluster_pod_cidr')}",
                key="cluster_pod_cidr",
            )
    tunnels = plans.get("wireguard_network")
    if tunnels is not None and tunnels.network.num_addresses - 2 < len(inventory.hosts):
        yield Problem(
            tunnels.place or inventory.path,
            f"wireguard_network {tunnels.network} has room for {tunnels.network.num_addresses - 2} "
            f"hosts, and there are {len(inventory.hosts)}",
            fix=f"use a larger one, for example {_default('wireguard_network')}",
            key="wireguard_network",
        )


def _moved(inventory: Inventory, plans: dict[str, _Plan]) -> Iterator[Problem]:
    """Addresses that were given out stay for ever: a network that no longer holds them cannot be right."""
    for option, attribute in (("wireguard_network", "wireguard_address"), ("cluster_pod_cidr", "pod_cidr")):
        plan = plans.get(option)
        given = {name: getattr(state, attribute) for name, state in inventory.state.hosts.items()}
        if attribute == "wireguard_address":
            given |= {name: peer.wireguard_address for name, peer in inventory.state.peers.items()}
        outside = [f"{name} has {value}" for name, value in given.items() if plan and value and not _holds(plan, value)]
        if plan and outside:
            yield Problem(
                plan.place or inventory.path,
                f"{option} {plan.network} no longer holds what {inventory.state_file} has given out",
                ", ".join(outside),
                f"set {option} back, or take the cluster down first: edgectl reset {inventory.path}",
                key=option,
            )


def _holds(plan: _Plan, text: str) -> bool:
    try:
        return IPv4Network(text).subnet_of(plan.network)
    except ValueError:
        return False


def _address(value: object) -> IPv4Address | None:
    try:
        return IPv4Address(str(value))
    except ValueError:
        return None


def free_network(option: str, taken: Sequence[str], addresses: Sequence[str]) -> str | None:
    """The first candidate for an option, its default before others, that touches no other network and no address."""
    others = [IPv4Network(network) for network in taken]
    inside = [address for address in map(_address, addresses) if address is not None]
    for candidate in _CANDIDATES[option]:
        network = IPv4Network(candidate)
        if not any(network.overlaps(other) for other in others) and not any(one in network for one in inside):
            return candidate
    return None


def _free(inventory: Inventory, plans: list[_Plan], option: str) -> str:
    taken = [str(plan.network) for plan in plans if plan.option != option]
    network = free_network(option, taken, [str(address) for _, address in _lan_addresses(inventory)])
    return f"{option}: {network}" if network else f"{option} in another private range"


def _default(option: str) -> str:
    return DEFAULTS[option]
