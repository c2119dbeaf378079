"""Who holds GPUs of a node, and what is said when too few are left."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.testing import patch_module_args

from tests.unit.gpu.test_gpu_verify import BAD_CONFIG, CRASHED, Cluster, node, workload
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
    slots.cluster.put(node=node(0), others=[CRASHED], logs={CRASHED["metadata"]["name"]: BAD_CONFIG})
    answer = slots(wanted=4)
    assert answer["failed"]
    assert re.match(r"orin1 offers 0 of nvidia\.com/gpu where 4 should be after \d+ s: ", answer["msg"])
    assert "CrashLoopBackOff" in answer["msg"]
    assert answer["msg"].endswith(BAD_CONFIG)


def plugin_pod(restarts: int, reason: str = "", uid: str = "1", **more: Any) -> dict[str, Any]:
    """A pod of NVIDIA's chart, whose plugin waits for a reason or runs; its sidecar is fine."""
    state = {"waiting": {"reason": reason}} if reason else {"running": {}}
    last = {"terminated": {"reason": "OOMKilled", "exitCode": 137}} if restarts else {}
    names = ["nvidia-device-plugin-sidecar", "nvidia-device-plugin-ctr"]
    own = {"name": names[1], "restartCount": restarts, "state": state, "lastState": last}
    return {
        "metadata": {"namespace": "gpu", "name": "nvidia-device-plugin-x7k2p", "uid": uid, **more},
        "spec": {"nodeName": "orin1", "containers": [{"name": name, "resources": {}} for name in names]},
        "status": {
            "phase": "Running",
            "containerStatuses": [{"name": names[0], "restartCount": 0, "state": {"running": {}}}, own],
        },
    }


@pytest.fixture
def failures() -> Any:
    return plugin("module_utils/edgectl_gpu_offer.py").Failures()


@pytest.mark.parametrize("crashing", ["CrashLoopBackOff", "RunContainerError"])
def test_a_plugin_that_has_crashed_a_few_times_is_not_waited_for(failures: Any, crashing: str) -> None:
    assert not failures.hopeless([plugin_pod(0)], 0)
    assert not failures.hopeless([plugin_pod(2, crashing)], 20)
    assert not failures.hopeless([plugin_pod(3)], 40)
    assert failures.hopeless([plugin_pod(3, crashing)], 42)


def test_one_that_crashed_before_anybody_looked_gets_another_try(failures: Any) -> None:
    assert not failures.hopeless([plugin_pod(9, "CrashLoopBackOff")], 0)
    assert not failures.hopeless([plugin_pod(9, "CrashLoopBackOff")], 60)
    assert failures.hopeless([plugin_pod(10, "CrashLoopBackOff")], 120)


def test_an_image_that_cannot_be_had_is_waited_for_half_a_minute(failures: Any) -> None:
    assert not failures.hopeless([plugin_pod(0, "ContainerCreating")], 0)
    assert not failures.hopeless([plugin_pod(0, "ErrImagePull")], 60)
    assert not failures.hopeless([plugin_pod(0, "ImagePullBackOff")], 89)
    assert failures.hopeless([plugin_pod(0, "ErrImagePull")], 90)


def test_a_pod_that_goes_or_is_another_vendors_decides_nothing(failures: Any) -> None:
    gone = plugin_pod(5, "CrashLoopBackOff", deletionTimestamp="2026-11-22T11:00:00Z")
    other = plugin_pod(5, "CrashLoopBackOff", uid="2")
    other["spec"]["containers"] = [{"name": "rdma-device-plugin"}]
    assert not failures.hopeless([{**pod, "status": plugin_pod(4)["status"]} for pod in (gone, other)], 0)
    assert not failures.hopeless([gone, other], 20)


def test_the_wait_ends_early_with_the_words_of_the_container_that_fails(
    slots: Slots, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plugin("modules/edgectl_gpu_slots.py"), "POLL_S", 0)
    name = "nvidia-device-plugin-x7k2p"
    failing = {"others": [plugin_pod(3, "CrashLoopBackOff")]}
    slots.cluster.put(node=node(0), others=[plugin_pod(2)], later={"3": failing}, logs={name: BAD_CONFIG})
    answer = slots(wanted=4, timeout=600)
    assert answer["msg"].startswith("orin1 offers 0 of nvidia.com/gpu where 4 should be after ")
    assert "restarted 3 times, the last time after OOMKilled, exit code 137" in answer["msg"]
    assert answer["msg"].endswith(BAD_CONFIG)
    assert slots.cluster["asked"][name] == "nvidia-device-plugin-ctr"


def test_a_node_that_offers_what_it_should_is_told_so(slots: Slots) -> None:
    assert slots(wanted=2)["offered"] == 2
    assert slots()["offered"] == 2
