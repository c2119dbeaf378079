"""The objects of every entry on every platform that it has an image for."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from edgectl.workloads import catalogue
from tests.unit.workloads.cluster import GPU, fit, host, objects

SEEN = {
    "jetson": [host("jetson", l4t=release) for release in ("35.4.1", "36.3.0", "36.4.3", "38.2.0", "39.0.0")],
    "dgpu": [host("dgpu", driver="580.65.06")],
    "cpu": [host("cpu")],
}


def image(entry: catalogue.Workload, seen: dict[str, Any]) -> Any:
    cpu = entry.data["needs"]["gpu"] != "none" and seen["platform"] == "cpu"
    return fit.image_for(entry.data, seen, "arm64", cpu=cpu)[0]


CASES = [
    pytest.param(entry, seen, id=f"{entry.name}-{seen['l4t'] or platform}")
    for entry in catalogue.read().values()
    for platform, hosts in SEEN.items()
    for seen in hosts
    if image(entry, seen)
]


def made(entry: catalogue.Workload, seen: dict[str, Any], **plan: Any) -> dict[str, Any]:
    """Kind -> object."""
    gpu = entry.data["needs"]["gpu"] != "none" and seen["platform"] != "cpu"
    whole = {
        "namespace": "workloads", "hostname": "n", "node": "n", "platform": seen["platform"], "gpu": gpu,
        "resource": GPU, "runtime_class": "nvidia", "request_mib": 700, "needs_mib": 900,
        "image": image(entry, seen),
        "data_directory": f"/data/workloads/{entry.name}", "storage_class": "", "storage_gib": 50, **plan,
    }  # fmt: skip
    found = objects.objects(entry.name, entry.data, entry.values({}), whole)
    return {one["kind"]: one for one in yaml.safe_load(yaml.safe_dump(found))}


def test_every_entry_runs_somewhere() -> None:
    assert {case.values[0].name for case in CASES} == set(catalogue.read())


@pytest.mark.parametrize(("entry", "seen"), CASES)
def test_a_gpu_is_asked_for_by_its_number_and_its_runtime_or_not_at_all(
    entry: catalogue.Workload, seen: dict[str, Any]
) -> None:
    spec = made(entry, seen)["Deployment"]["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    resources = container["resources"]
    wants = entry.data["needs"]["gpu"] != "none" and seen["platform"] != "cpu"
    assert resources.get("limits", {}).get(GPU) == ("1" if wants else None)
    assert spec.get("runtimeClassName") == ("nvidia" if wants else None)
    assert resources["requests"]["memory"] == "700Mi"
    assert "memory" not in resources.get("limits", {})
    assert spec["nodeSelector"] == {"kubernetes.io/hostname": "n"}
    assert not spec["automountServiceAccountToken"]


@pytest.mark.parametrize(("entry", "seen"), CASES)
def test_every_text_is_filled_and_the_service_leads_to_the_pod(entry: catalogue.Workload, seen: dict[str, Any]) -> None:
    found = made(entry, seen)
    deployment, service = found["Deployment"], found["Service"]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    for variable in container["env"]:
        assert "{" not in variable.get("value", ""), variable
        assert isinstance(variable.get("value", ""), str)
    selector = service["spec"]["selector"]
    assert selector == deployment["spec"]["selector"]["matchLabels"]
    assert selector.items() <= deployment["spec"]["template"]["metadata"]["labels"].items()
    assert service["spec"]["type"] == "ClusterIP"
    assert service["spec"]["ports"][0]["port"] == container["ports"][0]["containerPort"] == entry.data["port"]
    mounted = {mount["name"] for mount in container["volumeMounts"]}
    assert mounted == {volume["name"] for volume in deployment["spec"]["template"]["spec"]["volumes"]}


def test_data_is_in_a_directory_of_the_node_or_in_a_volume_of_a_class() -> None:
    ollama = catalogue.find("ollama")
    spec = made(ollama, SEEN["cpu"][0])["Deployment"]["spec"]["template"]["spec"]
    path = "/data/workloads/ollama/models"
    assert spec["volumes"] == [{"name": "models", "hostPath": {"path": path, "type": "DirectoryOrCreate"}}]
    found = made(ollama, SEEN["cpu"][0], storage_class="local-path")
    assert found["PersistentVolumeClaim"]["spec"]["storageClassName"] == "local-path"
    claim = found["Deployment"]["spec"]["template"]["spec"]["volumes"][0]["persistentVolumeClaim"]
    assert claim == {"claimName": "ollama-models"}


def test_a_secret_is_named_and_not_written_down() -> None:
    (container,) = made(catalogue.find("open-webui"), SEEN["cpu"][0])["Deployment"]["spec"]["template"]["spec"][
        "containers"
    ]
    (variable,) = [one for one in container["env"] if one["name"] == "WEBUI_SECRET_KEY"]
    assert variable["valueFrom"] == {"secretKeyRef": {"name": "open-webui-generated", "key": "WEBUI_SECRET_KEY"}}
