"""How far a workload has come, and what is said about it while it is not ready."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.unit.workloads.cluster import objects, state
from tests.unit.workloads.cluster import pod as holder

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
    assert state.judge(two, [first, second], [])[:2] == ("ready", "ollama-1, ollama-2 are Ready")
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
            [event("Failed to pull image: dial tcp: no route to host"), event("Error: ImagePullBackOff")],
            "waiting",
            "can't be fetched yet: dial tcp: no route to host",
        ),
        (
            container(state={"waiting": {"reason": "ErrImagePull", "message": "x"}}),
            [event("Failed to pull image: dial tcp: no route to host", count=2)],
            "broken",
            "can't be fetched: Failed to pull image: dial tcp: no route to host",
        ),
        *(
            (
                container(state={"waiting": {"reason": "ErrImagePull", "message": "x"}}),
                [event("Failed to pull image: unexpected EOF", count=tries)],
                verdict,
                "unexpected EOF",
            )
            for tries, verdict in ((2, "waiting"), (3, "broken"))
        ),
        (
            container(state={"waiting": {"reason": "ErrImagePull", "message": "x"}}),
            [{**event("Failed to pull image: no such host", count=9), "involvedObject": {"name": "another"}}],
            "waiting",
            "can't be fetched yet: x",
        ),
        (
            container(state={"waiting": {"reason": "ContainerCreating"}}),
            [event("no runtime for nvidia is configured", "FailedCreatePodSandBox", count=4)],
            "broken",
            "no runtime for nvidia is configured",
        ),
        (
            container(state={"waiting": {"reason": "ErrImagePull", "message": "x"}}),
            [event("Failed to pull image: docker.io/library/nosuch:1: not found")],
            "broken",
            "docker.io/library/nosuch:1: not found",
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
        (
            pod(phase="Running"),
            [event("Readiness probe failed: connection refused", "Unhealthy")],
            "waiting",
            "yet: Readiness probe failed: connection refused",
        ),
    ],
)
def test_what_it_waits_for_or_breaks_by_is_told(
    seen: dict[str, Any], events: list[dict[str, Any]], verdict: str, words: str
) -> None:
    found, said, _ = state.judge(deployment(), [seen], events)
    assert found == verdict
    assert words in said


NOW = 1_800_000_000


def at(seconds: float) -> str:
    """A time as the API writes it, so many seconds ago."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(NOW - seconds))


def place(*pods: dict[str, Any], ready: str = "True", since: float = 0, pressure: str = "False", **spec: Any) -> Any:
    conditions = [
        {"type": "Ready", "status": ready, "lastTransitionTime": at(since), "message": "Kubelet stopped posting."},
        {"type": "DiskPressure", "status": pressure},
    ]
    node = {"metadata": {"name": "orin1"}, "spec": spec, "status": {"conditions": conditions}}
    return state.Place(node, list(pods), NOW)


def pending(seconds: float, message: str = "Insufficient nvidia.com/gpu") -> dict[str, Any]:
    return pod(
        conditions=[{**SCHEDULED, "message": f"{message}. preemption: 0/3 nodes", "lastTransitionTime": at(seconds)}]
    )


def test_a_pod_without_a_slot_is_told_who_holds_them_and_waits_no_longer_than_a_pod_takes_to_end() -> None:
    ours = holder("rival", "orin1", gpus=4)
    ours["metadata"] |= {"labels": objects.labels("rival"), "namespace": "lab"}
    verdict, why, fix = state.judge(deployment(), [pending(10)], [], place(ours))
    assert (verdict, "held by lab/rival (4)" in why) == ("waiting", True)
    assert "preemption" not in why
    assert fix.startswith("edgectl undeploy rival INVENTORY --namespace lab, or raise device_plugin_sharing of orin1")
    assert state.judge(deployment(), [pending(60)], [], place(ours))[0] == "broken"
    volume = "pod has unbound immediate PersistentVolumeClaims"
    assert state.judge(deployment(), [pending(600, volume)], [], place())[0] == "waiting"


def test_a_pod_that_finds_its_node_cordoned_or_full_is_told_what_opens_it() -> None:
    verdict, why, fix = state.judge(
        deployment(), [pending(60, "1 node was unschedulable")], [], place(unschedulable=True)
    )
    assert (verdict, fix) == ("broken", "edgectl kubectl -i INVENTORY -- uncordon orin1")
    assert why.endswith("orin1 is cordoned")
    verdict, why, fix = state.judge(deployment(), [pending(60, "a taint")], [], place(pressure="True"))
    assert (verdict, "nearly full" in why, "make room on orin1" in fix) == ("broken", True, True)


def test_a_node_that_is_silent_ends_the_wait_whatever_its_pods_said_last() -> None:
    verdict, why, fix = state.judge(deployment(), [pod(phase="Running")], [], place(ready="Unknown", since=10))
    assert (verdict, why) == ("waiting", "orin1 is not Ready for 10 s: Kubelet stopped posting.")
    assert "edgectl probe orin1 -i INVENTORY" in fix
    for pods in ([pod(phase="Running")], []):
        assert state.judge(deployment(), pods, [], place(ready="Unknown", since=60))[0] == "broken"


def test_a_former_pod_that_never_ends_ends_the_wait() -> None:
    former = pod(phase="Running")
    for late, verdict in ((10, "waiting"), (60, "broken")):
        former["metadata"] = {"name": "ollama-0", "namespace": "workloads", "deletionTimestamp": at(late)}
        found, _, fix = state.judge(deployment(), [former], [], place())
        assert found == verdict
    assert "delete pod ollama-0 -n workloads --force" in fix


def test_an_evicted_pod_is_told_until_another_has_taken_its_place() -> None:
    evicted = pod(phase="Failed", reason="Evicted", message="The node was low on resource: ephemeral-storage.")
    found, why, fix = state.judge(deployment(), [evicted, pending(1, "a taint")], [], place())
    assert (found, "low on resource" in why, "make room on orin1" in fix) == ("broken", True, True)
    assert state.judge(deployment(), [evicted, pod(phase="Running")], [], place())[0] == "waiting"
    assert state.judge(deployment(1), [evicted, pod(phase="Running")], [], place())[0] == "ready"


def test_what_helps_against_too_little_memory_depends_on_who_set_the_limit() -> None:
    killed = container(state={"terminated": {"exitCode": 137, "reason": "OOMKilled"}}, restartCount=2)
    assert "fewer pods on orin1 (edgectl top INVENTORY)" in state.judge(deployment(), [killed], [])[2]
    limited = {"name": "ollama", "resources": {"limits": {"memory": "12Mi"}}}
    killed = {**killed, "spec": {"nodeName": "orin1", "containers": [limited]}}
    assert "it may take 12Mi" in state.judge(deployment(), [killed], [])[2]


def test_pods_that_the_api_refuses_are_told() -> None:
    refused = {"type": "ReplicaFailure", "status": "True", "message": "violates PodSecurity baseline"}
    found, said, _ = state.judge(deployment(conditions=[refused]), [], [])
    assert (found, said) == ("broken", "the API refuses its pods: violates PodSecurity baseline")
    assert state.judge({}, [], [])[0] == "broken"
    assert state.judge(deployment(), [], [])[0] == "waiting"


def test_of_a_log_the_last_lines_that_say_something_are_shown() -> None:
    assert state.last_lines([line for number in range(20) for line in (str(number), "")]).splitlines()[0] == "12"
