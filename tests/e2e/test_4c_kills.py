"""Runs killed at any moment: the next one goes on, and ends where an undisturbed one ends.

EDGECTL_KILLS says how many (3; `make torture` has 20), EDGECTL_SEED in which order and how late.
edgectl and Ansible are killed with SIGKILL; what they started on the host goes on there: apt, kubeadm, an import of
images, a restart.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from edgectl.lab import record
from edgectl.lab.podman import podman
from tests.e2e import machine
from tests.e2e.cluster import EDGECTL, Cluster, edgectl, kill_with_descendants, wait_for

pytestmark = pytest.mark.long
KILLS = int(os.environ.get("EDGECTL_KILLS", "3"))
SEED = int(os.environ.get("EDGECTL_SEED", "7"))
NODE = "orin1"
# What is running on the host, as its command line tells, when a run is killed; in the order of a bootstrap.
MOMENTS = {
    "kubeadm": (
        r"apt-get .*install",
        r"systemctl \w+ wg-quick@wg0",
        r"systemctl restart containerd",
        r"ctr .*import",
        r"kubeadm join",
    ),
    "k3s": (r"apt-get .*install", r"systemctl \w+ wg-quick@wg0", r"systemctl \w+ k3s-agent"),
}
# A host that joins anew gets a new key, new certificates, a new password.
NEW_EACH_TIME = ("/etc/kubernetes/", "/etc/wireguard/", "/etc/rancher/")


def is_running(namespace: str, pattern: str) -> bool:
    """Whether a process of a node, known by its pid namespace, has such a command line."""
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            command = (place / "cmdline").read_text().replace("\0", " ")
            if re.search(pattern, command) and str((place / "ns" / "pid").readlink()) == namespace:
                return True
    return False


def killed_run(cluster: Cluster, moment: str, later: float) -> str:
    """A bootstrap killed some seconds after `moment` began to run on the node; what it was at."""
    init = podman("inspect", "--format", "{{.State.Pid}}", record.require(cluster.lab).container(NODE)).stdout.strip()
    namespace = str(Path(f"/proc/{init}/ns/pid").readlink())
    process = subprocess.Popen(
        [EDGECTL, "bootstrap", str(cluster.inventory), "--limit", NODE, "--yes", "--plain"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd="/",
    )
    while process.poll() is None and not is_running(namespace, moment):
        time.sleep(0.05)
    time.sleep(later)
    ended = process.poll() is not None
    if not ended:
        kill_with_descendants(process.pid)
    output = process.communicate()[0]
    assert not ended, f"the run ended before `{moment}`, or within {later:.1f} s of it:\n{output[-3000:]}"
    return (output.strip().splitlines() or ["the start"])[-1].strip()


def system(cluster: Cluster) -> dict[str, object]:
    """What of the node must be the same after every bootstrap."""
    state = machine.node_state(cluster, NODE)
    files = {path: digest for path, digest in state.files.items() if not path.startswith(NEW_EACH_TIME)}
    chains = sorted(line for line in state.firewall.splitlines() if "EDGECTL" in line)
    return {"files": files, "units": state.units, "packages": state.packages, "firewall": chains}


def rounds(moments: tuple[str, ...], chance: random.Random) -> Iterator[list[str]]:
    """KILLS moments in the order of a bootstrap; as many in a round as there are, since each begins with a reset."""
    left = KILLS
    while left:
        size = min(left, len(moments))
        yield sorted(chance.sample(moments, size), key=moments.index)
        left -= size


def test_runs_killed_at_random_moments_end_where_an_undisturbed_one_does(cluster: Cluster) -> None:
    edgectl("reset", str(cluster.inventory), "--limit", NODE, "--yes")
    cluster.bootstrap("--limit", NODE)
    wait_for("the node to be Ready", lambda: NODE in cluster.ready(), 120)
    undisturbed = system(cluster)
    chance = random.Random(SEED)  # noqa: S311 - moments, not secrets
    print(f"seed {SEED}")
    for moments in rounds(MOMENTS[cluster.distribution], chance):
        edgectl("reset", str(cluster.inventory), "--limit", NODE, "--yes")
        for moment in moments:
            later = chance.uniform(0, 1)
            at = killed_run(cluster, moment, later)
            print(f"killed {later:.1f} s after `{moment}` began, at: {at}")
            if chance.random() < 0.25:
                podman("kill", record.require(cluster.lab).container(NODE))
                edgectl("lab", "start", NODE, "--name", cluster.lab)
                print("   and the machine lost its power")
        cluster.bootstrap("--limit", NODE)
        wait_for("the node to be Ready", lambda: NODE in cluster.ready(), 120)
        after = system(cluster)
        for part, wanted in undisturbed.items():
            assert after[part] == wanted, part
