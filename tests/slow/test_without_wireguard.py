"""`cluster_wireguard: false`: the nodes of a LAN that is trusted join by their LAN addresses. A lab of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.e2e import machine, pods
from tests.e2e.cluster import Cluster, edgectl, hosts_in_recap, own_lab

LAB = "lan"
NODES = ("nuc1", "nuc2")


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two machines whose firewall lets SSH in and nothing else."""
    with own_lab(LAB, "nuc1:control_plane,nuc2", tmp_path_factory.mktemp("lan")) as lab:
        (lab.inventory / "group_vars" / "cluster.yml").write_text("cluster_wireguard: false\n")
        for node in NODES:
            lab.ssh(
                node, "apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq -y install ufw", timeout=300
            )
            lab.ssh(node, "ufw allow 22/tcp && ufw --force enable")
        yield lab


@pytest.fixture(scope="module")
def before(lab: Cluster) -> dict[str, machine.NodeState]:
    """What the machines were like before anything."""
    return {node: machine.node_state(lab, node) for node in NODES}


@pytest.fixture(scope="module")
def cluster(lab: Cluster, before: dict[str, machine.NodeState]) -> Cluster:
    """The two as one cluster."""
    assert set(before) == set(NODES)
    lab.bootstrap()
    return lab


def test_the_nodes_are_ready_on_their_lan_addresses(cluster: Cluster) -> None:
    assert cluster.ready() == {node: cluster.lan_address(node) for node in NODES}


def test_there_is_no_tunnel_and_nothing_that_makes_one(cluster: Cluster) -> None:
    for node in NODES:
        state = machine.node_state(cluster, node)
        assert "wg0" not in state.links
        assert not [name for name in state.packages if "wireguard" in name]
        assert not [path for path in state.files if "wireguard" in path]
    assert "wireguard" not in (cluster.inventory / "edgectl.state.yml").read_text()


def test_pods_of_the_nodes_reach_each_other_and_nobody_translates_them(
    cluster: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> None:
    addresses = pods.start(cluster, list(NODES), tmp_path_factory.mktemp("netcheck"))
    assert pods.reach_each_other(cluster, addresses)


def test_a_worker_that_restarts_is_reached_again(cluster: Cluster) -> None:
    edgectl("lab", "stop", "nuc2", "--name", LAB)
    edgectl("lab", "start", "nuc2", "--name", LAB)
    own = {n["metadata"]["name"]: n["spec"]["podCIDR"] for n in cluster.get("nodes")["items"]}
    assert f"{own['nuc1']} via {cluster.lan_address('nuc1')}" in cluster.ssh("nuc2", "ip route")


def test_a_second_run_changes_nothing(cluster: Cluster) -> None:
    output = cluster.playbook("bootstrap", "-e", "edgectl_full=true").stdout
    recap = hosts_in_recap(output)
    assert len(recap) >= len(NODES)
    assert all(" changed=0 " in line and " failed=0 " in line for line in recap), "\n".join(recap)


def test_reset_leaves_nothing_of_it(cluster: Cluster, before: dict[str, machine.NodeState]) -> None:
    edgectl("reset", str(cluster.inventory), "--yes")
    problems = [line for node in NODES for line in machine.differences(cluster, node, before[node])]
    assert not problems, "\n".join(problems)
