"""Objects of a cluster: what changes is told, and a dry run tries only what can be tried."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.unit.kubeadm.conftest import plugin

objects = plugin("modules/edgectl_kubernetes_objects.py")

RUNTIME_CLASS = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "nvidia"}, "handler": "n"}
NAMESPACED = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "new"}, "data": {}}


class Api:
    """A module whose kubectl answers from a dictionary of objects, as a server-side apply would."""

    def __init__(self, *there: dict[str, Any], check_mode: bool = False, **params: Any) -> None:
        self.there = {objects.named(document): served(document) for document in there}
        self.check_mode = check_mode
        self.params = {"kubectl": ["kubectl"], "manager": "edgectl", "state": "present", "others": None, **params}
        self.asked: list[list[str]] = []

    def run_command(self, command: list[str], data: str | None, handle_exceptions: bool) -> tuple[int, str, str]:
        assert not handle_exceptions, "a kubectl that is not there is to be told in our words"
        self.asked.append(command[1:])
        if "--selector" in command:
            return 0, json.dumps({"kind": "List", "items": list(self.there.values())}), ""
        named = {objects.named(document): document for document in json.loads(data or "")["items"]}
        if command[1] == "delete":
            self.there = {name: document for name, document in self.there.items() if name not in named}
            return 0, "", ""
        if command[1] == "get":
            found = [self.there[name] for name in named if name in self.there]
        else:
            found = [
                served(document, generation=9)
                if objects.pruned(served(document)) != objects.pruned(self.there.get(name, document | {"new": 1}))
                else self.there[name]
                for name, document in named.items()
            ]
        return 0, json.dumps({"kind": "List", "items": found}) if found else "", ""


def served(document: dict[str, Any], generation: int = 1) -> dict[str, Any]:
    """As the API server gives it back."""
    own = {"uid": "u", "resourceVersion": "17", "generation": generation, "managedFields": []}
    return {**document, "metadata": {**document["metadata"], **own}, "status": {"seen": generation}}


def apply(api: Api) -> dict[str, Any]:
    answer: dict[str, Any] = objects.present(api, objects.Kubectl(api, ["kubectl"]))
    return answer


def test_an_object_that_is_there_as_wanted_is_no_change() -> None:
    assert apply(Api(RUNTIME_CLASS, objects=[RUNTIME_CLASS]))["changed"] is False


@pytest.mark.parametrize("check_mode", [False, True])
def test_an_object_that_differs_is_told_by_kind_and_name_and_difference(check_mode: bool) -> None:
    changed = apply(Api({**RUNTIME_CLASS, "handler": "old"}, objects=[RUNTIME_CLASS], check_mode=check_mode))
    assert changed["changed_objects"] == ["RuntimeClass nvidia"]
    assert '"handler": "old"' in changed["diff"][0]["before"]
    assert "resourceVersion" not in changed["diff"][0]["before"]


def test_a_dry_run_does_not_try_an_object_whose_namespace_may_not_be_there_yet() -> None:
    api = Api(RUNTIME_CLASS, objects=[RUNTIME_CLASS, NAMESPACED], check_mode=True)
    assert apply(api)["changed_objects"] == ["ConfigMap new/c"]
    assert all("--dry-run=server" in asked for asked in api.asked if asked[0] == "apply")


def test_a_dry_run_before_there_is_a_cluster_tells_of_every_object() -> None:
    class NoKubectl(Api):
        def run_command(self, command: list[str], data: str, handle_exceptions: bool) -> tuple[int, str, str]:
            raise FileNotFoundError(2, "No such file or directory", command[0])

    assert apply(NoKubectl(objects=[RUNTIME_CLASS], check_mode=True))["changed_objects"] == ["RuntimeClass nvidia"]
    with pytest.raises(objects.KubectlError):
        apply(NoKubectl(objects=[RUNTIME_CLASS]))


def test_only_what_is_there_is_deleted() -> None:
    api = Api(RUNTIME_CLASS, objects=[RUNTIME_CLASS, NAMESPACED])
    assert objects.absent(api, objects.Kubectl(api, ["kubectl"]))["changed_objects"] == ["RuntimeClass nvidia"]
    nothing = Api(objects=[NAMESPACED])
    assert objects.absent(nothing, objects.Kubectl(nothing, ["kubectl"]))["changed"] is False


def test_what_others_have_made_is_left_as_it_is_where_only_missing_objects_are_asked_for() -> None:
    api = Api({**RUNTIME_CLASS, "handler": "theirs"}, objects=[RUNTIME_CLASS, NAMESPACED], state="made")
    assert apply(api)["changed_objects"] == ["ConfigMap new/c"]
    assert apply(Api(RUNTIME_CLASS, objects=[RUNTIME_CLASS], state="made"))["changed"] is False


@pytest.mark.parametrize("check_mode", [False, True])
def test_what_is_no_longer_named_goes(check_mode: bool) -> None:
    dropped = {**NAMESPACED, "metadata": {"name": "d", "namespace": "new"}}
    others = {"kind": "configmaps", "labels": {"b": "2", "a": "1"}}
    api = Api(NAMESPACED, dropped, objects=[NAMESPACED], others=others, check_mode=check_mode)
    assert apply(api)["changed_objects"] == ["ConfigMap new/d"]
    assert (objects.named(dropped) in api.there) is check_mode
    assert next(asked for asked in api.asked if "--selector" in asked)[4:6] == ["--selector", "a=1,b=2"]
