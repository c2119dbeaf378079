"""`edgectl verify gpu`: its table, its problems, its exit code."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from .conftest import Answer

Edgectl = Callable[..., Answer]
Write = Callable[[str], None]
CHECK = {
    "pod": "check-0", "ok": True, "computed": True, "name": "Orin", "compute_capability": "8.7", "cuda": "12.6",
    "computation": {"what": "vector add", "elements": 1 << 20},
}  # fmt: skip
ORIN = {
    "node": "orin1", "platform": "jetson", "product": "Orin", "expected": 4, "allocatable": 4, "free": 3, "ran": 3,
    "in_use_by": {"ollama/ollama-0": 1}, "extra_pending": True, "checks": [CHECK], "simulated": False, "seconds": 11.6,
    "problems": [],
}  # fmt: skip
PROBLEM = {
    "what": "check-0: its image can't be had",
    "evidence": "check-0: Pending: ImagePullBackOff\nFailed: not found",
    "fix": "edgectl bootstrap INVENTORY --limit orin1 --full sets it up again",
}
SICK = {**ORIN, "ran": 0, "checks": [], "problems": [PROBLEM], "namespace": "edgectl-verify-orin1", "look": "kubectl"}


def play(*gpus: dict[str, Any], failing: str = "") -> str:
    """A playbook that finds this."""
    tasks: list[dict[str, Any]] = [
        {
            "name": "What was found",
            "ansible.builtin.debug": {"var": "edgectl_summary"},
            "vars": {"edgectl_summary": {"gpus": list(gpus)}},
            "run_once": True,
        },
        {
            "name": "GPUs that pods can use",
            "ansible.builtin.fail": {"msg": "the GPU is not proved"},
            "when": f"inventory_hostname == '{failing}'",
        },
    ]
    return yaml.safe_dump([{"name": "Verify", "hosts": "cluster", "gather_facts": False, "tasks": tasks}])


def test_every_node_is_a_line_of_the_table(edgectl: Edgectl, inventory: Path, playbook: Write) -> None:
    playbook(play(ORIN))
    answer = edgectl("verify", "gpu", inventory, "--plain")
    assert answer.code == 0, answer.err
    header = "  NODE   PLATFORM  GPU   SLOTS  FREE  RAN  ONE MORE  CHECK                               SECONDS"
    assert header in answer.out
    assert "  orin1  jetson    Orin  4/4    3     3    Pending   vector add on Orin, 8.7, CUDA 12.6  12\n" in answer.out
    assert answer.out.splitlines()[-1].startswith("Log: ")


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ({"simulated": True, "checks": [{**CHECK, "computed": False}]}, "devices and library (simulated GPU)"),
        ({"free": 0, "ran": 0, "extra_pending": None, "checks": []}, "not run: all 4 in use by ollama/ollama-0"),
        ({"expected": None}, "  4      3 "),
    ],
)
def test_what_was_not_computed_is_said(
    edgectl: Edgectl, inventory: Path, playbook: Write, found: dict[str, Any], words: str
) -> None:
    playbook(play({**ORIN, **found}))
    answer = edgectl("verify", "gpu", inventory, "--plain")
    assert answer.code == 0
    assert words in answer.out


def test_a_gpu_that_fails_has_its_evidence_its_fix_and_an_exit_code_of_its_own(
    edgectl: Edgectl, inventory: Path, playbook: Write
) -> None:
    playbook(play(SICK, failing="orin1"))
    answer = edgectl("verify", "gpu", inventory, "--plain")
    assert answer.code == 5
    assert "FAILED: 1 problem, below" in answer.out
    assert "\norin1: check-0: its image can't be had\n" in answer.out
    assert "  seen: check-0: Pending: ImagePullBackOff\n        Failed: not found\n" in answer.out
    fix = answer.out.partition("  fix: ")[2].partition("look:")[0]
    assert " ".join(fix.split()) == f"edgectl bootstrap {inventory} --limit orin1 --full sets it up again"
    assert f"look: edgectl kubectl -i {inventory} -- --namespace edgectl-verify-orin1 describe pods" in answer.out
    assert "delete namespace/edgectl-verify-orin1 priorityclass/edgectl-verify-orin1" in answer.out


def test_another_failure_is_no_unhealthy_gpu(edgectl: Edgectl, inventory: Path, playbook: Write) -> None:
    playbook(play(SICK, failing="nuc1"))
    answer = edgectl("verify", "gpu", inventory, "--plain")
    assert answer.code == 1
    assert "nuc1 failed in phase Verify" in answer.out


def test_a_run_that_found_nothing_because_it_failed_does_not_say_that_there_are_no_gpus(
    edgectl: Edgectl, inventory: Path, playbook: Write
) -> None:
    playbook(play(failing="orin1"))
    answer = edgectl("verify", "gpu", inventory, "--plain")
    assert answer.code == 1
    assert "No GPU hosts" not in answer.out
    assert f"edgectl verify gpu {inventory} --limit orin1" in answer.out


def test_no_gpu_hosts_is_said_plainly(edgectl: Edgectl, inventory: Path, playbook: Write) -> None:
    playbook(play())
    answer = edgectl("verify", "gpu", inventory, "--plain", "--host", "nuc1", "--host", "nuc2")
    assert answer.code == 0
    assert "No GPU hosts: none of nuc1 and nuc2 has a GPU that is to be used." in answer.out


def test_json_ends_with_what_was_found(edgectl: Edgectl, inventory: Path, playbook: Write) -> None:
    playbook(play(SICK, failing="orin1"))
    answer = edgectl("verify", "gpu", inventory, "--json")
    document = json.loads(answer.out.splitlines()[-1])
    assert answer.code == document["exit_code"] == 5
    assert document["verb"] == "verify gpu"
    assert document["summary"]["gpus"] == [SICK]


def test_a_host_that_is_none_is_refused(edgectl: Edgectl, inventory: Path, playbook: Write) -> None:
    playbook(play())
    answer = edgectl("verify", "gpu", inventory, "--host", "orin2")
    assert answer.code == 2
    assert "did you mean orin1?" in answer.err
