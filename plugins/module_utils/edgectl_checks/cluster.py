"""Is the place free for our cluster: no other Kubernetes, no leftovers, no taken ports."""

from __future__ import annotations

from typing import Optional

from .model import Finding, HostState, check

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


@check(layer="cluster", id="C-K3S-PRESENT", nodes_only=True)
def no_k3s_beside_us(host: HostState) -> Optional[Finding]:
    if not host.kubernetes.k3s_present or host.kubernetes.distribution == "k3s":
        return None
    return Finding(
        what="k3s is installed on this host, and not by edgectl",
        evidence="found one of /usr/local/bin/k3s, /etc/rancher/k3s, /var/lib/rancher/k3s",
        fix="sudo k3s-uninstall.sh   (on an agent: sudo k3s-agent-uninstall.sh)",
    )


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
