"""Three control planes: grown from one, and the first of them lost and found again. A lab of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.e2e.cluster import Cluster, edgectl, hosts_in_recap, own_lab, wait_for

LAB = "ha"
NODES = "nuc1:control_plane,nuc2,nuc3,orin1:jetson"
ALL = ("nuc1", "nuc2", "nuc3", "orin1")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A lab whose inventory has one control plane and three workers."""
    with own_lab(LAB, NODES, tmp_path_factory.mktemp("ha")) as lab:
        yield lab


def set_places(inventory: Path, control_plane: list[str], workers: list[str]) -> None:
    hosts = yaml.safe_load((inventory / "hosts.yml").read_text())
    children = hosts["all"]["children"]["cluster"]["children"]
    known = {**(children["control_plane"]["hosts"] or {}), **(children["workers"]["hosts"] or {})}
    children["control_plane"]["hosts"] = {name: known[name] for name in control_plane}
    children["workers"]["hosts"] = {name: known[name] for name in workers}
    # Hosts that are in neither wait for their place.
    (inventory / "hosts.yml").write_text(yaml.safe_dump(hosts, sort_keys=False))


def members(cluster: Cluster) -> list[str]:
    """Names of etcd's members, as the control planes' own pods say."""
    pods = cluster.get("pods", "-n", "kube-system", "-l", "component=etcd")["items"]
    return sorted(pod["spec"]["nodeName"] for pod in pods if pod["status"]["phase"] == "Running")


def test_one_control_plane_grows_to_three(cluster: Cluster) -> None:
    place = cluster.inventory
    whole = (place / "hosts.yml").read_text()
    set_places(place, ["nuc1"], ["orin1"])
    cluster.bootstrap()
    assert sorted(cluster.ready()) == ["nuc1", "orin1"]
    (place / "hosts.yml").write_text(whole)
    set_places(place, ["nuc1", "nuc2", "nuc3"], ["orin1"])
    cluster.bootstrap()
    assert sorted(cluster.ready()) == sorted(ALL)
    assert members(cluster) == ["nuc1", "nuc2", "nuc3"]
    # Nothing that lets another control plane in outlives the run.
    secrets = cluster.kubectl("-n", "kube-system", "get", "secrets", "-o", "name")
    assert "kubeadm-certs" not in secrets
    assert "bootstrap-token" not in secrets


def test_a_second_run_changes_nothing_on_three_control_planes(cluster: Cluster) -> None:
    output = cluster.playbook("bootstrap", "-e", "edgectl_full=true").stdout
    recap = hosts_in_recap(output)
    assert all(" changed=0 " in line and " failed=0 " in line for line in recap), "\n".join(recap)


def test_the_first_control_plane_is_lost_and_comes_back(cluster: Cluster) -> None:
    edgectl("lab", "stop", "nuc1", "--name", LAB)
    try:
        # kubectl goes to the next one; a worker's kubelet finds the API through its own proxy.
        wait_for("the API on another control plane", lambda: cluster.kubectl("get", "--raw", "/readyz") == "ok", 90)
        cluster.ssh("orin1", "systemctl restart kubelet")
        wait_for("nuc1 to be known as lost", lambda: "nuc1" not in cluster.ready(), 120)
        assert "orin1" in wait_for("orin1 to be Ready", lambda: "orin1" in cluster.ready() and cluster.ready(), 90)
        made = json.loads(cluster.kubectl("create", "namespace", "made-without-nuc1", "-o", "json"))
        assert made["metadata"]["name"] == "made-without-nuc1"
        answer = cluster.bootstrap(check=False)
        assert answer.returncode == 4, answer.stdout + answer.stderr
    finally:
        edgectl("lab", "start", "nuc1", "--name", LAB)
    wait_for("nuc1 to be back", lambda: "nuc1" in cluster.ready(), 180)
    wait_for("etcd's three members", lambda: members(cluster) == ["nuc1", "nuc2", "nuc3"], 120)


def test_a_control_plane_that_is_taken_out_leaves_etcd_first(cluster: Cluster) -> None:
    edgectl("reset", str(cluster.inventory), "--limit", "nuc1", "--yes")
    wait_for("two members", lambda: members(cluster) == ["nuc2", "nuc3"], 120)
    status = cluster.ssh("nuc2", "kubectl --kubeconfig /etc/kubernetes/admin.conf get --raw '/readyz?verbose'")
    assert "[+]etcd ok" in status
    cluster.bootstrap()
    wait_for("three members", lambda: members(cluster) == ["nuc1", "nuc2", "nuc3"], 120)
