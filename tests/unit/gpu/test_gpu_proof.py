"""What a pod takes, what a log says, and what a moment of a verification proves."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.kubeadm.conftest import plugin

proof = plugin("module_utils/edgectl_gpu_proof.py")
GPU = "nvidia.com/gpu"
OURS = "edgectl-verify-orin1"


def pod(
    name: str, namespace: str = OURS, *, placed: bool = True, message: str = "", phase: str = "", **status: Any
) -> dict[str, Any]:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    return {
        "metadata": {"namespace": namespace, "name": name},
        "spec": {"containers": [{"resources": {"limits": {GPU: "1"}}}], **({"nodeName": "orin1"} if placed else {})},
        "status": {
            "phase": phase or ("Running" if placed else "Pending"),
            **({"conditions": [condition]} if message else {}),
            **status,
        },
    }


def judged(*own: dict[str, Any], others: int = 0, allocatable: int = 2, well: tuple[str, ...] = ()) -> dict[str, Any]:
    node = {"metadata": {"name": "orin1"}, "status": {"allocatable": {GPU: str(allocatable)}}}
    on_node = [one for one in own if "nodeName" in one["spec"]]
    on_node += [pod(f"ollama-{number}", "ollama") for number in range(others)]
    scene = proof.Scene(node, on_node, list(own), {name: {"ok": True} for name in well})
    verdict: dict[str, Any] = proof.judge(scene, GPU, OURS)
    return verdict


WAITS = pod("check-2", placed=False, message=f"0/3 nodes are available: 1 Insufficient {GPU}.")


def test_pods_that_have_ended_hold_nothing() -> None:
    on_node = [pod("a", "ollama"), pod("b", "jobs", phase="Succeeded"), pod("c", "jobs", phase="Failed"), pod("d")]
    assert proof.holders(on_node, "orin1", GPU, OURS) == {"ollama/a": 1}


def test_all_slots_used_and_one_pod_waiting_is_the_proof() -> None:
    verdict = judged(pod("check-0"), pod("check-1"), WAITS, well=("check-0", "check-1"))
    assert verdict["proved"]
    assert (verdict["room"], verdict["ran"], verdict["waiting"], verdict["missing"]) == (2, 2, 1, 0)


@pytest.mark.parametrize(
    ("own", "well"),
    [
        ([pod("check-0"), pod("check-1"), WAITS], ("check-0",)),  # one has not answered
        ([pod("check-0"), WAITS], ("check-0",)),  # a slot is empty
        ([pod("check-0"), pod("check-1")], ("check-0", "check-1")),  # nobody waits
        ([pod("check-0"), pod("check-1"), pod("check-2", placed=False)], ("check-0", "check-1")),  # for no known reason
        (
            [pod("check-0"), pod("check-1"), pod("check-2", placed=False, message="1 Insufficient memory")],
            ("check-0", "check-1"),
        ),
        ([pod("check-0"), pod("check-1"), pod("check-3"), WAITS], ("check-0", "check-1", "check-3")),  # one too many
    ],
)
def test_less_is_no_proof(own: list[dict[str, Any]], well: tuple[str, ...]) -> None:
    verdict = judged(*own, well=well)
    assert not verdict["proved"]
    assert verdict["problems"] == []


def test_a_pod_that_had_to_give_way_to_a_workload_is_not_counted_and_not_a_problem() -> None:
    gone = pod("check-1", phase="Failed", reason="Preempting", message="")
    verdict = judged(pod("check-0"), gone, WAITS, others=1, well=("check-0",))
    assert verdict["problems"] == []
    assert verdict["proved"]


def test_where_others_took_everything_the_waiting_pods_are_proof_enough() -> None:
    assert judged(WAITS, others=2)["proved"]


@pytest.mark.parametrize(("others", "missing"), [(2, 0), (1, 1), (0, 2)])
def test_what_others_free_asks_for_more_pods(others: int, missing: int) -> None:
    assert judged(WAITS, others=others)["missing"] == missing


def test_the_same_trouble_of_many_pods_is_told_once() -> None:
    waiting = [{"state": {"waiting": {"reason": "ErrImageNeverPull", "message": "not present with pull policy Never"}}}]
    verdict = judged(*(pod(f"check-{n}", phase="Pending", containerStatuses=waiting) for n in range(2)), WAITS)
    (problem,) = verdict["problems"]
    assert problem["what"] == "check-0 and 1 more: its image can't be had"
    assert problem["evidence"] == "check-0: Pending: ErrImageNeverPull: not present with pull policy Never"


@pytest.mark.parametrize(
    ("log", "found"),
    [
        ('step: cuInit\n{"ok": true}\n', {"ok": True}),
        ('{"ok": true}\nstep: cuInit\n', {"ok": True}),
        ("step: cuInit\n", None),
        ('{"ok": tr', None),
        ('{"level": "info"}\n', None),
        ("", None),
    ],
)
def test_the_answer_is_found_among_what_a_pod_prints(log: str, found: dict[str, Any] | None) -> None:
    assert proof.answer_in(log) == found


def test_namespaces_of_two_nodes_are_never_the_same_and_always_names() -> None:
    names = ["orin1", "orin1.lan", "orin1-lan", "a" * 60, "a" * 61, "b." * 60 + "c"]
    made = [proof.names("edgectl-verify", name) for name in names]
    assert made[0] == "edgectl-verify-orin1"
    assert len(set(made)) == len(names)
    assert all(len(name) <= 63 and "." not in name for name in made)
