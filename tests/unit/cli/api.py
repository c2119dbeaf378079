"""An API in a file, behind a kubectl of the tests' own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


class Api:
    """What the cluster has. file: that of kubectl.py."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.has()

    def has(self, *objects: dict[str, Any], **more: Any) -> None:
        self.file.write_text(json.dumps({"objects": objects, **more}))


def named(kind: str, name: str, namespace: str = "workloads", of: str = "ollama") -> dict[str, Any]:
    labels = {"app.kubernetes.io/name": of, "app.kubernetes.io/part-of": "edgectl-workloads"}
    return {"kind": kind, "metadata": {"name": name, "namespace": namespace, "labels": labels, "generation": 1}}


def deployment(name: str, namespace: str = "workloads", available: int = 1) -> dict[str, Any]:
    counts = {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "availableReplicas": available}
    return {**named("Deployment", name, namespace, name), "spec": {"replicas": 1}, "status": counts}


def pod(name: str, status: dict[str, Any], of: str = "ollama", **spec: Any) -> dict[str, Any]:
    return {**named("Pod", name, of=of), "spec": spec, "status": status}
