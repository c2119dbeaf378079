"""Is the place free for our cluster: no other Kubernetes, no leftovers, no taken ports."""

from __future__ import annotations

from typing import Optional

from .model import Facts, Finding, HostState, check

NODE_PORTS = {10250: "kubelet", 10256: "kube-proxy"}
CONTROL_PLANE_PORTS = {
    6443: "kube-apiserver",
    2379: "etcd",
    2380: "etcd",
    10257: "kube-controller-manager",
    10259: "kube-scheduler",
}
COMM_LENGTH = 15  # the kernel cuts the name of a process


@check(layer="cluster", id="C-OTHER-CLUSTER", nodes_only=True)
def belongs_to_no_other_cluster(host: HostState) -> Optional[Finding]:
    found, distribution = host.kubernetes.cluster_ca_hash, host.kubernetes.distribution
    wanted = host.option("cluster_distribution", "kubeadm")
    if host.kubernetes.role is None:
        return None
    if host.kubernetes.made_by_edgectl and distribution and distribution != wanted:
        return Finding(
            what=f"the host is a node that {distribution} made, and cluster_distribution asks for {wanted}",
            evidence=f"edgectl made it a {host.kubernetes.role.replace('_', ' ')}",
            fix=f"to give it up, all its pods included: edgectl reset inventory --limit {host.name}",
        )
    if host.kubernetes.phase == "joining":
        return None  # our own join, interrupted: role kubeadm undoes and repeats it
    remembered = (host.option("edgectl_state_cluster") or {}).get("ca_hash")
    if host.kubernetes.made_by_edgectl and None in (found, remembered):
        return None  # our own first init, interrupted before the state file learnt of it
    if found is not None and found == remembered:
        return None
    give_up = "sudo kubeadm reset --force   (on that host, then the same command again)"
    if host.kubernetes.made_by_edgectl:
        give_up = f"edgectl reset inventory --limit {host.name}"
    seen = f"CA {found[:23]}…" if found else "no /etc/kubernetes/pki/ca.crt"
    return Finding(
        what=f"the host is already a {host.kubernetes.role.replace('_', ' ')} of another cluster",
        evidence=f"{seen}, the state file has {remembered[:23] + '…' if remembered else 'none'}",
        fix=f"to give it up, all its pods included: {give_up}",
    )


@check(layer="cluster", id="C-LEFTOVERS", nodes_only=True)
def nothing_is_left_over(host: HostState) -> Optional[Finding]:
    """With an earlier cluster's /var/lib/kubelet a kubelet repeats "Unauthorized" for ever."""
    leftovers = host.kubernetes.leftovers
    if not leftovers or host.kubernetes.made_by_edgectl:
        return None
    return Finding(
        what="an earlier Kubernetes left its files behind",
        evidence=", ".join(leftovers),
        fix=f"sudo kubeadm reset --force   (or, if they hold nothing of yours: sudo rm -rf {' '.join(leftovers)})",
    )


def k3s_of_others(host: HostState) -> Facts:
    """A node of k3s' that edgectl has not made and not taken over yet; empty where there is none."""
    found: Facts = host.kubernetes.k3s or Facts(None)
    return found if found and not found.adopted else Facts(None)


def wants_k3s(host: HostState) -> bool:
    return bool(host.option("cluster_distribution") == "k3s")


def cluster_of_k3s(host: HostState) -> tuple[str | None, str]:
    """Hash of the CA of the cluster that the inventory means, and who says so."""
    remembered = (host.option("edgectl_state_cluster") or {}).get("ca_hash")
    if remembered:
        return str(remembered), "the state file"
    for server in (one for one in [host, *host.others] if one.is_control_plane):
        known = server.kubernetes.cluster_ca_hash or (server.kubernetes.k3s or Facts(None)).cluster_ca_hash
        if known:
            return str(known), server.name
    return None, ""


@check(layer="cluster", id="C-K3S-OTHER-CLUSTER", nodes_only=True)
def is_no_node_of_another_k3s_cluster(host: HostState) -> Optional[Finding]:
    found = k3s_of_others(host)
    if not found or not wants_k3s(host):
        return None
    role, script = (
        ("server", "k3s-uninstall.sh") if found.role == "control_plane" else ("agent", "k3s-agent-uninstall.sh")
    )
    wanted, says = cluster_of_k3s(host)
    if found.cluster_ca_hash != wanted:
        of_ours = f"{says} has {wanted[:23]}…" if wanted else "the control plane has none yet"
        return Finding(
            what=f"the host is {'a server' if role == 'server' else 'an agent'} of another k3s cluster",
            evidence=f"its CA is {found.cluster_ca_hash[:23]}…, {of_ours}",
            fix=f"take {host.name} out of the inventory, or give up what runs there, all pods included: sudo {script}",
        )
    if (role == "server") != host.is_control_plane:
        return Finding(
            what=f"the host is this cluster's {role}, and the inventory wants it the other way round",
            evidence=f"group control_plane {'names' if host.is_control_plane else 'does not name'} {host.name}",
            fix=f"move {host.name} to group {'control_plane' if role == 'server' else 'workers'}",
        )
    return None


