"""Filters that say which other machines a host knows, from inventory and state file alone.

The hosts in play have no say in it: a run with --limit, or with a host switched off, must not make a peer vanish.
"""

from __future__ import annotations

from ipaddress import ip_address


def _address(value):
    """The IP address in `value`, or None when it is a name or of no use to another host (loopback)."""
    try:
        address = ip_address(str(value))
    except ValueError:
        return None
    return None if address.is_loopback or address.is_unspecified else address


def lan_address(variables):
    """Where other hosts of the LAN find this one, or None when neither inventory nor state file says it."""
    candidates = (
        variables.get("cluster_lan_address"),
        variables.get("ansible_host"),
        variables.get("inventory_hostname"),
        (variables.get("edgectl_state") or {}).get("lan_address"),
    )
    found = (_address(candidate) for candidate in candidates if candidate)
    return next((address for address in found if address), None)


def endpoint(variables, default_port):
    """`host:port` for other hosts' peer entries; empty when this host cannot be called (it will call them)."""
    given = variables.get("wireguard_endpoint")
    if given is not None:
        return str(given)
    address = lan_address(variables)
    if address is None:
        return ""
    port = variables.get("wireguard_port") or default_port
    return f"[{address}]:{port}" if address.version == 6 else f"{address}:{port}"


def peer(name, variables, pod_hosts, default_port):
    """The entry that other hosts keep for host `name`."""
    state = variables["edgectl_state"]
    networks = [f"{state['wireguard_address']}/32"]
    if name in pod_hosts:
        networks.append(state["pod_cidr"])
    return {
        "name": name,
        "public_key": state["wireguard_public_key"],
        "address": state["wireguard_address"],
        "allowed_ips": networks,
        "endpoint": endpoint(variables, default_port),
    }


def spoke(entry, variables):
    """A spoke's entry, which its hub keeps: called only where the inventory says so, since its LAN is another one."""
    return {**entry, "endpoint": str(variables.get("wireguard_endpoint") or ""), "keepalive": 0}


def wireguard_peers(names, hostvars, pod_hosts, default_port, hub=(), behind_hub=()):
    """The entries for hosts `names`, without those that the state file does not know yet.

    pod_hosts: the names of those whose pods are reached through the tunnel. hub: the name of the host that all others
    reach each other through, in a list, and behind_hub: the networks that they reach so; both empty in a mesh.
    """
    enrolled = (name for name in names if (hostvars[name].get("edgectl_state") or {}).get("wireguard_public_key"))
    entries = [peer(name, hostvars[name], pod_hosts, default_port) for name in enrolled]
    if not hub:
        return entries
    return [
        {**entry, "allowed_ips": list(behind_hub)} if entry["name"] in hub else spoke(entry, hostvars[entry["name"]])
        for entry in entries
    ]


def outside_peers(peers):
    """The entries that every host keeps for machines outside the inventory: `edgectl_state_peers` by name.

    They call, and nobody calls them: no endpoint, and no keepalive to where they were last.
    """
    return [
        {
            "name": name,
            "public_key": entry["wireguard_public_key"],
            "address": entry["wireguard_address"],
            "allowed_ips": [f"{entry['wireguard_address']}/32"],
            "endpoint": "",
            "keepalive": 0,
        }
        for name, entry in sorted(peers.items())
    ]


def pod_neighbours(names, hostvars):
    """[{name, lan_address, pod_cidr}] of the hosts whose pods are reached over the LAN."""
    enrolled = ((name, hostvars[name], (hostvars[name].get("edgectl_state") or {}).get("pod_cidr")) for name in names)
    return [
        {"name": name, "lan_address": str(lan_address(variables)), "pod_cidr": pod_cidr}
        for name, variables, pod_cidr in enrolled
        if pod_cidr and lan_address(variables)
    ]


class FilterModule:
    def filters(self):
        return {
            "edgectl_wireguard_peers": wireguard_peers,
            "edgectl_wireguard_outside_peers": outside_peers,
            "edgectl_pod_neighbours": pod_neighbours,
        }
