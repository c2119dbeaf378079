"""The walking skeleton: three machines become one cluster whose nodes talk through WireGuard."""

from __future__ import annotations

import json

from tests.e2e.cluster import Cluster, edgectl, hosts_in_recap

NODES = ["nuc1", "nuc2", "orin1"]


def test_three_nodes_are_ready_and_their_internal_ip_is_the_tunnel_address(cluster: Cluster) -> None:
    ready = cluster.ready()
    assert sorted(ready) == NODES
    for node, address in ready.items():
        assert address.startswith("10.200.0.")
        assert f"inet {address}/32" in cluster.ssh(node, "ip -4 address show dev wg0")


def test_each_node_has_the_pod_cidr_that_enrol_gave_it(cluster: Cluster) -> None:
    pod_cidrs = {n["metadata"]["name"]: n["spec"]["podCIDR"] for n in cluster.get("nodes")["items"]}
    assert len(set(pod_cidrs.values())) == 3
    for node, pod_cidr in pod_cidrs.items():
        assert pod_cidr in cluster.ssh(node, "cat /etc/cni/net.d/10-edgectl.conflist")


def test_every_system_pod_runs(cluster: Cluster) -> None:
    pods = cluster.get("pods", "-n", "kube-system")["items"]
    assert len(pods) >= 9
    assert {pod["status"]["phase"] for pod in pods} == {"Running"}


def test_the_api_is_reached_by_its_stable_name_on_every_node(cluster: Cluster) -> None:
    for node in NODES:
        server = cluster.ssh(node, "grep server: /etc/kubernetes/kubelet.conf")
        answer = cluster.ssh(
            node,
            "openssl s_client -connect api.e2e.internal:6444 -servername api.e2e.internal "
            "-verify_hostname api.e2e.internal -verify_return_error -CAfile /etc/kubernetes/pki/ca.crt </dev/null 2>&1",
        )
        assert "Verification: OK" in answer
        if node != "nuc1":
            assert "api.e2e.internal:6444" in server


def test_key_files_belong_to_root_alone(cluster: Cluster) -> None:
    for node in NODES:
        modes = cluster.ssh(node, "stat -c '%a %U %n' /etc/wireguard/* /etc/kubernetes/*.conf; ls /etc/wireguard/*.key")
        files = [line.split() for line in modes.splitlines() if line.count(" ") == 2]
        assert any(name.endswith(".key") for *_, name in files)
        for mode, owner, name in files:
            assert owner == "root", name
            assert mode in {"600", "700"}, name


def test_probe_tells_the_platforms_apart(cluster: Cluster) -> None:
    documents = json.loads(edgectl("probe", "-i", str(cluster.inventory), "--json").stdout)
    jetsons = {name: bool(host["jetson"]) for name, host in documents["hosts"].items()}
    assert jetsons == {"nuc1": False, "nuc2": False, "orin1": True}


def test_a_second_run_by_plain_ansible_changes_and_restarts_nothing(cluster: Cluster) -> None:
    units = ("kubelet", "containerd", "wg-quick@wg0", "edgectl-api-proxy")
    before = {node: cluster.unit_starts(node, *units) for node in NODES}
    output = cluster.playbook("bootstrap").stdout
    recap = output[output.index("PLAY RECAP") :].splitlines()[1:]
    changed = {line.split()[0]: line for line in recap if line.strip()}
    assert all(" changed=0 " in line and " failed=0 " in line for line in changed.values()), "\n".join(recap)
    assert {node: cluster.unit_starts(node, *units) for node in NODES} == before


def test_check_mode_on_a_converged_cluster_finds_nothing_to_change(cluster: Cluster) -> None:
    output = cluster.playbook("bootstrap", "--check", "--diff").stdout
    recap = hosts_in_recap(output)
    assert all(" changed=0 " in line and " failed=0 " in line for line in recap), "\n".join(recap)
