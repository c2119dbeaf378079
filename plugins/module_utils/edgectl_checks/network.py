"""Can this host's network carry a tunnel and a pod network: ranges, ports, firewalls, kernel features."""

from __future__ import annotations

import ipaddress
from typing import Optional

from .model import Finding, HostState, check

DEFAULT_WIREGUARD_PORT = 51871
# Bridges and tunnels of Kubernetes' own network plugins: their routes lie in the pod network by design.
POD_INTERFACES = ("cni0", "flannel.1", "flannel-wg", "kube-ipvs0", "cilium_host", "nodelocaldns")
# Marks the routes of roles pod_network and k3s (protocol in their templates).
OUR_ROUTES = "71"
RANGES = {
    "wireguard_network": "the tunnel network",
    "cluster_pod_cidr": "the pod network",
    "cluster_service_cidr": "the service network",
}


def tunnel(host: HostState) -> str:
    return str(host.option("wireguard_interface", "wg0"))


def uses_wireguard(host: HostState) -> bool:
    return host.switch("cluster_wireguard", True)


def foreign_ranges(host: HostState) -> list[tuple[str, ipaddress.IPv4Network]]:
    """Ranges that the host uses itself, with where they were seen; without our own interfaces and the default route."""
    ours = (tunnel(host), *POD_INTERFACES)
    seen = []
    for interface in host.network.interfaces or []:
        if interface.name not in ours:
            seen += [(f"{a} on {interface.name}", a) for a in interface.addresses or []]
    for route in host.network.routes or []:
        if route.dev not in ours and route.dst != "default" and route.protocol != OUR_ROUTES:
            seen.append((f"route {route.dst} dev {route.dev}", route.dst))
    ranges = []
    for where, text in seen:
        try:
            network = ipaddress.ip_network(text, strict=False)
        except (TypeError, ValueError):  # `unreachable 10.0.0.0/8` and the like
            continue
        if network.version == 4 and network.prefixlen > 0 and not network.is_loopback:
            ranges.append((where, network))
    return ranges


@check(layer="network", id="N-CIDR-OVERLAP")
def ranges_are_free(host: HostState) -> list[Finding]:
    """A pod that may not reach the LAN's 10.96.0.0/16 is a riddle; say so before it exists."""
    found = []
    for option, name in RANGES.items():
        text = host.option(option)
        if not text or (option == "wireguard_network" and not uses_wireguard(host)):
            continue
        wanted = ipaddress.ip_network(text, strict=False)
        clash = next((where for where, network in foreign_ranges(host) if network.overlaps(wanted)), None)
        if clash:
            found.append(
                Finding(
                    what=f"{name} {text} overlaps with a network of this host",
                    evidence=clash,
                    fix=f"set {option} to a range that no host uses, for example {suggestion(host, option)}",
                )
            )
    return found


def suggestion(host: HostState, option: str) -> str:
    """The first private range of the usual size that neither this host nor another option uses."""
    length = 24 if option == "wireguard_network" else 16
    used = [network for other in [host, *host.others] for _, network in foreign_ranges(other)]
    used += [ipaddress.ip_network(host.option(o), strict=False) for o in RANGES if o != option and host.option(o)]
    candidates = (ipaddress.ip_network(f"10.{second}.0.0/{length}") for second in range(200, 255))
    return str(next((c for c in candidates if not any(c.overlaps(u) for u in used)), "10.200.0.0/16"))


@check(layer="network", id="N-NO-ADDRESS")
def has_address(host: HostState) -> Optional[Finding]:
    if not host.network or host.lan_address:
        return None
    return Finding(
        what="the host has no default route and no address to give to others",
        evidence="ip -4 route show: no default",
        fix=f"set cluster_lan_address for {host.name}",
    )


@check(layer="network", id="N-WIREGUARD-IMPOSSIBLE")
def tunnel_is_possible(host: HostState) -> Optional[Finding]:
    """Without the kernel's module wireguard-go does it, which needs /dev/net/tun; stock Jetsons have that."""
    if not uses_wireguard(host) or host.kernel.module_available is None:
        return None
    if host.kernel.module_available.wireguard is not False or host.kernel.tun is not False:
        return None
    return Finding(
        what="this kernel can carry no WireGuard tunnel",
        evidence=f"kernel {host.kernel.release}: no module wireguard, and no /dev/net/tun for wireguard-go",
        fix="sudo modprobe tun   (or use a kernel with CONFIG_WIREGUARD or CONFIG_TUN)",
    )


@check(layer="network", id="N-WIREGUARD-PORT-TAKEN")
def tunnel_port_is_free(host: HostState) -> Optional[Finding]:
    if not uses_wireguard(host):
        return None
    port = int(host.option("wireguard_port", DEFAULT_WIREGUARD_PORT))
    interfaces = dict((host.wireguard.interfaces or {}).items())
    ours = interfaces.get(tunnel(host))
    if ours and ours.listen_port == port:
        return None
    others = [name for name, interface in interfaces.items() if interface.listen_port == port]
    bound = [s for s in host.network.listening or [] if s.protocol == "udp" and s.port == port]
    if not others and not bound:
        return None
    holder = f"WireGuard interface {others[0]}" if others else bound[0].process or "a process that cannot be seen"
    return Finding(
        what=f"UDP port {port}, which the tunnel needs, is taken",
        evidence=f"held by {holder}",
        fix="set wireguard_port to a free port, the same on all hosts",
    )


