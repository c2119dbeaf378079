"""Reset takes one agent out, then all nodes back to what they were; no secret of the cluster has left its hosts."""

from __future__ import annotations

from tests.e2e import machine
from tests.e2e.cluster import Cluster, edgectl, wait_for
from tests.e2e.test_6_secrets import run_logs

NODES = ("nuc1", "nuc2", "orin1")


def test_no_token_is_in_the_log_of_a_run_or_in_the_state_file(cluster: Cluster) -> None:
    logs = "\n".join(path.read_text(errors="replace") for path in run_logs())
    state = (cluster.inventory / "edgectl.state.yml").read_text()
    tokens = cluster.ssh("nuc1", "cat /var/lib/rancher/k3s/server/token /etc/rancher/k3s/agent-token").split()
    assert len(tokens) == 2
    for token in tokens:
        assert token.rpartition(":")[2] not in logs + state


def test_reset_of_one_agent_takes_it_out_of_the_cluster_and_off_its_peers(
    cluster: Cluster, nodes_before: dict[str, machine.NodeState]
) -> None:
    gone = cluster.outside
    address = cluster.ready()[gone]
    edgectl("reset", str(cluster.inventory), "--limit", gone, "--yes")
    wait_for(f"{gone} to be gone", lambda: sorted(cluster.ready()) == sorted(NODES), 60)
    for node in NODES:
        assert f"{address}/32" not in cluster.ssh(
            node, "wg show wg0 allowed-ips; ip route; cat /etc/wireguard/wg0.conf"
        )
    problems = machine.differences(cluster, gone, nodes_before[gone])
    assert not problems, "\n".join(problems)


def test_reset_of_all_leaves_every_node_as_it_was_before_bootstrap(
    cluster: Cluster, nodes_before: dict[str, machine.NodeState]
) -> None:
    edgectl("reset", str(cluster.inventory), "--yes")
    problems = [line for node in NODES for line in machine.differences(cluster, node, nodes_before[node])]
    assert not problems, "\n".join(problems)
