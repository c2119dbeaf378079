"""Machines reboot, daemons die, hosts are down during a run: the cluster comes back by itself, nobody loses peers."""

from __future__ import annotations

import getpass
import json
import re
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.e2e.cluster import EDGECTL, Cluster, edgectl, kill_with_descendants, wait_for

NODES = ["nuc1", "nuc2", "orin1"]


def reboot(cluster: Cluster, *nodes: str) -> None:
    """A node stopped and started is a reboot."""
    for node in nodes:
        edgectl("lab", "stop", "--name", cluster.lab, node)
    for node in nodes:
        edgectl("lab", "start", "--name", cluster.lab, node)


def all_ready(cluster: Cluster) -> bool:
    return sorted(cluster.ready()) == NODES


def tunnels_work(cluster: Cluster) -> bool:
    addresses = cluster.ready()
    for node in NODES:
        for address in addresses.values():
            cluster.ssh(node, f"ping -c 1 -W 2 {address}")
    return True


def test_a_rebooted_worker_is_ready_again_by_itself(cluster: Cluster) -> None:
    for node in ("orin1", "nuc2"):
        unit = cluster.units(node)[0]
        before = cluster.unit_starts(node, unit)
        reboot(cluster, node)
        assert cluster.unit_starts(node, unit) != before
        wait_for(f"{node} to be Ready", lambda: all_ready(cluster) and tunnels_work(cluster), 180)


def test_a_rebooted_control_plane_is_ready_again_by_itself(cluster: Cluster) -> None:
    reboot(cluster, "nuc1")
    wait_for("nuc1 to be Ready", lambda: all_ready(cluster) and tunnels_work(cluster), 240)


def test_all_nodes_rebooted_at_once_are_ready_again_by_themselves(cluster: Cluster) -> None:
    reboot(cluster, *NODES)
    wait_for("three Ready nodes", lambda: all_ready(cluster) and tunnels_work(cluster), 240)
    wait_for(
        "CoreDNS",
        lambda: cluster.get("deployment", "-n", "kube-system", "coredns")["status"].get("readyReplicas", 0) >= 1,
        120,
    )


def test_a_killed_wireguard_daemon_comes_back(cluster: Cluster) -> None:
    pids = cluster.ssh("nuc2", "pgrep -x wireguard-go").split()
    assert len(pids) == 1
    cluster.ssh("nuc2", f"kill -9 {pids[0]}")
    wait_for("another wireguard-go", lambda: cluster.ssh("nuc2", "pgrep -x wireguard-go").split() != pids, 60)
    wait_for("the tunnels", lambda: tunnels_work(cluster), 60)


def test_a_limited_run_while_another_worker_is_down_changes_nobodys_peers(cluster: Cluster) -> None:
    def peers(node: str) -> str:
        return cluster.ssh(node, "cat /etc/wireguard/wg0.conf; wg show wg0 allowed-ips | sort")

    before = {node: peers(node) for node in NODES}
    state = (cluster.inventory / "edgectl.state.yml").read_text()
    edgectl("lab", "stop", "--name", cluster.lab, "nuc2")
    try:
        result = cluster.bootstrap("--limit", "orin1", check=False)
        assert result.returncode == 0, result.stdout + result.stderr
        assert {node: peers(node) for node in ("nuc1", "orin1")} == {n: before[n] for n in ("nuc1", "orin1")}
        assert (cluster.inventory / "edgectl.state.yml").read_text() == state
    finally:
        edgectl("lab", "start", "--name", cluster.lab, "nuc2")
    wait_for("three Ready nodes", lambda: all_ready(cluster), 180)
    assert peers("nuc2") == before["nuc2"]


def test_an_unreachable_worker_does_not_stop_the_others(cluster: Cluster) -> None:
    edgectl("lab", "stop", "--name", cluster.lab, "nuc2")
    try:
        result = cluster.bootstrap("--json", check=False)
        assert result.returncode == 4, result.stdout + result.stderr
        assert "nuc2" in result.stdout
        last = json.loads(result.stdout.strip().splitlines()[-1])
        assert last["schema_version"] == 1
    finally:
        edgectl("lab", "start", "--name", cluster.lab, "nuc2")
    wait_for("three Ready nodes", lambda: all_ready(cluster), 180)


# The nodes of a run that is at work; without a GPU it is at work long enough.
LOCKED = ["nuc1", "nuc2"]


def locks(cluster: Cluster) -> dict[str, dict[str, Any]]:
    """Who holds which node."""
    held = {node: cluster.ssh(node, "cat /run/edgectl.lock 2>/dev/null || true") for node in NODES}
    return {node: json.loads(text) for node, text in held.items() if text.strip()}


@contextmanager
def bootstrap_at_work(cluster: Cluster) -> Iterator[subprocess.Popen[str]]:
    """A bootstrap that holds the locks of its nodes by now; what is left of it at the end is killed."""
    some = ["--limit", ",".join(LOCKED)]
    command = [EDGECTL, "bootstrap", str(cluster.inventory), "--full", "--yes", "--plain", *some]
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd="/"
    ) as process:
        try:
            wait_for("the locks", lambda: len(locks(cluster)) == len(LOCKED), 120, every=0.2)
            yield process
        finally:
            if process.poll() is None:
                kill_with_descendants(process.pid)


def test_a_second_run_is_refused_with_the_owner_of_the_one_at_work(cluster: Cluster) -> None:
    with bootstrap_at_work(cluster) as first:
        pid = locks(cluster)["nuc1"]["pid"]
        refused = cluster.bootstrap(check=False)
        assert refused.returncode == 1, refused.stdout + refused.stderr
        owner = re.escape(f"{getpass.getuser()}@{socket.gethostname()}")
        seen = rf"(\w+): error: another run of edgectl is at work here\n +seen: {owner}, .*process {pid}, since 2"
        assert sorted(re.findall(seen, refused.stdout)) == LOCKED
        assert f"kill {pid}" in refused.stdout
        output, _ = first.communicate(timeout=1200)
        assert first.returncode == 0, output
    assert locks(cluster) == {}
    assert all_ready(cluster)


def test_the_locks_of_a_run_that_was_killed_are_taken_over_by_the_next(cluster: Cluster) -> None:
    with bootstrap_at_work(cluster):
        pass
    assert sorted(locks(cluster)) == LOCKED
    cluster.bootstrap()
    assert locks(cluster) == {}
    wait_for("three Ready nodes", lambda: all_ready(cluster), 180)
