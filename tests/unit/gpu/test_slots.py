"""Who holds GPUs of a node, and what is said when too few are left."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

PLUGINS = Path(__file__).parents[3] / "plugins"


def load(name: str, path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


pods_of = load("edgectl_gpu_pods", PLUGINS / "module_utils" / "edgectl_gpu_pods.py")
GPU = "nvidia.com/gpu"


def container(count: int, **more: Any) -> dict[str, Any]:
    return {"name": "c", "resources": {"limits": {GPU: str(count)}} if count else {}, **more}


def pod(name: str, *containers: dict[str, Any], init: Any = (), phase: str = "Running", node: str = "orin1") -> Any:
    return {
        "metadata": {"namespace": "default", "name": name},
        "spec": {"nodeName": node, "containers": list(containers), "initContainers": list(init)},
        "status": {"phase": phase},
    }


def test_pods_that_have_ended_or_run_elsewhere_hold_nothing() -> None:
    there = [
        pod("a", container(1)),
        pod("b", container(1), phase="Succeeded"),
        pod("c", container(2), node="nuc9"),
        pod("d", container(0)),
        pod("e", container(1), container(1), phase="Pending"),
    ]
    assert pods_of.holders(there, "orin1", GPU) == {"default/a": 1, "default/e": 2}


def test_an_init_container_counts_by_its_highest_need_and_a_sidecar_beside_the_others() -> None:
    assert pods_of.requested(pod("a", container(1), init=[container(3)]), GPU) == 3
    assert pods_of.requested(pod("a", container(1), init=[container(1, restartPolicy="Always")]), GPU) == 2


def test_a_node_that_does_not_know_the_resource_offers_nothing_at_all() -> None:
    assert pods_of.allocatable({"status": {"allocatable": {"cpu": "4"}}}, GPU) is None
    assert pods_of.allocatable({"status": {"allocatable": {GPU: "0"}}}, GPU) == 0


def test_the_plugins_state_is_told_with_its_reason() -> None:
    import ansible.module_utils

    sys.modules["ansible.module_utils.edgectl_gpu_pods"] = pods_of
    ansible.module_utils.edgectl_gpu_pods = pods_of  # type: ignore[attr-defined]
    slots = load("edgectl_gpu_slots", PLUGINS / "modules" / "edgectl_gpu_slots.py")
    waiting = {"reason": "ImagePullBackOff", "message": "not found"}
    assert slots.state_of({"status": {"containerStatuses": [{"state": {"waiting": waiting}}]}}) == (
        "ImagePullBackOff: not found"
    )
    assert slots.state_of({"status": {"phase": "Running"}}) == "Running"
