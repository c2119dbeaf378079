"""Reboots, hosts that are down during a run, runs that are killed: the k3s cluster goes on."""

import pytest

from tests.e2e.cluster import Cluster, edgectl, wait_for
from tests.e2e.test_3_recovery import reboot
from tests.e2e.test_4c_kills import test_runs_killed_at_random_moments_end_where_an_undisturbed_one_does

__all__ = ["test_runs_killed_at_random_moments_end_where_an_undisturbed_one_does"]

pytestmark = pytest.mark.long
NODES = ("nuc1", "nuc2", "nuc3", "orin1")


def test_all_nodes_rebooted_at_once_are_ready_again_by_themselves(cluster: Cluster) -> None:
    before = {node: cluster.unit_starts(node, *cluster.units(node)) for node in NODES}
    reboot(cluster, *NODES)
    wait_for("four Ready nodes", lambda: sorted(cluster.ready()) == sorted(NODES), 300)
    after = {node: cluster.unit_starts(node, *cluster.units(node)) for node in NODES}
    assert all(after[node] != before[node] for node in NODES)


def test_an_agent_that_is_down_does_not_stop_the_others(cluster: Cluster) -> None:
    edgectl("lab", "stop", "--name", cluster.lab, "nuc2")
    try:
        result = cluster.bootstrap(check=False)
        assert result.returncode == 4, result.stdout + result.stderr
        assert "nuc2" in result.stdout
    finally:
        edgectl("lab", "start", "--name", cluster.lab, "nuc2")
    wait_for("four Ready nodes", lambda: sorted(cluster.ready()) == sorted(NODES), 180)
