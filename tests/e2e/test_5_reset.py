"""Reset takes one host out, then all of them back to what they were; a bootstrap afterwards works."""

from __future__ import annotations

from tests.e2e import machine
from tests.e2e.cluster import Cluster, edgectl, wait_for

NODES = ("nuc1", "nuc2", "orin1")


def differences(before: machine.NodeState, after: machine.NodeState) -> list[str]:
    lines = [f"link left: {x}" for x in sorted(after.links - before.links)]
    lines += [f"link gone: {x}" for x in sorted(before.links - after.links)]
    lines += [f"unit left enabled: {x}" for x in sorted(after.units - before.units)]
    lines += [f"unit no longer enabled: {x}" for x in sorted(before.units - after.units)]
    lines += [f"package left: {x}" for x in sorted(after.packages - before.packages)]
    lines += [f"package gone: {x}" for x in sorted(before.packages - after.packages)]
    lines += [f"file left: {x}" for x in sorted(after.files.keys() - before.files.keys())]
    lines += [f"file gone: {x}" for x in sorted(before.files.keys() - after.files.keys())]
    kept = sorted(before.files.keys() & after.files.keys())
    lines += [f"file changed: {x}" for x in kept if after.files[x] != before.files[x]]
    if before.firewall != after.firewall:
        lines.append(f"firewall:\n{before.firewall}\n--- after\n{after.firewall}")
    return lines


def test_reset_of_one_worker_takes_it_out_of_the_cluster_and_off_its_peers(cluster: Cluster) -> None:
    address = cluster.ready()["nuc3"]
    edgectl("reset", str(cluster.inventory), "--limit", "nuc3", "--yes")
    wait_for("nuc3 to be gone", lambda: sorted(cluster.ready()) == sorted(NODES), 60)
    assert "nuc3" not in cluster.kubectl("get", "nodes")
    for node in NODES:
        seen = cluster.ssh(node, "wg show wg0 allowed-ips; ip route; cat /etc/wireguard/wg0.conf")
        assert f"{address}/32" not in seen
    assert "wg0" not in cluster.ssh("nuc3", "ip -o link")


def test_reset_of_all_leaves_every_node_as_it_was_before_bootstrap(
    cluster: Cluster, nodes_before: dict[str, machine.NodeState]
) -> None:
    edgectl("reset", str(cluster.inventory), "--yes")
    problems = [
        f"{node}: {line}"
        for node in NODES
        for line in differences(nodes_before[node], machine.node_state(cluster, node))
    ]
    assert not problems, "\n".join(problems)


def test_kubernetes_that_edgectl_did_not_put_there_stops_bootstrap_and_survives_reset(cluster: Cluster) -> None:
    cluster.ssh("nuc2", "mkdir -p /etc/kubernetes && echo 'kind: Config' > /etc/kubernetes/kubelet.conf")
    try:
        refused = cluster.bootstrap("--limit", "nuc1,nuc2", check=False)
        assert refused.returncode == 1
        assert "1 problem found before anything was changed" in refused.stdout
        assert "kubeadm reset" in refused.stdout
        reset = edgectl("reset", str(cluster.inventory), "--limit", "nuc2", "--yes")
        assert "note on nuc2: Kubernetes that edgectl did not put there" in reset.stdout
        assert cluster.ssh("nuc2", "cat /etc/kubernetes/kubelet.conf") == "kind: Config\n"
    finally:
        cluster.ssh("nuc2", "rm -r /etc/kubernetes")


def test_bootstrap_after_a_reset_works(cluster: Cluster) -> None:
    cluster.bootstrap("--limit", "nuc1,nuc2,orin1")
    assert sorted(cluster.ready()) == sorted(NODES)
