"""A new worker joins with `--limit`: its peers learn of it, nothing restarts elsewhere, and its GPU gets a driver."""

from __future__ import annotations

import json
import shlex
import time

from tests.e2e.cluster import Cluster, edgectl, hosts_in_recap, put_in_worker


def test_a_new_worker_joins_alone_and_appears_on_its_peers(cluster: Cluster) -> None:
    new = cluster.outside
    before = {node: cluster.unit_starts(node, *cluster.units(node)) for node in ("nuc1", "nuc2", "orin1")}
    put_in_worker(cluster.inventory, new)
    cluster.bootstrap("--limit", new)
    assert sorted(cluster.ready()) == sorted([new, *before])
    address = cluster.ready()[new]
    for node in before:
        assert f"{address}/32" in cluster.ssh(node, "wg show wg0 allowed-ips")
        cluster.ssh(node, f"ping -c 1 -W 5 {address}")
    assert {node: cluster.unit_starts(node, *cluster.units(node)) for node in before} == before


def test_the_new_worker_has_got_the_driver_of_its_gpu_and_offers_it(cluster: Cluster) -> None:
    assert cluster.ssh("gpu1", "dpkg-query -W -f '${db:Status-Abbrev}' nvidia-kernel-dkms").startswith("ii")
    node = cluster.get("node", "gpu1")
    assert node["status"]["allocatable"]["nvidia.com/gpu"] == "1"
    proved = edgectl("verify", "gpu", str(cluster.inventory), "--host", "gpu1", "--json")
    (gpu,) = json.loads(proved.stdout.splitlines()[-1])["summary"]["gpus"]
    assert (gpu["ran"], gpu["extra_pending"], gpu["simulated"]) == (1, True, True)


def test_a_full_run_after_that_changes_nothing(cluster: Cluster) -> None:
    output = cluster.playbook("bootstrap").stdout
    recap = hosts_in_recap(output)
    assert all(" changed=0 " in line and " failed=0 " in line for line in recap), "\n".join(recap)


def test_a_lock_from_another_machine_is_refused_with_the_owners_name_until_it_is_broken(cluster: Cluster) -> None:
    lock = {"owner": "sam@laptop", "controller": "other", "pid": 1, "run_id": "x", "started": int(time.time())}
    cluster.ssh("nuc2", f"echo {shlex.quote(json.dumps(lock))} > /run/edgectl.lock")
    try:
        result = cluster.bootstrap(check=False)
        assert result.returncode == 1, result.stdout + result.stderr
        assert "sam@laptop" in result.stdout + result.stderr
        assert "-e edgectl_break_lock=true" in result.stdout
        cluster.bootstrap("-e", "edgectl_break_lock=true")
    finally:
        cluster.ssh("nuc2", "rm -f /run/edgectl.lock")


def test_no_run_leaves_a_lock_behind(cluster: Cluster) -> None:
    for node in ("nuc1", "nuc2", "gpu1", "orin1"):
        assert cluster.ssh(node, "ls /run/edgectl.lock 2>/dev/null || true").strip() == ""
