"""Runs killed at any moment: the next one goes on, and ends where an undisturbed one ends.

EDGECTL_KILLS says how many (20), EDGECTL_SEED which moments. What runs on the host when edgectl and
Ansible are killed goes on there: apt, kubeadm, an import of images, a restart.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from pathlib import Path

from edgectl.lab import record
from edgectl.lab.podman import podman
from tests.e2e import machine
from tests.e2e.cluster import EDGECTL, Cluster, edgectl, wait_for

KILLS = int(os.environ.get("EDGECTL_KILLS", "20"))
SEED = int(os.environ.get("EDGECTL_SEED", "7"))
NODE = "orin1"
# A host that starts anew gets new keys and certificates.
NEW_EACH_TIME = ("/etc/kubernetes/", "/etc/wireguard/wg0")


def descendants(pid: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        children.setdefault(int(fields[1]), []).append(int(status.parent.name))
    found, todo = [], [pid]
    while todo:
        one = todo.pop()
        found.append(one)
        todo += children.get(one, [])
    return found


def killed_run(cluster: Cluster, seconds: float) -> str:
    """A bootstrap that is ended with SIGKILL, Ansible included, after some seconds; the last line it printed."""
    command = [EDGECTL, "bootstrap", str(cluster.inventory), "--limit", NODE, "--yes", "--plain"]
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd="/"
    )
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        for pid in descendants(process.pid):
            os.kill(pid, signal.SIGKILL)
    assert process.stdout is not None
    return (process.stdout.read().strip().splitlines() or ["nothing"])[-1]


def system(cluster: Cluster) -> dict[str, object]:
    state = machine.node_state(cluster, NODE)
    files = {path: digest for path, digest in state.files.items() if not path.startswith(NEW_EACH_TIME)}
    return {"files": files, "units": state.units, "packages": state.packages, "firewall": state.firewall}


def test_runs_killed_at_random_moments_end_where_an_undisturbed_one_does(cluster: Cluster) -> None:
    wait_for("a quiet cluster", lambda: NODE in cluster.ready(), 120)
    undisturbed = system(cluster)
    chance = random.Random(SEED)  # noqa: S311 - moments, not secrets
    print(f"seed {SEED}, {KILLS} kills")
    for number in range(KILLS):
        if number % 5 == 0:
            edgectl("reset", str(cluster.inventory), "--limit", NODE, "--yes")
        seconds = chance.uniform(4, 40)
        last = killed_run(cluster, seconds)
        print(f"{number + 1}: killed after {seconds:.1f} s, at: {last}")
        if chance.random() < 0.2:
            podman("kill", record.require(cluster.lab).container(NODE))
            time.sleep(1)
            edgectl("lab", "start", NODE, "--name", cluster.lab)
            print("   and the machine lost power")
        if number % 5 == 4 or number == KILLS - 1:
            cluster.bootstrap("--limit", NODE)
            wait_for("the node to be Ready", lambda: NODE in cluster.ready(), 120)
            after = system(cluster)
            for part, wanted in undisturbed.items():
                assert after[part] == wanted, part
