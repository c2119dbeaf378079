"""What edgectl remembers about a lab, and how addresses are given out. Pure functions on plain data.

A tunnel address or a pod network that was given to a host stays with it for ever: peers, Node objects and
certificates carry it. So nothing here moves an address; what cannot be kept is refused, with the reason.

A peer is a machine outside the inventory that takes part in the tunnels, such as a laptop: a public key and an address.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network

# Form of a host's entry, in the order in which it is written.
HOST_KEYS = ("machine_id", "wireguard_public_key", "wireguard_address", "pod_cidr", "lan_address", "ssh_host_keys")
# What a host reports about itself; the rest is given out here.
REPORTED_KEYS = ("machine_id", "wireguard_public_key", "lan_address", "ssh_host_keys")


class AllocationError(Exception):
    """The state cannot be brought in line with what is asked for; the message says why, and what to do."""


def from_document(document):
    """The state {"cluster": {...}, "peers": {name: {...}}, "hosts": {name: {...}}} from a parsed state file."""
    everything = (document or {}).get("all") or {}
    variables = everything.get("vars") or {}
    hosts = everything.get("hosts") or {}
    return {
        "cluster": dict(variables.get("edgectl_state_cluster") or {}),
        "peers": {name: dict(entry) for name, entry in (variables.get("edgectl_state_peers") or {}).items()},
        "hosts": {name: dict((body or {}).get("edgectl_state") or {}) for name, body in hosts.items()},
    }


def to_document(state):
    """The state as an Ansible inventory source; empty when there is nothing to remember."""
    variables = {"edgectl_state_cluster": state["cluster"], "edgectl_state_peers": state.get("peers")}
    everything = {"vars": {name: value for name, value in variables.items() if value}}
    everything = {key: value for key, value in everything.items() if value}
    if state["hosts"]:
        everything["hosts"] = {name: {"edgectl_state": entry} for name, entry in state["hosts"].items()}
    return {"all": everything} if everything else {}


def update(state, request):
    """The new state. The request holds the module's arguments:

    hosts: {name: what that host reports}; all_hosts: names in inventory order; hub: names that get no pod network;
    wireguard_network, pod_cidr: networks to give out from, empty to give out none; pod_prefix: size of a node's
    share; cluster: merged into the cluster's entry, None removes a key; forget: names of hosts to drop; peers: {name:
    public key} to let in; forget_peers: names of peers to drop.
    """
    hosts = {name: dict(entry) for name, entry in state["hosts"].items() if name not in request.get("forget", ())}
    order = request.get("all_hosts") or []
    reported = request.get("hosts") or {}
    for name in sorted(reported, key=lambda name: _rank(name, order)):
        entry = hosts.setdefault(name, {})
        entry.update({key: reported[name][key] for key in REPORTED_KEYS if reported[name].get(key)})
    refuse_shared_machine_ids(hosts, order)
    let_in = request.get("peers") or {}
    peers = with_peers(state.get("peers") or {}, let_in, request.get("forget_peers") or ())
    refuse_shared_names(hosts, order, peers)
    # Only hosts of this run get addresses: one that was never reached has no key, and is no peer yet.
    names = sorted(reported, key=lambda name: _rank(name, order))
    if request.get("wireguard_network"):
        everybody = {**hosts, **peers}
        give_tunnel_addresses(everybody, [*names, *sorted(let_in)], IPv4Network(request["wireguard_network"]))
    if request.get("pod_cidr"):
        members = [name for name in names if name not in (request.get("hub") or ())]
        give_pod_networks(hosts, members, IPv4Network(request["pod_cidr"]), int(request.get("pod_prefix") or 24))
    cluster = {**state["cluster"], **(request.get("cluster") or {})} if hosts else {}
    return {
        "cluster": {key: value for key, value in cluster.items() if value is not None},
        # A tunnel network without hosts is none.
        "peers": {name: peers[name] for name in sorted(peers)} if hosts else {},
        "hosts": {name: _arranged(hosts[name]) for name in _in_order(hosts, order)},
    }


def with_peers(peers, let_in, forget):
    """The peers that stay, and those to let in. A name that is taken by another key is refused."""
    result = {name: dict(entry) for name, entry in peers.items() if name not in forget}
    for name, key in let_in.items():
        if result.setdefault(name, {"wireguard_public_key": key})["wireguard_public_key"] != key:
            raise AllocationError(
                f"there is a peer {name} already, with another key. Choose another name, or take that one out first "
                f"(edgectl peer remove {name})"
            )
    return result


def refuse_shared_names(hosts, order, peers):
    """A host keeps one file for each of its peers, named after it."""
    for name in peers:
        if name in hosts or name in order:
            raise AllocationError(
                f"{name} is the name of a host and of a peer. Take the peer out (edgectl peer remove {name}) and let "
                f"it in by another name"
            )


def give_tunnel_addresses(hosts, names, network):
    """Give each named host or peer that has none the lowest free address of the tunnel network."""
    taken = {}
    for name, entry in hosts.items():
        if "wireguard_address" not in entry:
            continue
        address = IPv4Address(entry["wireguard_address"])
        if address not in network:
            raise AllocationError(
                f"{name} has the tunnel address {address}, outside wireguard_network {network}: addresses that were "
                f"given out stay. Set wireguard_network back, or reset the cluster first"
            )
        if address in taken:
            raise AllocationError(f"{taken[address]} and {name} both have the tunnel address {address}")
        taken[address] = name
    for name in names:
        if "wireguard_address" in hosts[name]:
            continue
        free = next((address for address in network.hosts() if address not in taken), None)
        if free is None:
            raise AllocationError(
                f"no tunnel address is left for {name}: wireguard_network {network} holds {len(taken)} hosts and "
                f"peers. Forget those that are gone (edgectl reset --limit NAME, edgectl peer remove NAME)"
            )
        hosts[name]["wireguard_address"] = str(free)
        taken[free] = name


def give_pod_networks(hosts, names, network, prefix):
    """Give each named host that has none the lowest free subnet of the pods' network."""
    taken = {}
    for name, entry in hosts.items():
        if "pod_cidr" not in entry:
            continue
        own = IPv4Network(entry["pod_cidr"])
        if not own.subnet_of(network):
            raise AllocationError(
                f"{name} has the pod network {own}, outside cluster_pod_cidr {network}: networks that were given out "
                f"stay. Set cluster_pod_cidr back, or reset the cluster first"
            )
        other = next((other for other in taken if other.overlaps(own)), None)
        if other is not None:
            raise AllocationError(f"the pod networks of {taken[other]} ({other}) and {name} ({own}) overlap")
        taken[own] = name
    for name in names:
        if "pod_cidr" in hosts[name]:
            continue
        candidates = network.subnets(new_prefix=prefix) if prefix >= network.prefixlen else iter(())
        free = next((subnet for subnet in candidates if not any(subnet.overlaps(other) for other in taken)), None)
        if free is None:
            raise AllocationError(
                f"no pod network is left for {name}: cluster_pod_cidr {network} holds {len(taken)} of /{prefix}. "
                f"Forget hosts that are gone (edgectl reset --limit NAME)"
            )
        hosts[name]["pod_cidr"] = str(free)
        taken[free] = name


