"""How far a job, a schedule or a shell has come, and what is said of its end."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.kubeadm.conftest import plugin

kinds = plugin("module_utils/edgectl_workload_kinds.py")


def job(*conditions: tuple[str, str], **status: Any) -> dict[str, Any]:
    told = [{"type": kind, "status": "True", "reason": reason} for kind, reason in conditions]
    metadata = {"name": "own", "uid": "u2"}
    return {"metadata": metadata, "spec": {"activeDeadlineSeconds": 60}, "status": {"conditions": told, **status}}


def pod(phase: str = "Running", owner: str = "u2", **state: Any) -> dict[str, Any]:
    metadata = {"name": "own-1", "ownerReferences": [{"uid": owner}]}
    spec = {"containers": [{"name": "own"}]}
    return {"metadata": metadata, "spec": spec, "status": {"phase": phase, "containerStatuses": [{"state": state}]}}


def ended(code: int, reason: str = "Error") -> dict[str, Any]:
    return pod("Failed" if code else "Succeeded", terminated={"exitCode": code, "reason": reason})


@pytest.mark.parametrize(
    ("found", "pods", "verdict", "words", "code"),
    [
        (job(), [], "waiting", "no pod yet", None),
        (job(), [pod(running={})], "waiting", "own-1 runs", None),
        (job(), [pod("Pending", waiting={"reason": "ContainerCreating"})], "waiting", "ContainerCreating", None),
        (job(), [pod("Pending", waiting={"reason": "InvalidImageName"})], "broken", "InvalidImageName", None),
        (job(), [ended(0)], "waiting", "has ended", 0),
        (job(("Complete", "")), [ended(0)], "ready", "exit code 0", 0),
        (job(("Failed", "BackoffLimitExceeded")), [ended(3)], "broken", "own ended with exit code 3", 3),
        (job(("Failed", "")), [ended(137, "OOMKilled")], "broken", "exit code 137 (out of memory)", 137),
        (job(("Failed", "DeadlineExceeded")), [], "broken", "did not end within 60 s", None),
        ({}, [], "broken", "its Job is gone", None),
    ],
)
def test_a_job_is_told_by_its_exit_code(
    found: dict[str, Any], pods: list[dict[str, Any]], verdict: str, words: str, code: int | None
) -> None:
    said = kinds.judge("job", found, pods, [])
    assert (said[0], said[3]) == (verdict, code)
    assert words in said[1]


def test_the_pod_of_a_former_job_says_nothing_about_this_one() -> None:
    former = pod("Failed", owner="u1", terminated={"exitCode": 1})
    assert kinds.judge("job", job(), [former], [])[:2] == ("waiting", "own has no pod yet")


def test_a_shell_is_ready_while_it_runs_and_when_it_has_ended() -> None:
    assert kinds.judge("shell", pod(running={}), [], [])[::3] == ("ready", None)
    assert kinds.judge("shell", ended(2), [], [])[::3] == ("ready", 2)
    assert kinds.judge("shell", pod("Pending", waiting={"reason": "ErrImagePull"}), [], [])[0] == "waiting"


def test_a_schedule_is_ready_when_it_is_there() -> None:
    found = {"metadata": {"name": "own"}, "spec": {"schedule": "0 3 * * *"}}
    assert kinds.judge("cronjob", found, [], []) == ("ready", "it runs by its schedule, 0 3 * * *", "", None)
