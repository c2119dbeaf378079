"""Hub and spokes: one host that everybody can call, and whose way to everybody stays open."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_address

from edgectl.inventory.model import Host, Inventory
from edgectl.inventory.problem import Problem
from edgectl.inventory.rules.hosts import is_ip

_EXAMPLE = "hub: {hosts: {relay: {ansible_host: 203.0.113.10}}}"


def problems(inventory: Inventory) -> Iterator[Problem]:
    """A hub is there when the topology has one, and only then; all hosts suit it."""
    if not inventory.hosts:
        return
    names = ", ".join(host.name for host in inventory.hub)
    group = inventory.documents.groups.get("hub") or inventory.path
    is_hub = inventory.option("wireguard_topology", None) == "hub"
    if not inventory.option("cluster_wireguard", True):
        if is_hub or names:
            yield Problem(
                inventory.place("wireguard_topology") if is_hub else group,
                "there are no tunnels that a hub could carry: cluster_wireguard is false",
                "without tunnels the hosts reach each other over the LAN, all of them",
                "leave cluster_wireguard out, or wireguard_topology and the group hub",
                key="wireguard_topology" if is_hub else "",
            )
    elif is_hub and not names:
        yield Problem(
            inventory.place("wireguard_topology"),
            "wireguard_topology is hub, and no host is in group hub",
            "the hub is the host that all others can call; it may be one of the cluster's",
            f"name it in hosts.yml, for example {_EXAMPLE}",
            key="wireguard_topology",
        )
    elif is_hub and len(inventory.hub) > 1:
        yield Problem(
            group,
            f"hub has {len(inventory.hub)} hosts, and can have one",
            f"its hosts: {names}; WireGuard sends packets for a network to one peer, so a second hub would get none",
            f"keep {inventory.hub[0].name} there and take the others out",
        )
    elif is_hub:
        yield from _callable(inventory, inventory.hub[0])
        yield from _packet_size(inventory, inventory.hub[0])
        yield from _ways_stay_open(inventory, inventory.hub[0])
    elif names and inventory.option("wireguard_topology", None) == "mesh":
        yield Problem(
            group,
            f"{names} is in group hub, and would carry nothing",
            "wireguard_topology is mesh, in which all hosts call each other",
            "set wireguard_topology: hub in group_vars/all.yml, or take the group hub out",
        )


def _callable(inventory: Inventory, hub: Host) -> Iterator[Problem]:
    """Where it is called is written down: what it finds out about itself may be an address behind NAT."""
    endpoint = hub.option("wireguard_endpoint", None)
    login = str(hub.option("cluster_lan_address", None) or hub.option("ansible_host", None) or hub.name)
    if endpoint is None:
        key = "cluster_lan_address" if "cluster_lan_address" in hub.variables else "ansible_host"
        of_it = "leads each host to itself" if _is_loopback(login) else "may mean something on this machine alone"
        why = f"it has no wireguard_endpoint, and {login} {of_it}"
        good = is_ip(login) and not _is_loopback(login)
    else:
        key, why = "wireguard_endpoint", f"its wireguard_endpoint is {endpoint!r}"
        good = bool(endpoint) and not _is_loopback(str(endpoint).rpartition(":")[0])
    if not good:
        name = login if "." in login and not is_ip(login) else "relay.example.net"
        yield Problem(
            hub.place(key) or hub.place() or inventory.path,
            f"the hub {hub.name} cannot be called",
            f"{why}; all others call it, and it calls nobody",
            f"set wireguard_endpoint of {hub.name}, for example {name}:{hub.option('wireguard_port', 51871)}",
            key="wireguard_endpoint",
        )


def _packet_size(inventory: Inventory, hub: Host) -> Iterator[Problem]:
    sizes = {host: str(host.option("wireguard_mtu", "")) for host in inventory.hosts}
    other = next((host for host in inventory.hosts if sizes[host] != sizes[hub]), None)
    if other is not None and all(size.isdecimal() for size in sizes.values()):
        yield Problem(
            other.place("wireguard_mtu") or hub.place("wireguard_mtu") or inventory.path,
            f"wireguard_mtu is {sizes[other]} for {other.name} and {sizes[hub]} for the hub {hub.name}",
            "a packet leaves the hub at the size at which it came",
            f"set wireguard_mtu: {min(int(size) for size in sizes.values())} once, in group_vars/all.yml",
            key="wireguard_mtu",
        )


def _ways_stay_open(inventory: Inventory, hub: Host) -> Iterator[Problem]:
    for host in inventory.hosts:
        if host is not hub and host.option("wireguard_keepalive", None) in (0, "0"):
            yield Problem(
                host.place("wireguard_keepalive") or inventory.path,
                f"wireguard_keepalive of {host.name} is 0",
                f"a router forgets a quiet connection, and then {hub.name} cannot reach {host.name} any more",
                "leave it out, and it is 25",
                key="wireguard_keepalive",
            )


def _is_loopback(text: str) -> bool:
    bare = text.strip("[]")
    return bare == "localhost" or (is_ip(bare) and ip_address(bare).is_loopback)
