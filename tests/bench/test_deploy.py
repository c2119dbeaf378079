"""From a cluster to an answer: `edgectl deploy ollama` beside what people do by hand, printed and not asserted."""

from __future__ import annotations

import json
import shlex
import time
from pathlib import Path
from typing import Any

from tests.bench.test_bootstrap import LAB, fresh_lab, seconds
from tests.e2e.cluster import EDGECTL, Cluster, edgectl

NODES = ("nuc1:control_plane", "orin1:jetson")
MODEL = "lab-tiny"
QUESTION = json.dumps({"model": MODEL, "prompt": "Why is the sky blue?"})
# What follows `kubectl apply`: a look each second whether it is ready, and a question, until the first token.
AND_THEN = f"""
until [ "$(kubectl -n workloads get deployment ollama -o 'jsonpath={{.status.readyReplicas}}')" = 1 ]; do sleep 1; done
address=$(kubectl -n workloads get service ollama -o 'jsonpath={{.spec.clusterIP}}')
python3 -c 'import sys, urllib.request as r; print(r.urlopen(sys.argv[1], sys.argv[2].encode()).readline().decode())' \
  "http://$address:11434/api/generate" {shlex.quote(QUESTION)}
"""


def like(one: dict[str, Any]) -> dict[str, Any]:
    """An object of the cluster as somebody would write it who wants another one like it."""
    metadata = {key: one["metadata"][key] for key in ("name", "namespace", "labels") if key in one["metadata"]}
    spec = {key: value for key, value in one["spec"].items() if key not in {"clusterIP", "clusterIPs", "finalizers"}}
    return {"apiVersion": one["apiVersion"], "kind": one["kind"], "metadata": metadata, "spec": spec}


def by_hand(cluster: Cluster, objects: list[dict[str, Any]]) -> float:
    everything = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    apply = (
        f"export KUBECONFIG=/etc/kubernetes/admin.conf; echo {shlex.quote(everything)} | kubectl apply -f - >/dev/null"
    )
    started = time.monotonic()
    assert "response" in cluster.ssh("nuc1", apply + AND_THEN)
    return time.monotonic() - started


def test_ollama_answers_beside_kubectl_apply_and_a_loop_that_looks() -> None:
    try:
        inventory = fresh_lab("--nodes", ",".join(NODES))
        cluster = Cluster(LAB, Path(inventory))
        edgectl("bootstrap", inventory, "--yes")
        deploy = [EDGECTL, "deploy", "ollama", inventory, "--set", f"model={MODEL}"]
        first = seconds(deploy)
        again = min(seconds(deploy) for _ in range(3))
        namespace = cluster.get("namespace", "workloads")
        objects = [like(one) for one in [namespace, *cluster.get("deployment,service", "-n", "workloads")["items"]]]
        deployed, asked = [], []
        for _ in range(3):
            edgectl("undeploy", "ollama", inventory)
            asked.append(by_hand(cluster, objects))
            edgectl("undeploy", "ollama", inventory)
            deployed.append(seconds(deploy))
    finally:
        edgectl("lab", "down", "--name", LAB)
    print(f"\ndeploy ollama: {first:.1f} s with its image and its model, {again:.1f} s with nothing to do")
    ratio = min(deployed) / min(asked)
    print(
        f"image and model there: {min(deployed):.1f} s; kubectl apply and a loop {min(asked):.1f} s, ratio {ratio:.2f}"
    )