def refuse_shared_machine_ids(hosts, order):
    """Two hosts with one machine-id are one machine under two names, or two clones of one disk."""
    owners = {}
    for name in _in_order(hosts, order):
        machine_id = hosts[name].get("machine_id")
        other = owners.setdefault(machine_id, name) if machine_id else name
        if other == name:
            continue
        gone = next((one for one in (other, name) if order and one not in order), None)
        if gone:
            hint = (
                f"{gone} is no longer in the inventory: if it was renamed, rename its entry in the state file too; "
                f"if it is gone, remove that entry"
            )
        else:
            hint = (
                "one of the two was cloned from the other; give it an identity of its own: "
                "sudo rm /etc/machine-id /var/lib/dbus/machine-id; sudo systemd-machine-id-setup; sudo reboot"
            )
        raise AllocationError(f"{other} and {name} have the same machine-id {machine_id}: {hint}")


def _in_order(hosts, order):
    """Hosts as the inventory has them; those it no longer has come after, as they were."""
    return [name for name in order if name in hosts] + [name for name in hosts if name not in order]


def _rank(name, order):
    return (order.index(name) if name in order else len(order), name)


def _arranged(entry):
    return {key: entry[key] for key in (*HOST_KEYS, *sorted(set(entry) - set(HOST_KEYS))) if key in entry}