@check(layer="cluster", id="C-K3S-PRESENT", nodes_only=True)
def no_k3s_beside_us(host: HostState) -> Optional[Finding]:
    if not host.kubernetes.k3s_present or host.kubernetes.distribution == "k3s":
        return None
    found = k3s_of_others(host)
    if not found or not wants_k3s(host):
        return Finding(
            what="k3s is installed on this host, and not by edgectl",
            evidence="found one of /usr/local/bin/k3s, /etc/rancher/k3s, /var/lib/rancher/k3s",
            fix="sudo k3s-uninstall.sh   (on an agent: sudo k3s-agent-uninstall.sh)",
        )
    if host.switch("k3s_adopt", False) or is_no_node_of_another_k3s_cluster(host):
        return None
    return Finding(
        what="k3s runs on this host, and edgectl did not install it",
        evidence=f"{as_found(found)}. Taken over, {what_changes(host, found)}",
        fix="k3s_adopt: true   (takes it over; its data, token and pods stay)",
    )


@check(layer="cluster", id="C-K3S-ADOPTED", nodes_only=True)
def k3s_is_taken_over(host: HostState) -> Optional[Finding]:
    """Not a mistake: who reads the plan sees what happens to a cluster that was there before."""
    found = k3s_of_others(host)
    if (
        not found
        or not wants_k3s(host)
        or not host.switch("k3s_adopt", False)
        or is_no_node_of_another_k3s_cluster(host)
    ):
        return None
    return Finding(
        what="the k3s of this host is taken over; its data, token and pods stay",
        evidence=f"{as_found(found)}. {what_changes(host, found)}",
        fix="edgectl reset gives it back; k3s_adopt: false leaves it alone",
        severity="warning",
    )


@check(layer="cluster", id="C-K3S-DIFFERS", nodes_only=True)
def k3s_is_as_the_inventory_says(host: HostState) -> list[Finding]:
    """What of a k3s that is there can't be changed, or edgectl can't handle, has to be so in the inventory."""
    found = k3s_of_others(host)
    if not found or not wants_k3s(host) or is_no_node_of_another_k3s_cluster(host):
        return []
    findings = [
        Finding(f"the options of this k3s are not understood: {text}", "read before it is taken over", fix)
        for text in found.problems or []
        for fix in ["put them into /etc/rancher/k3s/config.yaml as `name: value`, restart k3s, then run this again"]
    ]
    if found.node_name != host.name:
        findings.append(
            Finding(
                what=f"its node is called {found.node_name}, and the inventory calls the host {host.name}",
                evidence="a node can't be renamed",
                fix=f"name the host {found.node_name} in the inventory",
            )
        )
    findings += [
        Finding(
            what=f"this k3s has {name} {theirs}, and {option} is {ours}",
            evidence="it can't be changed in a cluster that runs",
            fix=f'{option}: "{theirs}"',
        )
        for name, theirs, option, ours in fixed_settings(host, found)
        if theirs != ours
    ]
    findings += [
        Finding(
            what=f"this k3s runs with {name}, which edgectl can't take over",
            evidence=", ".join(found.options[name]["from"]),
            fix=f"do without {name}, or leave {host.name} out of the inventory",
        )
        for name in UNABLE
        if value_of(found, name) not in (None, "false", UNABLE[name])
    ]
    known = {host.name, *(other.name for other in host.others)}
    strangers = [name for name in found.nodes or [] if name not in known]
    if strangers:
        findings.append(
            Finding(
                what=f"the cluster has nodes that the inventory does not name: {', '.join(strangers)}",
                evidence="pods there would lose those of the other nodes, which move to the tunnel",
                fix=f"add them to group workers, or: kubectl delete node {' '.join(strangers)}",
            )
        )
    return findings


@check(layer="cluster", id="C-K3S-NEW-SERVER", nodes_only=True)
def no_new_server_beside_one_that_was_found(host: HostState) -> Optional[Finding]:
    """Its datastore may be SQLite, and its agents may join with the server's own token: role k3s changes neither."""
    if not wants_k3s(host) or not host.is_control_plane or host.kubernetes.role or host.kubernetes.k3s:
        return None
    for server in host.others:
        found: Facts = server.kubernetes.k3s or Facts(None)
        if server.is_control_plane and found and found.role == "control_plane":
            return Finding(
                what=f"{host.name} would be a new server beside {server.name}, whose k3s edgectl did not install",
                evidence=f"{server.name}: {as_found(found)}",
                fix=f"move {host.name} to group workers",
            )
    return None


