"""Address plans: well-formed networks that are apart from each other, from the LAN, and large enough."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from itertools import combinations

from edgectl.errors import UsageError
from edgectl.inventory.documents import Place
from edgectl.inventory.model import Inventory

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


@dataclass(frozen=True)
class _Plan:
    option: str
    purpose: str
    place: Place | str
    network: IPv4Network


def problems(inventory: Inventory) -> Iterator[UsageError]:
    """Pod, service and tunnel networks must not touch each other or the LAN, and must have room for the hosts."""
    if not inventory.hosts:
        return
    plans: list[_Plan] = []
    for option, purpose, longest in _NETWORKS:
        parsed = _parse(inventory, option, purpose, longest)
        if isinstance(parsed, UsageError):
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


def _parse(inventory: Inventory, option: str, purpose: str, longest: int) -> _Plan | UsageError | None:
    if option == "wireguard_network" and not inventory.option("cluster_wireguard", True):
        return None
    text = inventory.option(option, None)
    if not isinstance(text, str):  # said already
        return None
    place = inventory.hosts[0].place(option) or str(inventory.path)
    if text.count("/") != 1:
        return UsageError(
            f"{place}: {option} is {text!r}, which has no prefix length",
            "a network is an address, a slash and a prefix length",
            f"for example {option}: {_default(option)}",
        )
    try:
        network = IPv4Network(text, strict=False)
    except ValueError:
        return UsageError(
            f"{place}: {option} is {text!r}, which is no IPv4 network",
            "a network is an address, a slash and a prefix length from 0 to 32",
            f"for example {option}: {_default(option)}",
        )
    if str(network) != text:
        return UsageError(
            f"{place}: {option} is {text!r}, an address inside a network",
            f"the bits after the first {network.prefixlen} must be zero",
            f"did you mean {network}?",
        )
    if network.prefixlen > longest:
        return UsageError(
            f"{place}: {option} {text} is too small for {purpose}",
            f"it has {network.num_addresses} addresses",
            f"use a prefix length of {longest} or less, for example {_default(option)}",
        )
    return _Plan(option, purpose, place, network)


def _overlap(inventory: Inventory, plans: list[_Plan], one: _Plan, other: _Plan) -> UsageError:
    return UsageError(
        f"{other.place}: {other.option} {other.network} overlaps {one.option} {one.network}",
        f"{one.purpose} and {other.purpose} need networks of their own ({one.option} is in {one.place})",
        f"move one of them, for example {_free(inventory, plans, other.option)}",
    )


def _hosts_inside(inventory: Inventory, plans: list[_Plan]) -> Iterator[UsageError]:
    for plan in plans:
        inside = [f"{name} has {address}" for name, address in _lan_addresses(inventory) if address in plan.network]
        if inside:
            yield UsageError(
                f"{plan.place}: {plan.option} {plan.network} holds addresses of the LAN",
                f"{', '.join(inside)}; traffic to them would be taken for that of {plan.purpose}",
                f"move it, for example {_free(inventory, plans, plan.option)}",
            )


def _lan_addresses(inventory: Inventory) -> list[tuple[str, IPv4Address]]:
    found = [
        (host.name, _address(host.option(option, None)))
        for host in inventory.hosts
        for option in ("ansible_host", "cluster_lan_address")
    ]
    return list(dict.fromkeys((name, address) for name, address in found if address is not None))


def _room(inventory: Inventory, plans: dict[str, _Plan]) -> Iterator[UsageError]:
    nodes = [host for host in inventory.hosts if host not in inventory.hub]
    pods, prefix = plans.get("cluster_pod_cidr"), inventory.option("cluster_pod_prefix", 24)
    if pods is not None and str(prefix).isdigit():
        length = int(prefix)
        if not pods.network.prefixlen <= length <= 28:
            yield UsageError(
                f"{inventory.hosts[0].place('cluster_pod_prefix') or pods.place}: cluster_pod_prefix {length} does not "
                f"fit into cluster_pod_cidr {pods.network}",
                f"a node's subnet needs a prefix length from {pods.network.prefixlen} to 28",
                "leave cluster_pod_prefix out, and it is 24"
                if pods.network.prefixlen < 24
                else f"use a larger cluster_pod_cidr, for example {_default('cluster_pod_cidr')}",
            )
        elif (room := 2 ** (length - pods.network.prefixlen)) < len(nodes):
            yield UsageError(
                f"{pods.place}: cluster_pod_cidr {pods.network} has room for {room} nodes, and there are {len(nodes)}",
                f"each node takes a /{length} of it",
                f"use a larger one, for example {_default('cluster_pod_cidr')}",
            )
    tunnels = plans.get("wireguard_network")
    if tunnels is not None and tunnels.network.num_addresses - 2 < len(inventory.hosts):
        yield UsageError(
            f"{tunnels.place}: wireguard_network {tunnels.network} has room for {tunnels.network.num_addresses - 2} "
            f"hosts, and there are {len(inventory.hosts)}",
            fix=f"use a larger one, for example {_default('wireguard_network')}",
        )


def _moved(inventory: Inventory, plans: dict[str, _Plan]) -> Iterator[UsageError]:
    """Addresses that were given out stay for ever: a network that no longer holds them cannot be right."""
    for option, attribute in (("wireguard_network", "wireguard_address"), ("cluster_pod_cidr", "pod_cidr")):
        plan = plans.get(option)
        given = {name: getattr(state, attribute) for name, state in inventory.state.hosts.items()}
        if attribute == "wireguard_address":
            given |= {name: peer.wireguard_address for name, peer in inventory.state.peers.items()}
        outside = [f"{name} has {value}" for name, value in given.items() if plan and value and not _holds(plan, value)]
        if plan and outside:
            yield UsageError(
                f"{plan.place}: {option} {plan.network} no longer holds what {inventory.state_file} has given out",
                ", ".join(outside),
                f"set {option} back, or take the cluster down first: edgectl reset {inventory.path}",
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


def _free(inventory: Inventory, plans: list[_Plan], option: str) -> str:
    """The first candidate for an option that touches no other plan and no host."""
    addresses = [address for _, address in _lan_addresses(inventory)]
    for candidate in _CANDIDATES[option]:
        network = IPv4Network(candidate)
        others = [plan.network for plan in plans if plan.option != option]
        if not any(network.overlaps(other) for other in others) and not any(a in network for a in addresses):
            return f"{option}: {candidate}"
    return f"{option} in another private range"


def _default(option: str) -> str:
    return _CANDIDATES[option][0]
