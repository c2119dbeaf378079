"""Module edgectl_gpu_verify over a kubectl whose scheduler and kubelet do what the test says."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.testing import patch_module_args

from tests.unit.kubeadm.conftest import plugin

KUBECTL = Path(__file__).with_name("kubectl.py")
RESOURCE = "nvidia.com/gpu"
ANSWER = {"schema_version": 1, "ok": True, "name": "Orin", "compute_capability": "8.7", "problems": []}
RACE = 'pods "check-0" is forbidden: error looking up service account: serviceaccount "default" not found'
NO_CLASS = 'pods "check-0" is forbidden: pod rejected: RuntimeClass "nvidia" not found'


def node(allocatable: int, capacity: int | None = None) -> dict[str, Any]:
    return {
        "metadata": {"name": "orin1", "labels": {"kubernetes.io/hostname": "orin1", "nvidia.com/gpu.product": "Orin"}},
        "status": {
            "allocatable": {RESOURCE: str(allocatable)},
            "capacity": {RESOURCE: str(allocatable if capacity is None else capacity)},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def workload(name: str, slots: int = 1) -> dict[str, Any]:
    return {
        "metadata": {"namespace": "ollama", "name": name},
        "spec": {"nodeName": "orin1", "containers": [{"resources": {"limits": {RESOURCE: str(slots)}}}]},
        "status": {"phase": "Running"},
    }


# What NVIDIA's plugin v0.19.0 says last of a configuration with `replicas: 1`, shortened.
BAD_CONFIG = "error starting plugins: unable to load config: unmarshal error: number of replicas must be >= 2"
BACK_OFF = {"reason": "CrashLoopBackOff", "message": "back-off 40s restarting failed container"}
CRASHED = {
    **workload("nvidia-device-plugin-jetson-x7k2p", 0),
    "status": {"phase": "Running", "containerStatuses": [{"state": {"waiting": BACK_OFF}}]},
}


class Cluster:
    """The cluster's file, and what kubectl was told."""

    def __init__(self, directory: Path) -> None:
        self.file = directory / "cluster.json"
        self.program = directory / "kubectl.py"
        self.program.write_text(KUBECTL.read_text())
        self.put(
            node=node(2), others=[], own={}, frame={}, events=[], said=[], looks=0, later={}, refusals=[], logs={},
            log=f"step: cuInit\n{json.dumps(ANSWER)}", fate="runs", fates={}, full="",
        )  # fmt: skip

    def put(self, **values: object) -> None:
        known = json.loads(self.file.read_text()) if self.file.exists() else {}
        self.file.write_text(json.dumps({**known, **values}))

    def __getitem__(self, key: str) -> Any:
        return json.loads(self.file.read_text())[key]

    @property
    def clean(self) -> bool:
        return self["own"] == {} and self["frame"] == {}


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    return Cluster(tmp_path)


@pytest.fixture
def verify(
    cluster: Cluster, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., dict[str, Any]]:
    module = plugin("modules/edgectl_gpu_verify.py")
    monkeypatch.setattr(module, "POLL", 0.01)

    def run(*, check: bool = False, offer_seconds: int = 0, **options: object) -> dict[str, Any]:
        monkeypatch.setattr(module, "OFFER_SECONDS", offer_seconds)
        arguments = {
            "kubectl": [sys.executable, "-IS", str(cluster.program)],
            "node": "orin1",
            "platform": "jetson",
            "expected": 2,
            "image": "docker.io/library/python:3.13-slim-trixie",
            "script": "print('a check')",
            "timeout": 20,
            "_ansible_check_mode": check,
            **options,
        }
        with patch_module_args(arguments), pytest.raises(SystemExit):
            module.main()
        answer: dict[str, Any] = json.loads(capsys.readouterr().out)
        return answer

    return run


Verify = Callable[..., dict[str, Any]]


def test_each_slot_computes_and_one_pod_more_waits(cluster: Cluster, verify: Verify) -> None:
    answer = verify()
    assert not answer.get("failed"), answer
    seen = {key: answer[key] for key in ("node", "product", "expected", "allocatable", "free", "ran", "extra_pending")}
    assert seen == {
        "node": "orin1", "product": "Orin", "expected": 2, "allocatable": 2, "free": 2, "ran": 2, "extra_pending": True,
    }  # fmt: skip
    assert answer["checks"] == [{"pod": f"check-{number}", **ANSWER} for number in range(2)]
    assert answer["problems"] == []
    assert not answer["simulated"]
    assert cluster.clean
    assert "look" not in answer


def test_pods_are_placed_by_the_scheduler_and_give_way_to_every_workload(cluster: Cluster, verify: Verify) -> None:
    verify(keep=True)
    spec = cluster["own"]["check-0"]["spec"]
    assert spec["nodeSelector"] == {"kubernetes.io/hostname": "orin1"}
    assert spec["runtimeClassName"] == "nvidia"
    assert spec["tolerations"] == [{"operator": "Exists"}]
    assert spec["automountServiceAccountToken"] is False
    frame = cluster["frame"]
    assert frame["PriorityClass"]["value"] < 0
    assert frame["PriorityClass"]["preemptionPolicy"] == "Never"
    assert frame["PriorityClass"]["metadata"]["name"] == spec["priorityClassName"] == "edgectl-verify-orin1"
    assert frame["ConfigMap"]["data"] == {"gpu_check.py": "print('a check')"}
    assert {one["metadata"]["namespace"] for one in cluster["own"].values()} == {"edgectl-verify-orin1"}


