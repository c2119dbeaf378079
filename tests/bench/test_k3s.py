"""What a second run does to a k3s cluster when there is nothing to do, printed and not asserted.

Beside it, k3s-ansible (k3s-io/k3s-ansible 281554e, ansible-core 2.19.14, its airgap path, k3s replaced by a stub, on
two cores): 3 hosts 19.6 s, 11 changed tasks, 3 services restarted, 9.9 MB sent; 10 hosts 53 s, 39 changed, 10
restarted, 29 MB. Ours is measured with the lab's stand-in for k3s, whose components go on using both cores meanwhile.
On another day, so not to be divided by those: `edgectl bootstrap` 0.6 s (3 hosts) and 1.5 s (10), ansible-playbook 2.3
and 6.3 s, with edgectl_full 23 and 74 s and 20 and 65 MB; 0 changed, 0 restarted.
"""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from edgectl.lab import machine
from edgectl.lab.lifecycle import INOTIFY_PER_NODE
from tests.bench.test_bootstrap import LAB, TEN, THREE, fresh_lab, seconds
from tests.e2e.cluster import EDGECTL, Cluster, edgectl, lab_status

RUNS = 3


def sent(address: str) -> int:
    """Bytes that this machine itself has sent into the lab's network; what nodes tell each other is not among them."""
    said = subprocess.run(["ip", "-json", "route", "get", address], check=True, capture_output=True, text=True).stdout
    device = json.loads(said)[0]["dev"]
    return int(Path(f"/sys/class/net/{device}/statistics/tx_bytes").read_text())


def starts(cluster: Cluster, nodes: list[str]) -> dict[str, str]:
    """When k3s was started on each node."""
    return {node: str(cluster.unit_starts(node, "k3s.service", "k3s-agent.service")) for node in nodes}


def changed(output: str) -> int:
    """Changed tasks of all hosts, as Ansible's recap counts them."""
    return sum(map(int, re.findall(r"\bchanged=(\d+)", output)))


def again(what: str, cluster: Cluster, nodes: list[str], once: Callable[[], int]) -> None:
    """The best time of some runs, and the most that one of them changed, restarted or sent."""
    address, seconds_of, changes, restarts, volume = cluster.lan_address(nodes[0]), [], [], [], []
    for _ in range(RUNS):
        before, at_first = starts(cluster, nodes), sent(address)
        begun = time.monotonic()
        changes.append(once())
        seconds_of.append(time.monotonic() - begun)
        volume.append(sent(address) - at_first)
        restarts.append(sum(starts(cluster, nodes)[node] != before[node] for node in nodes))
    print(
        f"{what}: {min(seconds_of):.1f} s, {max(changes)} changed, {max(restarts)} of {len(nodes)} restarted, "
        f"{max(volume) / 1e6:.2f} MB sent"
    )


@pytest.mark.parametrize("nodes", [THREE, TEN], ids=["three hosts", "ten hosts"])
def test_a_second_run_of_k3s(nodes: list[str]) -> None:
    left = machine.inotify_instances_left()
    if left is not None and left < len(nodes) * INOTIFY_PER_NODE:
        pytest.skip(f"{len(nodes)} nodes want more inotify instances: sudo sysctl fs.inotify.max_user_instances=1024")
    try:
        inventory = fresh_lab("--distribution", "k3s", "--nodes", ",".join(nodes))
        cluster = Cluster(LAB, Path(inventory))
        first = seconds([EDGECTL, "bootstrap", inventory, "--yes"])
        names = [node["name"] for node in lab_status(LAB)["nodes"]]
        print(f"\nk3s, {len(names)} hosts: first run {first:.0f} s; then, with nothing to do,")

        def by_edgectl() -> int:
            said = edgectl("bootstrap", inventory, "--yes", "--plain").stdout
            assert "Nothing to do" in said
            return 0

        again("  edgectl bootstrap", cluster, names, by_edgectl)
        again("  ansible-playbook", cluster, names, lambda: changed(cluster.playbook("bootstrap").stdout))
        again(
            "  ansible-playbook -e edgectl_full=true, where every role looks at every host",
            cluster,
            names,
            lambda: changed(cluster.playbook("bootstrap", "-e", "edgectl_full=true").stdout),
        )
    finally:
        edgectl("lab", "down", "--name", LAB)
