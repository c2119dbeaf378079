"""How far a workload has come, and what is said about it while it is not ready."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.workloads.cluster import state

SCHEDULED = {
    "type": "PodScheduled",
    "status": "False",
    "message": "0/3 nodes are available: Insufficient nvidia.com/gpu",
}


SPEC = {"nodeName": "orin1", "containers": [{"name": "ollama"}]}


def deployment(available: int = 0, **status: Any) -> dict[str, Any]:
    counts = {"observedGeneration": 2, "replicas": 1, "updatedReplicas": 1, "availableReplicas": available}
    return {"metadata": {"name": "ollama", "generation": 2}, "status": {**counts, **status}}


def pod(**status: Any) -> dict[str, Any]:
    return {"metadata": {"name": "ollama-1"}, "spec": SPEC, "status": {"phase": "Pending", **status}}


def container(**of: Any) -> dict[str, Any]:
    return pod(containerStatuses=[{"restartCount": 0, **of}])


def event(message: str, reason: str = "Failed", count: int = 1) -> dict[str, Any]:
    about = {"involvedObject": {"name": "ollama-1"}, "lastTimestamp": "2026"}
    return {**about, "reason": reason, "message": message, "count": count}


def test_it_is_ready_when_its_only_pod_is_that_of_the_last_change() -> None:
    assert state.judge(deployment(1), [pod(phase="Running")], [])[0] == "ready"
    assert state.judge(deployment(1, observedGeneration=1), [pod(phase="Running")], [])[0] == "waiting"
    assert state.judge(deployment(1), [pod(phase="Running"), pod()], [])[0] == "waiting"


def test_several_are_ready_together_and_the_one_that_is_not_is_told() -> None:
    two = {**deployment(2, replicas=2, updatedReplicas=2), "spec": {"replicas": 2}}
    ready = {"conditions": [{"type": "Ready", "status": "True"}], "phase": "Running"}
    first, second = pod(**ready), {**pod(**ready), "metadata": {"name": "ollama-2"}}
    assert state.judge(two, [first, second], []) [:2] == ("ready", "ollama-1, ollama-2 are Ready")
    assert state.judge(two, [first], [])[0] == "waiting"
    two["status"]["availableReplicas"] = 1
    second = {"metadata": {"name": "ollama-2"}, "spec": {}, "status": {"phase": "Pending", "conditions": [SCHEDULED]}}
    assert state.judge(two, [second, first], [])[:2] == ("waiting", f"ollama-2 is Pending: {SCHEDULED['message']}")


@pytest.mark.parametrize(
    ("seen", "events", "verdict", "words"),
    [
        (pod(conditions=[SCHEDULED]), [], "waiting", "Pending: 0/3 nodes are available: Insufficient nvidia.com/gpu"),
        (
            container(state={"waiting": {"reason": "ContainerCreating"}}),
            [event("Pulling image docker.io/ollama/ollama:0.23.0", "Pulling")],
            "waiting",
            "Pulling image docker.io/ollama",
        ),
        (
            container(state={"waiting": {"reason": "ImagePullBackOff", "message": "Back-off pulling"}}),
            [event("Failed to pull image: no route to host"), event("Error: ImagePullBackOff")],
            "waiting",
            "can't be fetched: Failed to pull image: no route to host",
        ),
        (
            container(state={"waiting": {"reason": "ErrImagePull", "message": "x"}}),
            [event("Failed to pull image: not found", count=4)],
            "broken",
            "can't be fetched: Failed to pull image: not found",
        ),
        (
            container(state={"waiting": {"reason": "InvalidImageName", "message": "bad"}}),
            [],
            "broken",
            "InvalidImageName: bad",
        ),
        (
            container(state={"terminated": {"exitCode": 137, "reason": "OOMKilled"}}, restartCount=2),
            [],
            "broken",
            "ended 3 times, with exit code 137 (out of memory)",
        ),
        (container(state={"terminated": {"exitCode": 1}}), [], "waiting", "exit code 1 and is started again"),
        (pod(phase="Failed", reason="Evicted", message="disk"), [], "broken", "failed: Evicted disk"),
        (pod(phase="Running"), [], "waiting", "not ready to answer yet"),
    ],
)
def test_what_it_waits_for_or_breaks_by_is_told(
    seen: dict[str, Any], events: list[dict[str, Any]], verdict: str, words: str
) -> None:
    found, said, _ = state.judge(deployment(), [seen], events)
    assert found == verdict
    assert words in said


def test_pods_that_the_api_refuses_are_told() -> None:
    refused = {"type": "ReplicaFailure", "status": "True", "message": "violates PodSecurity baseline"}
    found, said, _ = state.judge(deployment(conditions=[refused]), [], [])
    assert (found, said) == ("broken", "the API refuses its pods: violates PodSecurity baseline")
    assert state.judge({}, [], [])[0] == "broken"
    assert state.judge(deployment(), [], [])[0] == "waiting"


def test_of_a_log_the_last_lines_that_say_something_are_shown() -> None:
    assert state.last_lines([line for number in range(20) for line in (str(number), "")]).splitlines()[0] == "12"