@check(layer="network", id="N-WIREGUARD-INTERFACE-TAKEN")
def tunnel_name_is_free(host: HostState) -> Optional[Finding]:
    """A tunnel of the user's own must not be replaced; ours is known by the key in the state file."""
    interface = (host.wireguard.interfaces or {}) and host.wireguard.interfaces[tunnel(host)]
    if not uses_wireguard(host) or not interface:
        return None
    remembered = host.known_tunnel_key
    if interface.public_key == remembered:
        return None
    original = next((o.name for o in host.others if o.known_tunnel_key == interface.public_key), "")
    if original:
        return Finding(
            what=f"{host.name} has the WireGuard key of {original}, as after copying a disk",
            evidence=f"the public key of {tunnel(host)} is {interface.public_key}",
            fix=f"on {host.name}: sudo systemctl disable --now wg-quick@{tunnel(host)} && "
            f"sudo rm -r /etc/wireguard/{tunnel(host)}.*",
        )
    return Finding(
        what=f"the host has a WireGuard interface {tunnel(host)} that is not this cluster's",
        evidence=f"its public key is {interface.public_key}, the state file has {remembered or 'none'}",
        fix=f"keep it and set wireguard_interface to another name, or remove it: "
        f"sudo systemctl disable --now wg-quick@{tunnel(host)}",
    )


@check(layer="network", id="N-TOPOLOGY-CHANGES")
def topology_changes_for_all(host: HostState) -> Optional[Finding]:
    """A spoke gives up its direct tunnels; a host that is not told goes on sending into the one it had."""
    if not uses_wireguard(host) or host.option("wireguard_topology") != "hub" or host.is_hub:
        return None
    ours = (host.wireguard.interfaces or {}) and host.wireguard.interfaces[tunnel(host)]
    if not ours or ours.public_key != host.known_tunnel_key:
        return None
    direct = {peer.public_key for peer in ours.peers or []}
    left_out = [o.name for o in host.others if not o.in_play and not o.is_hub and o.known_tunnel_key in direct]
    if not left_out:
        return None
    lost = not any(other.is_hub and other.in_play for other in host.others)
    return Finding(
        what="wireguard_topology is hub now, and this run would take the tunnels between some hosts only",
        evidence=f"{host.name} still has a direct tunnel to {', '.join(left_out)}, which this run leaves out"
        + (", and so is the hub" if lost else "; they do not reach each other until a run includes both"),
        fix="run it for all hosts at once, without --limit",
        severity="error" if lost else "warning",
    )


@check(layer="network", id="N-BRIDGE-NETFILTER-MISSING", nodes_only=True)
def bridge_traffic_is_filtered(host: HostState) -> Optional[Finding]:
    """Without br_netfilter a pod can't reach a service whose endpoint runs on the same node."""
    available = host.kernel.module_available
    if not available or available.br_netfilter is not False:
        return None
    return Finding(
        what="this kernel lacks br_netfilter, so services would not work",
        evidence=f"kernel {host.kernel.release}: neither built in (CONFIG_BRIDGE_NETFILTER) nor among its modules",
        fix="use a kernel with CONFIG_BRIDGE_NETFILTER; after a kernel update: sudo reboot",
    )


def ufw_rules_needed(host: HostState) -> dict[str, str]:
    """Command -> the tuple by which ufw remembers it in user.rules."""
    anywhere = "0.0.0.0/0 any 0.0.0.0/0"
    link = tunnel(host)
    rules = {}
    if uses_wireguard(host):
        port = host.option("wireguard_port", DEFAULT_WIREGUARD_PORT)
        rules[f"ufw allow {port}/udp"] = f"allow udp {port} {anywhere} in"
        rules[f"ufw allow in on {link}"] = f"allow any any {anywhere} in_{link}"
    if not host.is_node:
        return rules
    rules["ufw allow in on cni0"] = f"allow any any {anywhere} in_cni0"
    rules["ufw route allow in on cni0"] = f"route:allow any any {anywhere} in_cni0"
    if uses_wireguard(host):
        rules[f"ufw route allow in on {link} out on cni0"] = f"route:allow any any {anywhere} in_{link}!out_cni0"
    else:
        nodes = [other.lan_address for other in host.others if other.is_node and other.lan_address]
        for source in (*nodes, host.option("cluster_pod_cidr")):
            rules[f"ufw allow from {source}"] = f"allow any any 0.0.0.0/0 any {source} in"
    return rules


