"""Who holds GPUs of a node, and what is said when too few are left."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.testing import patch_module_args

from tests.unit.gpu.test_gpu_verify import CRASHED, UNKNOWN_KEY, Cluster, node, workload
from tests.unit.kubeadm.conftest import plugin

pods_of = plugin("module_utils/edgectl_gpu_pods.py")
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


class Slots:
    """Module edgectl_gpu_slots over the tests' kubectl; `answer` is what it ended with."""

    def __init__(self, cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
        self.cluster, self.capsys = cluster, capsys

    def __call__(self, *, check: bool = False, **options: Any) -> dict[str, Any]:
        kubectl = [sys.executable, "-IS", str(self.cluster.program)]
        arguments = {"kubectl": kubectl, "node": "orin1", "timeout": 0, "_ansible_check_mode": check, **options}
        with patch_module_args(arguments), pytest.raises(SystemExit):
            plugin("modules/edgectl_gpu_slots.py").main()
        answer: dict[str, Any] = json.loads(self.capsys.readouterr().out)
        return answer


@pytest.fixture
def slots(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Slots:
    return Slots(Cluster(tmp_path), capsys)


def test_fewer_than_pods_hold_are_refused_with_the_pods_and_as_many_are_enough(slots: Slots) -> None:
    slots.cluster.put(others=[workload("ollama-0", 3)])
    refused = slots(state="enough", wanted=2)
    assert refused["failed"]
    assert "pods hold 3 of them: ollama/ollama-0 (3)" in refused["msg"]
    assert not slots(state="enough", wanted=3).get("failed")


def test_a_dry_run_before_there_is_a_cluster_finds_nobody_who_holds_any(slots: Slots) -> None:
    nothing = {"state": "enough", "wanted": 2, "kubectl": ["/nowhere/kubectl"]}
    assert slots(check=True, **nothing)["held"] == {}
    assert slots(**nothing)["failed"]


def test_a_node_that_does_not_offer_enough_is_told_with_the_last_words_of_its_device_plugin(slots: Slots) -> None:
    slots.cluster.put(node=node(0), others=[CRASHED], logs={CRASHED["metadata"]["name"]: UNKNOWN_KEY})
    answer = slots(wanted=4)
    assert answer["failed"]
    assert answer["msg"].startswith("orin1 offers 0 of nvidia.com/gpu where 4 should be after 0 s: ")
    assert "CrashLoopBackOff" in answer["msg"]
    assert answer["msg"].endswith(UNKNOWN_KEY)


def test_a_node_that_offers_what_it_should_is_told_so(slots: Slots) -> None:
    assert slots(wanted=2)["offered"] == 2
    assert slots()["offered"] == 2
