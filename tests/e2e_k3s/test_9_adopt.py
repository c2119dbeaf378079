"""A k3s that was installed by hand: refused, taken over with its pods, given back; and what reset leaves behind.

It has a lab of its own. The files run in this order, each on what the one before has left.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e import machine
from tests.e2e.cluster import Cluster, edgectl, hosts_in_recap, lab_status, wait_for
from tests.e2e_k3s import by_hand

pytestmark = pytest.mark.long

LAB = os.environ.get("EDGECTL_E2E_ADOPT_LAB", "e2e-adopt")
KEEP = "EDGECTL_E2E_KEEP" in os.environ
KEPT = Path(tempfile.gettempdir()) / "edgectl-e2e-adopt" / "inventory"
NODES = ("nuc1", "nuc2")
TOKEN = "by-hand-and-short"
CONFIG = """\
# theirs
write-kubeconfig-mode: "0644"
kubelet-arg:
  - max-pods=40
tls-san: [cluster.example.org]
"""
# What is not ours on a host, and has to be there afterwards.
FOREIGN = (
    "iptables -I FORWARD -s 203.0.113.0/24 -j ACCEPT -m comment --comment theirs"
    " && iptables -t nat -N THEIRS && ip link add br-theirs type bridge && ip link set br-theirs up"
)


@pytest.fixture(scope="module")
def lab(room: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    if not (KEEP and KEPT.exists()):
        edgectl("lab", "down", "--name", LAB)
        edgectl("lab", "up", "--name", LAB, "--nodes", "nuc1:control_plane,nuc2", "--distribution", "k3s", timeout=3000)
    inventory = KEPT if KEEP else tmp_path_factory.mktemp("adopt") / "inventory"
    if not inventory.exists():
        shutil.copytree(lab_status(LAB)["inventory"], inventory)
        cluster = Cluster(LAB, inventory, "k3s")
        for node in NODES:
            cluster.ssh(node, FOREIGN)
    yield Cluster(LAB, inventory, "k3s")
    if not KEEP:
        edgectl("lab", "down", "--name", LAB)


@pytest.fixture(scope="module")
def before(lab: Cluster) -> dict[str, tuple[machine.NodeState, dict[str, frozenset[str]]]]:
    return {node: (machine.node_state(lab, node), machine.traces(lab, node)) for node in NODES}


def set_options(cluster: Cluster, **options: Any) -> None:
    (cluster.inventory / "group_vars" / "all").mkdir(exist_ok=True)
    lab_options = cluster.inventory / "group_vars" / "all.yml"
    if lab_options.exists():
        lab_options.rename(cluster.inventory / "group_vars" / "all" / "lab.yml")
    (cluster.inventory / "group_vars" / "all" / "own.yml").write_text(yaml.safe_dump(options))


def pods(cluster: Cluster) -> dict[str, tuple[str, str, int]]:
    """Name of each pod of the test to its UID, and its container's start and restarts."""
    items = json.loads(by_hand.kubectl(cluster, "get", "pods", "-n", "default", "-o", "json"))["items"]
    return {
        pod["metadata"]["name"]: (pod["metadata"]["uid"], state["state"]["running"]["startedAt"], state["restartCount"])
        for pod in items
        for state in pod["status"]["containerStatuses"]
    }


def files_of_k3s(cluster: Cluster, node: str) -> str:
    """What somebody has written by hand, with modes; and the cluster's identity."""
    return cluster.ssh(
        node,
        "cd / && sha256sum $(find etc/systemd/system/k3s* etc/rancher/k3s -type f ! -name k3s.yaml)"
        " usr/local/bin/k3s usr/local/bin/k3s-* ; stat -c '%a %n' etc/rancher/k3s/config.yaml"
        " etc/systemd/system/k3s*.service etc/systemd/system/k3s*.env etc/rancher/k3s 2>/dev/null;"
        " sha256sum var/lib/rancher/k3s/server/token var/lib/rancher/k3s/server/tls/server-ca.crt 2>/dev/null || true",
    )


@pytest.fixture(scope="module")
def by_hand_cluster(lab: Cluster, before: object) -> dict[str, Any]:
    """Server and agent with default networks, and a pod on each; what they are like."""
    set_options(lab)
    server = ["--node-label", "shelf=left", "--token", TOKEN]
    by_hand.install(lab, "nuc1", "server", server, {"NO_PROXY": "10.0.0.0/8"}, CONFIG)
    token = wait_for("the token", lambda: lab.ssh("nuc1", "cat /var/lib/rancher/k3s/server/node-token").strip())
    variables = {"K3S_URL": f"https://{lab.lan_address('nuc1')}:6443", "K3S_TOKEN": token}
    by_hand.install(lab, "nuc2", "agent", ["--node-label", "shelf=right"], variables, "")
    by_hand.wait_for_nodes(lab, {node: lab.lan_address(node) for node in NODES})
    for node in NODES:
        overrides = {"spec": {"nodeName": node}}
        by_hand.kubectl(
            lab, "run", f"pod-{node}", "--image=rancher/mirrored-pause:3.6", "--image-pull-policy=Never",
            f"--overrides={json.dumps(overrides)}",
        )  # fmt: skip
    wait_for("the pods to run", lambda: len(pods(lab)) == 2)
    return {"pods": pods(lab), "files": {node: files_of_k3s(lab, node) for node in NODES}}