@check(layer="network", id="N-UFW-BLOCKS")
def ufw_lets_the_cluster_through(host: HostState) -> Optional[Finding]:
    """Only a warning: the rules may stand there in another form, such as by address instead of by interface."""
    if not host.firewall.ufw_active or host.option("machine_ufw", "allow") == "allow":
        return None
    missing = [
        command for command, rule in ufw_rules_needed(host).items() if rule not in (host.firewall.ufw_rules or ())
    ]
    if not missing:
        return None
    return Finding(
        what="ufw is active and lacks rules for the cluster, which edgectl may not add (machine_ufw: report)",
        evidence="/etc/ufw/user.rules has no rule for: " + ", ".join(c.partition(" ")[2] for c in missing),
        fix=" && ".join("sudo " + command for command in missing),
        severity="warning",
    )


@check(layer="network", id="N-FIREWALLD-ACTIVE")
def firewalld_is_off(host: HostState) -> Optional[Finding]:
    if host.units["firewalld.service"] is None or host.units["firewalld.service"].active != "active":
        return None
    return Finding(
        what="firewalld is active and may drop the cluster's traffic",
        evidence="firewalld.service is running",
        fix=f"sudo firewall-cmd --permanent --zone=trusted --add-interface={tunnel(host)} --add-interface=cni0 && "
        f"sudo firewall-cmd --permanent --add-port={host.option('wireguard_port', DEFAULT_WIREGUARD_PORT)}/udp && "
        "sudo firewall-cmd --reload",
        severity="warning",
    )


@check(layer="network", id="N-ENDPOINT-LOCAL")
def endpoint_is_not_mdns(host: HostState) -> Optional[Finding]:
    """Names below .local are asked for by multicast (RFC 6762), which a tunnel does not carry."""
    endpoint = str(host.option("cluster_endpoint", ""))
    if not endpoint.rstrip(".").endswith(".local"):
        return None
    return Finding(
        what="the API's name ends in .local, which belongs to multicast DNS",
        evidence=f"cluster_endpoint: {endpoint}",
        fix="set cluster_endpoint to a name below .internal or of your own domain",
    )


@check(layer="network", id="N-POLICIES-JETSON", nodes_only=True)
def policies_are_possible_on_a_jetson(host: HostState) -> Optional[Finding]:
    """NVIDIA's kernels have no ipset (edgectl/compat/data/kernel.yml), and k3s has one switch for all nodes."""
    if not _policies_enforced(host) or not host.jetson or host.option("k3s_network_policy", "auto") != "auto":
        return None
    return Finding(
        what="this is the first Jetson of a cluster in which k3s enforces NetworkPolicies, which its kernel can't",
        evidence="k3s_network_policy: auto was decided when the cluster was made; the switch is one for all nodes",
        fix=f"k3s_network_policy: disabled, and a run of all hosts. k3s then restarts on {_in_turn(_servers(host))}, "
        "and on the agents after that; pods go on meanwhile. From then on every pod may talk to every other one, on "
        "all nodes; "
        f"or k3s_network_policy: enabled, which keeps it for the other nodes: pods on {host.name} go unprotected",
    )


@check(layer="network", id="N-POLICIES-END", nodes_only=True)
def policies_end_for_all(host: HostState) -> Optional[Finding]:
    """What the switch costs is told before it is done, once, to the first server."""
    servers = _servers(host)
    if not _policies_enforced(host) or host.option("k3s_network_policy") != "disabled" or host.name not in servers[:1]:
        return None
    left_out = [one.name for one in host.others if one.is_node and not one.in_play]
    return Finding(
        what="k3s stops enforcing NetworkPolicies in this cluster: every pod may talk to every other one, on all nodes",
        evidence=f"k3s_network_policy: disabled; k3s restarts on {_in_turn(servers)}, then on the agents"
        + (f". Not part of this run, and as before until one has them: {', '.join(left_out)}" if left_out else ""),
        fix="nothing, where that is what you want; else k3s_network_policy: enabled",
        severity="warning",
    )


@check(layer="network", id="N-POLICIES-LEFT-OUT", nodes_only=True)
def policies_end_where_the_servers_are(host: HostState) -> Optional[Finding]:
    """An agent learns from its server whether to enforce; without the servers nothing would have changed."""
    left_out = [one.name for one in host.others if one.is_control_plane and not one.in_play]
    first = host.name == min(one.name for one in [host, *host.others] if one.in_play)
    if not _policies_enforced(host) or host.option("k3s_network_policy") != "disabled" or not left_out or not first:
        return None
    return Finding(
        what="k3s_network_policy is disabled now, and this run leaves out servers, which decide that",
        evidence=f"k3s enforces NetworkPolicies; not part of this run: {', '.join(left_out)}",
        fix="run it for all hosts at once, without --limit",
    )


def _policies_enforced(host: HostState) -> bool:
    """As the state file remembers; a cluster that is not made yet has nothing to lose."""
    of_cluster = host.option("edgectl_state_cluster") or {}
    return host.option("cluster_distribution") == "k3s" and of_cluster.get("network_policy") is True


def _servers(host: HostState) -> list[str]:
    return sorted(one.name for one in [host, *host.others] if one.is_control_plane)


def _in_turn(names: list[str]) -> str:
    return ", ".join(names) + (", one after the other" if len(names) > 1 else "")
