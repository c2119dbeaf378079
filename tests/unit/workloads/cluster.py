"""Nodes and pods as kubectl tells them, and what the probe knows of hosts."""

from __future__ import annotations

from typing import Any

from tests.unit.kubeadm.conftest import plugin

form = plugin("module_utils/edgectl_workload_entry.py")
fit = plugin("module_utils/edgectl_workload_fit.py")
objects = plugin("module_utils/edgectl_workload_objects.py")
state = plugin("module_utils/edgectl_workload_state.py")

GPU = "nvidia.com/gpu"


def host(platform: str, **traits: Any) -> dict[str, Any]:
    return {"platform": platform, "l4t": None, "driver": None, "simulated": None, **traits}


HOSTS = {
    "jetson": host("jetson", l4t="36.4.3"),
    "dgpu": host("dgpu", driver="550.54.15"),
    "cpu": host("cpu"),
}


def node(name: str, gib: float, gpus: int = 0, arch: str = "arm64", **labels: str) -> dict[str, Any]:
    """A Ready node. gib: its memory, of which kubelet keeps 100 MiB."""
    whole = int(gib * 1024 * 1024)
    allocatable = {"memory": f"{whole - 102400}Ki", **({GPU: str(gpus)} if gpus else {})}
    return {
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **labels}},
        "spec": {},
        "status": {
            "capacity": {**allocatable, "memory": f"{whole}Ki"},
            "allocatable": allocatable,
            "conditions": [{"type": "Ready", "status": "True"}],
            "nodeInfo": {"architecture": arch},
        },
    }


def pod(name: str, on: str, memory: str = "", gpus: int = 0, phase: str = "Running") -> dict[str, Any]:
    requests = {"memory": memory} if memory else {}
    resources = {"requests": requests, "limits": {GPU: str(gpus)} if gpus else {}}
    return {
        "metadata": {"namespace": "others", "name": name, "labels": {}},
        "spec": {"nodeName": on, "containers": [{"resources": resources}]},
        "status": {"phase": phase},
    }
