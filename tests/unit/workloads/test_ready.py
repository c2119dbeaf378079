"""What is said of a workload that does not come up, and which of its pods begin anew with the next run."""

from __future__ import annotations

from typing import Any

from tests.unit.kubeadm.conftest import plugin

ready = plugin("modules/edgectl_workload_ready.py")
afresh = plugin("modules/edgectl_workload_afresh.py")
HOSTNAME = {"kubernetes.io/hostname": "orin1"}
SOUND = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
CRASHED = {
    "phase": "Running",
    "containerStatuses": [{"restartCount": 2, "state": {"terminated": {"exitCode": 1}}}],
}


def pod(name: str, status: dict[str, Any]) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "lab", "labels": {"app.kubernetes.io/name": "ollama"}}
    return {"metadata": metadata, "spec": {"nodeName": "orin1", "containers": [{}]}, "status": status}


class Kubectl:
    """One node, and a Deployment with these pods."""

    def __init__(self, *pods: dict[str, Any]) -> None:
        node = {"metadata": {"name": "orin1"}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}
        self.found: dict[str, list[dict[str, Any]]] = {"pods": list(pods), "nodes": [node], "events": []}
        self.wanted = len(pods)

    def get(self, kind: str, name: str, *_: str) -> dict[str, Any]:
        assert (kind, name) == ("deployment", "ollama")
        spec = {"replicas": self.wanted, "template": {"spec": {"nodeSelector": HOSTNAME}}}
        return {"metadata": {"name": name, "generation": 1}, "spec": spec, "status": {"observedGeneration": 1}}

    def items(self, kind: str, *_: str) -> list[dict[str, Any]]:
        return self.found[kind]

    def pods_on(self, _: str) -> list[dict[str, Any]]:
        return self.found["pods"]

    def last_lines(self, one: dict[str, Any], *_: Any) -> list[str]:
        return [f"said by {one['metadata']['name']}"]


def test_what_is_broken_is_told_with_its_own_log_and_what_to_do() -> None:
    kubectl = Kubectl(pod("ollama-1", CRASHED), pod("ollama-2", SOUND))
    assert ready.look(kubectl, "ollama", "lab")["msg"].splitlines() == [
        "ollama-1 ended 3 times, with exit code 1",
        "the last lines of its log:",
        "said by ollama-1",
        "fix: edgectl logs ollama INVENTORY --namespace lab --previous shows more of its log",
    ]


def test_of_what_is_waited_for_one_line_is_told() -> None:
    said = ready.look(Kubectl(pod("ollama-1", {"phase": "Running"})), "ollama", "lab")
    assert (said["verdict"], said["msg"]) == ("waiting", "ollama-1 runs, and is not ready to answer yet")


def test_pods_that_are_broken_begin_anew_and_the_others_stay() -> None:
    assert afresh.broken(Kubectl(pod("ollama-1", CRASHED), pod("ollama-2", SOUND)), "ollama", "lab") == ["ollama-1"]
    assert afresh.broken(Kubectl(pod("ollama-1", {"phase": "Running"})), "ollama", "lab") == []
