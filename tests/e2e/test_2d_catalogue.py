"""Entries of the catalogue besides Ollama: each is deployed, does what it is for, and goes again with its data.

The programs are real, from package registries; they compute on the CPU, beside a simulated GPU: docs/lab.md.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.e2e.cluster import Cluster, edgectl

SIMULATED = "answered on CPU (simulated GPU)"


def deployed(cluster: Cluster, name: str, *options: str) -> dict[str, Any]:
    done = edgectl("deploy", name, str(cluster.inventory), "--json", *options)
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])["summary"]["workload"]
    return told


@pytest.mark.parametrize(
    ("name", "options", "answer", "where"),
    [
        ("jupyterlab", (), "a kernel computed and found the simulated GPU", SIMULATED),
        ("llama-cpp", ("--set", "repository=lab-tiny"), "", SIMULATED),
        pytest.param("wyoming-openwakeword", (), "ok_nabu", "answered", marks=pytest.mark.long),
    ],
)
def test_a_service_answers_what_its_users_ask(
    cluster: Cluster, name: str, options: tuple[str, ...], answer: str, where: str
) -> None:
    told = deployed(cluster, name, *options)
    assert answer in told["answer"]["answer"]
    assert told["answer"]["answer"].strip()
    assert told["answer"]["where"] == where
    assert told["plan"]["gpu"] == (where == SIMULATED)
    # The simulated Jetson has one slot here.
    edgectl("undeploy", name, str(cluster.inventory), "--purge", "--yes")


@pytest.mark.parametrize("name", ["onnxruntime", pytest.param("jax", marks=pytest.mark.long)])
def test_a_job_computes(cluster: Cluster, name: str) -> None:
    told = deployed(cluster, name)
    assert told["plan"]["gpu"]
    assert told["ready"]["exit_code"] == 0
    assert "computed on CPU (simulated GPU)" in told["ready"]["log"]
    edgectl("undeploy", name, str(cluster.inventory), "--purge", "--yes")


def test_nothing_is_left_of_them(cluster: Cluster) -> None:
    assert "workloads" not in cluster.kubectl("get", "namespaces")
    for node in (one["metadata"]["name"] for one in cluster.get("nodes")["items"]):
        assert cluster.ssh(node, "ls -A /var/lib/edgectl/workloads 2>/dev/null || true").strip() == ""
        assert "dustynv" not in cluster.ssh(node, "ctr --namespace k8s.io images list --quiet")
