"""The manifests in examples/gpu ask for a GPU in the way that works on a node that edgectl has made."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.unit.kubeadm.conftest import plugin

ROOT = Path(__file__).parents[3]
EXAMPLES = sorted((ROOT / "examples" / "gpu").glob("*.yml"))
JETSON = {"jetson": {"l4t": "36.4.3", "soc": "orin"}, "gpus": [], "memory": {"total_kib": 8 << 20}}
TAINT = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}


def documents(example: Path) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(example.read_text()))


def pods(example: Path) -> Iterator[dict[str, Any]]:
    """The specs of all pods that a manifest makes."""
    for document in documents(example):
        if document["kind"] == "Pod":
            yield document["spec"]
        elif document["kind"] in ("Deployment", "Job"):
            yield document["spec"]["template"]["spec"]


def labels() -> dict[str, str]:
    """Every label that a node can have of role device_plugin."""
    found: dict[str, str] = plugin("filter/edgectl_gpu.py").profile(JETSON, {"mode": "time-slicing", "replicas": 4})[
        "labels"
    ]
    return found


def test_there_are_examples() -> None:
    assert {example.stem for example in EXAMPLES} >= {"one-gpu", "job", "shared", "several-gpus", "quota"}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.stem)
def test_an_example_is_yaml_that_asks_for_the_runtime_and_for_a_gpu(example: Path) -> None:
    found = list(pods(example))
    assert found
    for spec in found:
        assert spec["runtimeClassName"] == "nvidia"
        assert spec["tolerations"] == [TAINT]
        assert all(container["resources"]["limits"]["nvidia.com/gpu"] >= 1 for container in spec["containers"])


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.stem)
def test_an_example_chooses_nodes_by_labels_that_they_have(example: Path) -> None:
    for spec in pods(example):
        terms = spec.get("affinity", {}).get("nodeAffinity", {})
        required = terms.get("requiredDuringSchedulingIgnoredDuringExecution", {}).get("nodeSelectorTerms", [])
        keys = {rule["key"] for term in required for rule in term["matchExpressions"]}
        assert keys | set(spec.get("nodeSelector", {})) <= set(labels())
        assert all(isinstance(value, str) for value in spec.get("nodeSelector", {}).values())


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.stem)
def test_an_example_says_first_what_it_is_for_and_is_named_in_the_guide(example: Path) -> None:
    assert example.read_text().startswith("# ")
    assert f"(../examples/gpu/{example.name})" in (ROOT / "docs" / "guide.md").read_text()


def test_a_deployments_selector_is_that_of_its_pods() -> None:
    for document in (one for example in EXAMPLES for one in documents(example) if one["kind"] == "Deployment"):
        assert document["spec"]["selector"]["matchLabels"] == document["spec"]["template"]["metadata"]["labels"]
