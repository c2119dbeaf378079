"""Which pods are deleted after a boot."""

from __future__ import annotations

import importlib.machinery
import importlib.util
from pathlib import Path
from typing import Any

FILE = Path(__file__).parents[3] / "roles" / "device_plugin" / "files" / "clear-refused-pods"
LOADER = importlib.machinery.SourceFileLoader("clear_refused_pods", str(FILE))
SPEC = importlib.util.spec_from_loader("clear_refused_pods", LOADER)
assert SPEC
program = importlib.util.module_from_spec(SPEC)
LOADER.exec_module(program)


def pod(name: str, reason: str | None, *, controller: bool = True, phase: str = "Failed") -> dict[str, Any]:
    owners = [{"kind": "ReplicaSet", "name": "r", "controller": True}] if controller else []
    return {
        "metadata": {"namespace": "ai", "name": name, "ownerReferences": owners},
        "status": {"phase": phase, **({"reason": reason} if reason else {})},
    }


def test_only_pods_that_kubelet_refused_and_somebody_makes_anew_are_deleted() -> None:
    pods = [
        pod("refused", "UnexpectedAdmissionError"),
        pod("alone", "UnexpectedAdmissionError", controller=False),
        pod("evicted", "Evicted"),
        pod("crashed", None),
        pod("running", "UnexpectedAdmissionError", phase="Running"),
    ]
    assert program.refused(pods) == ["/api/v1/namespaces/ai/pods/refused"]


def test_a_certificate_that_is_not_there_yet_does_not_end_the_wait() -> None:
    program.POLL_S = 0.01
    program.main("orin1", "https://127.0.0.1:1", "/nonexistent/ca", "/nonexistent/cert", "0.05")
