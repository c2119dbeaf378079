"""Three machines become one k3s cluster over the tunnel; a second run finds nothing to do."""

from __future__ import annotations

import re

from tests.e2e.cluster import Cluster
from tests.e2e.test_1_bootstrap import (
    test_three_nodes_are_ready_and_their_internal_ip_is_the_tunnel_address,
)
from tests.e2e.test_1b_receipts import test_nothing_to_do_is_proved_without_ansible

__all__ = [
    "test_nothing_to_do_is_proved_without_ansible",
    "test_three_nodes_are_ready_and_their_internal_ip_is_the_tunnel_address",
]

NODES = ("nuc1", "nuc2", "orin1")


def test_every_system_pod_runs(cluster: Cluster) -> None:
    pods = cluster.get("pods", "-n", "kube-system")["items"]
    assert pods
    assert {pod["status"]["phase"] for pod in pods} == {"Running"}


def test_all_options_are_in_files_that_root_alone_reads_and_no_token_is_in_a_unit(cluster: Cluster) -> None:
    for node in NODES:
        # What a user of the machine can read: k3s-ansible leaves the token there.
        readable = cluster.ssh(
            node, "find /etc/rancher /var/lib/rancher/k3s/server -type f ! -name '*.crt' -perm /077 2>/dev/null || true"
        )
        assert readable.strip() == ""
        unit = cluster.ssh(node, f"systemctl cat {cluster.units(node)[0]}")
        assert not re.search(r"token|--\w", unit)
        assert "wg-quick@wg0.service" in unit
    token = cluster.ssh("nuc2", "cat /etc/rancher/k3s/agent-token").strip()
    assert re.fullmatch(r"K10[0-9a-f]{64}::node:[0-9a-f]{64}", token)
    assert token not in cluster.ssh("nuc1", "cat /var/lib/rancher/k3s/server/token")


def test_flannel_lies_over_the_tunnel_and_its_port_is_closed_elsewhere(cluster: Cluster) -> None:
    for node in NODES:
        assert "dev wg0" in cluster.ssh(node, "ip -d link show flannel.1")
        rules = cluster.ssh(node, "iptables -S EDGECTL-VXLAN")
        assert "! -i wg0 -p udp" in rules
        assert "--dport 8472 -j DROP" in rules


def test_a_second_run_by_plain_ansible_changes_and_restarts_nothing(cluster: Cluster) -> None:
    before = {node: cluster.unit_starts(node, *cluster.units(node)) for node in NODES}
    output = cluster.playbook("bootstrap").stdout
    recap = [line for line in output[output.index("PLAY RECAP") :].splitlines()[1:] if line.strip()]
    assert recap
    assert all(" changed=0 " in line and " failed=0 " in line for line in recap), "\n".join(recap)
    assert {node: cluster.unit_starts(node, *cluster.units(node)) for node in NODES} == before


def test_a_changed_option_restarts_k3s_on_that_host_alone_and_its_pods_go_on(cluster: Cluster) -> None:
    def pods() -> dict[str, str]:
        items = cluster.get("pods", "-A")["items"]
        return {pod["metadata"]["name"]: pod["status"]["containerStatuses"][0]["containerID"] for pod in items}

    before, running = {node: cluster.unit_starts(node, *cluster.units(node)) for node in NODES}, pods()
    file = cluster.inventory / "host_vars" / "orin1.yml"
    file.parent.mkdir()
    # A host's own takes the place of all hosts' option: the lab's has to be said again.
    text = (cluster.inventory / "group_vars" / "all.yml").read_text()
    labels = "cluster_node_labels: {example.org/room: cellar}\n"
    file.write_text(labels + text[text.index("k3s_kubelet_config:") :] + "  maxPods: 77\n")
    done = cluster.bootstrap()
    file.unlink()
    file.parent.rmdir()
    assert "restarted k3s-agent on orin1" in done.stdout
    after = {node: cluster.unit_starts(node, *cluster.units(node)) for node in NODES}
    assert {node for node in NODES if after[node] != before[node]} == {"orin1"}
    assert cluster.get("node", "orin1")["status"]["capacity"]["pods"] == "77"
    assert cluster.get("node", "orin1")["metadata"]["labels"]["example.org/room"] == "cellar"
    assert pods() == running
    cluster.bootstrap()
    assert cluster.get("node", "orin1")["status"]["capacity"]["pods"] == "110"
    assert "example.org/room" not in cluster.get("node", "orin1")["metadata"]["labels"]
