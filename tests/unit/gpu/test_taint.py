"""A taint of a node is added beside others, and only one that was ours is taken away."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.unit.kubeadm.conftest import plugin

taints = plugin("modules/edgectl_node_taint.py")
TAINT = "nvidia.com/gpu=present:NoSchedule"
OURS = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
THEIRS = {"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"}
CONTROL_PLANE = {"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}


class Api:
    """A module whose kubectl has one node, and merges patches into it as the API does."""

    def __init__(
        self, *there: dict[str, Any], conflicts: int = 0, check_mode: bool = False, missing: bool = False
    ) -> None:
        self.node: dict[str, Any] = {
            "metadata": {"name": "orin1", "resourceVersion": "1", "annotations": {"other": "x"}},
            "spec": {"taints": list(there)} if there else {},
        }
        self.conflicts, self.check_mode, self.missing = conflicts, check_mode, missing
        self.params: dict[str, Any] = {"node": "orin1", "annotation": "edgectl.io/taint"}

    def run_command(self, command: list[str], data: str | None, handle_exceptions: bool) -> tuple[int, str, str]:
        if self.missing:
            raise FileNotFoundError(2, "No such file or directory", command[0])
        if command[1] == "get":
            return 0, json.dumps(self.node), ""
        patch = json.loads(command[-1])
        if self.conflicts:
            self.conflicts -= 1
            self.node["metadata"]["resourceVersion"] += "1"
        if patch["metadata"]["resourceVersion"] != self.node["metadata"]["resourceVersion"]:
            return 1, "", 'Error from server (Conflict): Operation cannot be fulfilled on nodes "orin1"'
        kept = {**self.node["metadata"]["annotations"], **patch["metadata"]["annotations"]}
        self.node["metadata"]["annotations"] = {key: value for key, value in kept.items() if value is not None}
        self.node["spec"] = patch["spec"]
        return 0, "", ""

    def __call__(self, state: str) -> bool:
        return self.has([TAINT] if state == "present" else [])

    def has(self, wanted: list[str]) -> bool:
        self.params["taints"] = wanted
        return bool(taints.bring_about(self, taints.Kubectl(self, ["kubectl"]))["changed"])

    @property
    def taints(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.node["spec"].get("taints", [])
        return found


def test_the_taint_comes_beside_others_and_goes_without_them() -> None:
    api = Api(CONTROL_PLANE)
    assert api("present")
    assert api.taints == [CONTROL_PLANE, OURS]
    assert not api("present")
    assert api("absent")
    assert api.taints == [CONTROL_PLANE]
    assert api.node["metadata"]["annotations"] == {"other": "x"}
    assert not api("absent")


@pytest.mark.parametrize("there", [OURS, THEIRS])
def test_one_that_somebody_else_has_put_there_is_enough_and_stays(there: dict[str, Any]) -> None:
    api = Api(there)
    assert not api("present")
    assert not api("absent")
    assert api.taints == [there]


def test_one_that_somebody_has_changed_since_is_no_longer_ours() -> None:
    api = Api()
    api("present")
    api.node["spec"]["taints"] = [THEIRS]
    assert api("absent")
    assert api.taints == [THEIRS]


def test_a_node_that_changes_in_between_is_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(taints, "PAUSE_S", 0)
    api = Api(CONTROL_PLANE, conflicts=2)
    assert api("present")
    assert api.taints == [CONTROL_PLANE, OURS]
    with pytest.raises(taints.KubectlError, match="Conflict"):
        Api(conflicts=99)("present")


def test_a_dry_run_says_what_would_change_and_changes_nothing() -> None:
    api = Api(CONTROL_PLANE, check_mode=True)
    assert api("present")
    assert api.taints == [CONTROL_PLANE]
    assert Api(check_mode=True, missing=True)("present"), "there is no cluster yet"
    assert not Api(check_mode=True, missing=True)("absent")


def test_of_several_those_go_that_are_no_longer_wanted_and_the_others_stay_as_they_are() -> None:
    api = Api(CONTROL_PLANE)
    assert api.has(["battery=yes:NoSchedule", "dark:NoExecute"])
    assert not api.has(["battery=yes:NoSchedule", "dark:NoExecute"])
    assert api.has(["dark:NoExecute", "far=away:PreferNoSchedule"])
    assert [one["key"] for one in api.taints] == [CONTROL_PLANE["key"], "dark", "far"]
    assert api.has(["dark:NoExecute"])
    assert api.has([])
    assert api.taints == [CONTROL_PLANE]


def test_one_that_the_api_lists_without_its_empty_value_is_known_again() -> None:
    api = Api()
    api.has(["dark:NoExecute"])
    api.node["spec"]["taints"] = [{"key": "dark", "effect": "NoExecute"}]
    assert not api.has(["dark:NoExecute"])
    assert api.has([])
    assert api.taints == []


def test_another_value_takes_the_place_of_the_first() -> None:
    api = Api()
    api.has(["battery=yes:NoSchedule"])
    assert api.has(["battery=low:NoSchedule"])
    assert api.taints == [{"key": "battery", "value": "low", "effect": "NoSchedule"}]