def test_slots_that_others_hold_are_left_to_them(cluster: Cluster, verify: Verify) -> None:
    cluster.put(others=[workload("ollama-0")])
    answer = verify()
    assert (answer["free"], answer["ran"], answer["extra_pending"]) == (1, 1, True)
    assert answer["in_use_by"] == {"ollama/ollama-0": 1}


def test_a_node_whose_slots_are_all_in_use_gets_no_pod_and_is_no_failure(cluster: Cluster, verify: Verify) -> None:
    cluster.put(others=[workload("ollama-0", 2)])
    answer = verify()
    assert not answer.get("failed")
    assert (answer["free"], answer["ran"], answer["extra_pending"]) == (0, 0, None)
    assert answer["in_use_by"] == {"ollama/ollama-0": 2}
    assert not any(line.startswith("apply") for line in cluster["said"])


def test_a_slot_that_somebody_takes_meanwhile_is_theirs(cluster: Cluster, verify: Verify) -> None:
    cluster.put(later={"2": {"others": [workload("ollama-0")]}})
    answer = verify()
    assert not answer.get("failed"), answer
    assert (answer["free"], answer["ran"], answer["extra_pending"]) == (1, 1, True)


def test_a_slot_that_somebody_frees_meanwhile_is_filled_and_one_more_pod_waits(
    cluster: Cluster, verify: Verify
) -> None:
    cluster.put(others=[workload("ollama-0")], later={"2": {"others": []}})
    answer = verify()
    assert not answer.get("failed"), answer
    assert (answer["free"], answer["ran"], answer["extra_pending"]) == (2, 2, True)


@pytest.mark.parametrize(
    ("allocatable", "capacity", "evidence"),
    [
        (0, 0, "allocatable 0, capacity 0"),
        (1, 2, "allocatable 1, capacity 2: the device plugin calls 1 of them unhealthy"),
        (4, 4, "allocatable 4, capacity 4"),
    ],
)
def test_a_node_that_offers_another_number_is_a_failure_before_any_pod(
    cluster: Cluster, verify: Verify, allocatable: int, capacity: int, evidence: str
) -> None:
    cluster.put(node=node(allocatable, capacity))
    answer = verify()
    what = f"orin1 offers {allocatable} of nvidia.com/gpu where 2 should be"
    assert answer["failed"]
    (problem,) = answer["problems"]
    assert answer["msg"].splitlines() == [
        f"the GPU of orin1 is not proved: {what}",
        f"seen: {evidence}",
        "seen: no pod of a device plugin is on the node",
        *textwrap.wrap(f"fix: {problem['fix']}", 76, subsequent_indent="  ", break_on_hyphens=False),
        "all of it: edgectl verify gpu --host orin1",
    ]
    assert problem["what"] == what
    assert problem["evidence"] == f"{evidence}\nno pod of a device plugin is on the node"
    assert cluster.clean


def test_a_device_plugin_that_does_not_run_is_shown_with_what_it_printed_last(cluster: Cluster, verify: Verify) -> None:
    logs = {CRASHED["metadata"]["name"]: f"Starting FS watcher.\n{BAD_CONFIG}"}
    cluster.put(node=node(0), others=[CRASHED], logs=logs)
    shown = verify()["problems"][0]["evidence"].splitlines()[-3:]
    assert shown == [
        "nvidia-device-plugin-jetson-x7k2p: Running: CrashLoopBackOff: back-off 40s restarting failed container",
        "Starting FS watcher.",
        BAD_CONFIG,
    ]


def test_where_nobody_can_know_the_number_any_will_do_but_none(cluster: Cluster, verify: Verify) -> None:
    assert verify(expected=None)["ran"] == 2
    cluster.put(node=node(0))
    answer = verify(expected=None)
    assert answer["problems"][0]["what"] == "orin1 offers 0 of nvidia.com/gpu where one or more should be"


def test_a_device_plugin_that_is_still_starting_is_waited_for(cluster: Cluster, verify: Verify) -> None:
    cluster.put(node=node(0), later={"3": {"node": node(2)}})
    answer = verify(offer_seconds=60)
    assert not answer.get("failed"), answer
    assert answer["ran"] == 2


