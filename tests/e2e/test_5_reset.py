"""Reset takes one host out, then all of them back to what they were; a bootstrap afterwards works."""

from __future__ import annotations

from tests.e2e import machine
from tests.e2e.cluster import Cluster, edgectl, wait_for

NODES = ("nuc1", "nuc2", "orin1")


def test_reset_of_one_worker_takes_it_out_of_the_cluster_and_off_its_peers(
    cluster: Cluster, nodes_before: dict[str, machine.NodeState]
) -> None:
    address = cluster.ready()["gpu1"]
    edgectl("reset", str(cluster.inventory), "--limit", "gpu1", "--yes")
    wait_for("gpu1 to be gone", lambda: sorted(cluster.ready()) == sorted(NODES), 60)
    assert "gpu1" not in cluster.kubectl("get", "nodes")
    for node in NODES:
        seen = cluster.ssh(node, "wg show wg0 allowed-ips; ip route; cat /etc/wireguard/wg0.conf")
        assert f"{address}/32" not in seen
    assert "wg0" not in cluster.ssh("gpu1", "ip -o link")
    problems = machine.differences(cluster, "gpu1", nodes_before["gpu1"])
    assert not problems, "\n".join(problems)


def test_reset_of_all_leaves_every_node_as_it_was_before_bootstrap(
    cluster: Cluster, nodes_before: dict[str, machine.NodeState]
) -> None:
    edgectl("reset", str(cluster.inventory), "--yes")
    problems = [line for node in NODES for line in machine.differences(cluster, node, nodes_before[node])]
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


def test_reset_keeps_what_workloads_kept_and_tells_where_it_is(cluster: Cluster) -> None:
    data = "/var/lib/edgectl/workloads"
    cluster.ssh("nuc2", f"mkdir -p {data}/workloads/ollama && echo weights > {data}/workloads/ollama/model")
    reset = edgectl("reset", str(cluster.inventory), "--limit", "nuc2", "--yes")
    assert "note on nuc2: data of workloads stays" in reset.stdout
    assert f"sudo rm -r {data}" in " ".join(reset.stdout.split())
    assert cluster.ssh("nuc2", f"cat {data}/workloads/ollama/model") == "weights\n"
    cluster.ssh("nuc2", "rm -r /var/lib/edgectl")


def test_bootstrap_after_a_reset_works(cluster: Cluster) -> None:
    # The next file has orin1 join.
    cluster.bootstrap("--limit", "nuc1,nuc2")
    assert sorted(cluster.ready()) == ["nuc1", "nuc2"]