def test_reset_leaves_a_node_as_it_was_before_bootstrap(
    lab: Cluster, before: dict[str, tuple[machine.NodeState, dict[str, frozenset[str]]]]
) -> None:
    set_options(lab)
    lab.bootstrap()
    assert sorted(lab.ready()) == sorted(NODES)
    edgectl("reset", str(lab.inventory), "--yes")
    problems = []
    for node in NODES:
        state, traces = before[node]
        problems += machine.differences(lab, node, state) + machine.traces_left(lab, node, traces)
        assert "theirs" in lab.ssh(node, "iptables-save")
        assert "br-theirs" in lab.ssh(node, "ip -o link")
    assert not problems, "\n".join(problems)


def test_a_k3s_that_is_there_is_refused_with_what_would_change(lab: Cluster, by_hand_cluster: dict[str, Any]) -> None:
    refused = lab.bootstrap(check=False)
    said = " ".join(refused.stdout.split())
    assert refused.returncode == 1
    assert "k3s_adopt: true" in said
    assert 'cluster_pod_cidr: "10.42.0.0/16"' in said
    assert 'cluster_service_cidr: "10.43.0.0/16"' in said
    assert "/etc/systemd/system/k3s.service" in said
    assert "max-pods=40" in said
    assert TOKEN not in refused.stdout + refused.stderr
    assert {node: files_of_k3s(lab, node) for node in NODES} == by_hand_cluster["files"]


def test_it_is_taken_over_with_its_data_and_its_pods(lab: Cluster, by_hand_cluster: dict[str, Any]) -> None:
    set_options(lab, k3s_adopt=True, cluster_pod_cidr="10.42.0.0/16", cluster_service_cidr="10.43.0.0/16")
    plan = edgectl("plan", str(lab.inventory), "--plain", check=False)
    assert "is taken over" in plan.stdout, plan.stdout + plan.stderr
    assert TOKEN not in plan.stdout
    taken = lab.bootstrap()
    assert TOKEN not in taken.stdout
    assert lab.ready() == {"nuc1": "10.200.0.1", "nuc2": "10.200.0.2"}
    assert pods(lab) == by_hand_cluster["pods"]
    server = lab.ssh(
        "nuc1", "sha256sum /var/lib/rancher/k3s/server/token /var/lib/rancher/k3s/server/tls/server-ca.crt"
    )
    assert all(line.split()[0] in by_hand_cluster["files"]["nuc1"] for line in server.splitlines())
    for node, shelf in (("nuc1", "left"), ("nuc2", "right")):
        labels = lab.get("node", node)["metadata"]["labels"]
        assert labels["shelf"] == shelf
        options = lab.ssh(node, "cat /etc/rancher/k3s/config.yaml.d/10-adopted.yaml")
        assert f"shelf={shelf}" in options
    assert lab.get("node", "nuc1")["status"]["capacity"]["pods"] == "40"


def test_a_second_bootstrap_changes_nothing(lab: Cluster) -> None:
    again = lab.playbook("bootstrap", "-e", "edgectl_full=true")
    assert [line for line in hosts_in_recap(again.stdout) if not re.search(r"changed=0\b", line)] == []


def test_reset_gives_it_back_as_it_was_found(
    lab: Cluster,
    by_hand_cluster: dict[str, Any],
) -> None:
    edgectl("reset", str(lab.inventory), "--yes")
    by_hand.wait_for_nodes(lab, {node: lab.lan_address(node) for node in NODES})
    assert {node: files_of_k3s(lab, node) for node in NODES} == by_hand_cluster["files"]
    assert pods(lab) == by_hand_cluster["pods"]
    for node in NODES:
        left = lab.ssh(node, "ls -d /var/lib/edgectl /etc/wireguard/wg0.conf 2>/dev/null; iptables-save; ip -o link")
        assert "edgectl" not in left.lower()
        assert "wg0" not in left


def test_a_node_of_another_cluster_is_refused(lab: Cluster, by_hand_cluster: dict[str, Any]) -> None:
    by_hand.uninstall(lab, "nuc1", "server")
    by_hand.install(lab, "nuc1", "server", [], {}, "")
    by_hand.wait_for_nodes(lab, {"nuc1": lab.lan_address("nuc1")})
    agent = files_of_k3s(lab, "nuc2")
    refused = lab.bootstrap(check=False)
    said = " ".join(refused.stdout.split())
    assert refused.returncode == 1
    assert "the host is an agent of another k3s cluster" in said
    assert "1 problem found before anything was changed" in said
    assert files_of_k3s(lab, "nuc2") == agent