# Options that role k3s does not provide for, each with the value that is the same as none.
UNABLE = {
    "container-runtime-endpoint": "",
    "data-dir": "/var/lib/rancher/k3s",
    "disable-agent": "",
    "docker": "",
    "rootless": "",
    "with-node-id": "",
}


def value_of(found: Facts, name: str) -> str | None:
    """The value of an option that has one; a secret's is not known, and stands for something."""
    option = found.options[name]
    return None if not option else str(option["values"][-1]) if option["values"] else "…"


def fixed_settings(host: HostState, found: Facts) -> list[tuple[str, str, str, str]]:
    """Name, value there, option of ours, value of ours. Defaults: docs.k3s.io, "k3s server"."""
    settings = [("version", found.version or "", "cluster_version", str(host.option("cluster_version")))]
    if found.role == "control_plane":
        mask = [
            value
            for value in (found.options["kube-controller-manager-arg"] or {"values": []})["values"] or []
            if value.startswith("node-cidr-mask-size=")
        ]
        settings += [
            (name, value_of(found, name) or default, option, str(host.option(option)))
            for name, default, option in (
                ("cluster-cidr", "10.42.0.0/16", "cluster_pod_cidr"),
                ("service-cidr", "10.43.0.0/16", "cluster_service_cidr"),
                ("cluster-domain", "cluster.local", "cluster_domain"),
            )
        ]
        settings.append(
            (
                "node-cidr-mask-size",
                mask[-1].partition("=")[2] if mask else "24",
                "cluster_pod_prefix",
                str(host.option("cluster_pod_prefix", 24)),
            )
        )
    return settings


def as_found(found: Facts) -> str:
    """A k3s in a sentence."""
    role = "server" if found.role == "control_plane" else "agent"
    store = f", data in {found.datastore}" if found.datastore else ""
    places = sorted({place for _, option in found.options.items() for place in option["from"]})
    return f"{role} {found.release or 'of unknown version'}{store}; options from {', '.join(places) or 'nowhere'}"


def what_changes(host: HostState, found: Facts) -> str:
    address = value_of(found, "node-ip") or host.network.default_address
    moves = f"its address moves from {address} into the tunnel; " if host.switch("cluster_wireguard", True) else ""
    shown = [
        name + (f" {','.join(option['values'])}" if option["values"] else "") for name, option in found.options.items()
    ]
    return f"{moves}edgectl's unit and config.yaml come in place of its own, which are kept; options it has now: " + (
        ", ".join(shown) or "none"
    )


@check(layer="cluster", id="C-K3S-TEMPLATE", nodes_only=True)
def k3s_makes_containerds_configuration_itself(host: HostState) -> list[Finding]:
    """k3s enters NVIDIA's runtimes into the configuration that it makes; a template of one's own is used instead."""
    if not wants_k3s(host):
        return []
    return [
        Finding(
            what="k3s makes containerd's configuration from a template on this host, which may lack NVIDIA's runtimes",
            evidence=f'{template.path} does not contain {{{{ template "base" . }}}}',
            fix=f"sudo mv {template.path} /root/   (what you need of it goes to config-v3.toml.d/*.toml beside it)",
            severity="warning",
        )
        for template in host.kubernetes.k3s_templates or []
        if not template.base
    ]


@check(layer="cluster", id="C-PORT-TAKEN", nodes_only=True)
def ports_are_free(host: HostState) -> list[Finding]:
    wanted = {**NODE_PORTS, int(host.option("cluster_endpoint_port", 6444)): "haproxy"}
    if host.is_control_plane:
        wanted.update(CONTROL_PLANE_PORTS)
    if host.option("cluster_distribution") == "k3s":
        wanted = dict.fromkeys(wanted, "k3s")  # all of it in one program, on agents 6444 too
    found = []
    for socket in host.network.listening or []:
        owner = wanted.get(socket.port)
        if socket.protocol != "tcp" or owner is None or socket.process in (None, owner[:COMM_LENGTH]):
            continue
        if owner == "k3s" and socket.process in ("k3s-server", "k3s-agent"):
            continue
        del wanted[socket.port]  # one finding a port, though it may be bound on several addresses
        found.append(
            Finding(
                what=f"TCP port {socket.port}, which {owner} needs, is taken",
                evidence=f"held by {socket.process}",
                fix=f"sudo ss -ltnp 'sport = :{socket.port}', then stop that program or move it to another port",
            )
        )
    return found
