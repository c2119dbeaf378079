"""Objects of a cluster: what changes is told, and a dry run tries only what can be tried."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

FILE = Path(__file__).parents[3] / "plugins" / "modules" / "edgectl_kubernetes_objects.py"
SPEC = importlib.util.spec_from_file_location("edgectl_kubernetes_objects", FILE)
assert SPEC
assert SPEC.loader
objects = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(objects)

RUNTIME_CLASS = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "nvidia"}, "handler": "n"}
NAMESPACED = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "new"}, "data": {}}


class Api:
    """A module whose kubectl answers from a dictionary of objects, as a server-side apply would."""

    def __init__(self, *there: dict[str, Any], check_mode: bool = False, **params: Any) -> None:
        self.there = {objects.named(document): served(document) for document in there}
        self.check_mode = check_mode
        self.params = {"kubectl": ["kubectl"], "manager": "edgectl", **params}
        self.asked: list[list[str]] = []

    def run_command(self, command: list[str], data: str) -> tuple[int, str, str]:
        self.asked.append(command[1:])
        named = {objects.named(document): document for document in json.loads(data)["items"]}
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

    def fail_json(self, **said: Any) -> None:
        raise AssertionError(said["msg"])


def served(document: dict[str, Any], generation: int = 1) -> dict[str, Any]:
    """As the API server gives it back."""
    own = {"uid": "u", "resourceVersion": "17", "generation": generation, "managedFields": []}
    return {**document, "metadata": {**document["metadata"], **own}, "status": {"seen": generation}}


def apply(api: Api) -> dict[str, Any]:
    answer: dict[str, Any] = objects.apply(api, objects.Kubectl(api))
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


def test_only_what_is_there_is_deleted() -> None:
    api = Api(RUNTIME_CLASS, objects=[RUNTIME_CLASS, NAMESPACED])
    assert objects.delete(api, objects.Kubectl(api))["changed_objects"] == ["RuntimeClass nvidia"]
    assert objects.delete(Api(objects=[NAMESPACED]), objects.Kubectl(Api(objects=[])))["changed"] is False