@pytest.mark.parametrize(
    ("fate", "what", "evidence", "fix"),
    [
        ("no image", "its image can't be had", "ImagePullBackOff", "device_plugin_check_image"),
        ("not started", "its container can't be started", "driver error", "edgectl bootstrap"),
        ("not admitted", "its container can't be started", "no healthy devices", "edgectl bootstrap"),
        ("killed", "it ended without an answer", "OOMKilled, exit code 137", ""),
    ],
)
def test_a_pod_that_cannot_get_to_an_answer_fails_at_once_with_the_reason(
    cluster: Cluster, verify: Verify, fate: str, what: str, evidence: str, fix: str
) -> None:
    cluster.put(fate=fate, log="step: cuInit")
    answer = verify(timeout=600)
    assert answer["failed"]
    (problem,) = answer["problems"]
    assert problem["what"].startswith("check-0 and ")
    assert problem["what"].endswith(f" more: {what}")
    assert evidence in problem["evidence"]
    assert fix in problem["fix"]
    assert not cluster.clean
    assert answer["namespace"] == "edgectl-verify-orin1"
    assert answer["look"].endswith("--namespace edgectl-verify-orin1 describe pods")
    assert answer["remove"].endswith("delete namespace/edgectl-verify-orin1 priorityclass/edgectl-verify-orin1")


def test_a_runtime_that_containerd_does_not_know_fails_at_once(cluster: Cluster, verify: Verify) -> None:
    message = (
        'Failed to create pod sandbox: rpc error: failed to get sandbox runtime: no runtime for "nvidia" is configured'
    )
    event = {"type": "Warning", "reason": "FailedCreatePodSandBox", "message": message}
    cluster.put(fate="creating", events=[{**event, "involvedObject": {"name": "check-0"}}])
    answer = verify(timeout=600)
    (problem,) = answer["problems"]
    assert problem["what"] == "check-0: containerd has no such runtime"
    assert message in problem["evidence"]


def test_a_check_that_failed_is_told_in_its_own_words(cluster: Cluster, verify: Verify) -> None:
    wrong = {**ANSWER, "ok": False, "problems": [{"what": "the GPU computes wrongly", "evidence": "1 of 1048576 sums"}]}
    cluster.put(logs={"check-1": json.dumps(wrong)})
    answer = verify(timeout=600)
    (problem,) = answer["problems"]
    assert problem["what"] == "check-1: the GPU computes wrongly"
    assert problem["evidence"] == "1 of 1048576 sums"
    assert "dmesg" in problem["fix"]


def test_a_check_that_never_answers_is_told_with_the_step_it_hangs_in(cluster: Cluster, verify: Verify) -> None:
    cluster.put(logs={"check-1": "step: cuInit\nstep: cuCtxSynchronize"})
    answer = verify(timeout=1)
    (problem,) = answer["problems"]
    assert problem["what"] == "check-1: no answer within 1 s"
    assert problem["evidence"].splitlines()[-1] == "step: cuCtxSynchronize"
    assert answer["ran"] == 1


def test_an_image_that_is_still_on_its_way_is_told_as_that(cluster: Cluster, verify: Verify) -> None:
    event = {"type": "Normal", "reason": "Pulling", "message": "Pulling image", "involvedObject": {"name": "check-0"}}
    cluster.put(fate="creating", events=[event])
    (problem,) = verify(timeout=1)["problems"]
    assert problem["what"] == "check-0 and 1 more: not started within 1 s"
    assert problem["evidence"] == "check-0: Pending: ContainerCreating\nPulling: Pulling image"


def test_a_pod_that_waits_for_something_else_than_a_slot_proves_nothing(cluster: Cluster, verify: Verify) -> None:
    cluster.put(full="1 Insufficient memory")
    answer = verify(timeout=1)
    (problem,) = answer["problems"]
    assert problem["what"] == "check-0: it waits, and not for want of nvidia.com/gpu"
    assert "1 Insufficient memory" in problem["evidence"]
    assert answer["extra_pending"] is False


def test_a_namespace_that_is_not_usable_yet_is_tried_again(cluster: Cluster, verify: Verify) -> None:
    cluster.put(refusals=[RACE, RACE])
    assert not verify().get("failed")


def test_what_the_api_refuses_is_told_in_its_words(cluster: Cluster, verify: Verify) -> None:
    cluster.put(refusals=[NO_CLASS])
    answer = verify()
    (problem,) = answer["problems"]
    assert problem["what"] == "the API refuses the pods"
    assert problem["evidence"] == NO_CLASS


def test_leftovers_of_an_earlier_verification_go_first(cluster: Cluster, verify: Verify) -> None:
    verify()
    first, *_, last = cluster["said"]
    assert first == last
    assert first.startswith("delete namespace/edgectl-verify-orin1 priorityclass/edgectl-verify-orin1")


def test_a_simulated_gpu_is_called_so(cluster: Cluster, verify: Verify) -> None:
    cluster.put(log=json.dumps({"ok": True, "simulated": True, "computed": False, "problems": []}))
    answer = verify()
    assert answer["simulated"]
    assert not answer.get("failed")


def test_a_control_plane_that_cannot_be_asked_is_a_problem_and_no_traceback(verify: Verify, tmp_path: Path) -> None:
    (tmp_path / "cluster.json").unlink()
    answer = verify()
    assert [one["what"] for one in answer["problems"]] == ["the API does not do what it is asked"]


def test_a_dry_run_asks_nothing(cluster: Cluster, verify: Verify) -> None:
    answer = verify(check=True)
    assert not answer["changed"]
    assert cluster["said"] == []
