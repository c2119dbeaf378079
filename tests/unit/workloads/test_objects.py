"""The objects of every entry on every platform that it has an image for."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from edgectl.workloads import catalogue
from tests.unit.workloads.cluster import GPU, fit, form, host, objects

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


def pod_of(found: dict[str, Any]) -> Any:
    """The pod's template, whichever object has it."""
    (owner,) = [found[kind] for kind in ("Deployment", "Job", "CronJob", "Pod") if kind in found]
    spec = owner["spec"].get("jobTemplate", owner)["spec"]
    return spec.get("template", owner)


def test_every_entry_runs_somewhere() -> None:
    assert {case.values[0].name for case in CASES} == set(catalogue.read())


@pytest.mark.parametrize(("entry", "seen"), CASES)
def test_a_gpu_is_asked_for_by_its_number_and_its_runtime_or_not_at_all(
    entry: catalogue.Workload, seen: dict[str, Any]
) -> None:
    spec = pod_of(made(entry, seen))["spec"]
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
    template = pod_of(found)
    (container,) = template["spec"]["containers"]
    for variable in container["env"]:
        assert "{" not in variable.get("value", "") or entry.data.get("literal"), variable
        assert isinstance(variable.get("value", ""), str)
    mounted = {mount["name"] for mount in container["volumeMounts"]}
    assert mounted == {volume["name"] for volume in template["spec"]["volumes"]}
    if entry.data.get("kind", "service") != "service":
        assert "Service" not in found
        return
    deployment, service = found["Deployment"], found["Service"]
    selector = service["spec"]["selector"]
    assert selector == deployment["spec"]["selector"]["matchLabels"]
    assert selector.items() <= deployment["spec"]["template"]["metadata"]["labels"].items()
    assert service["spec"]["type"] == "ClusterIP"
    assert service["spec"]["ports"][0]["port"] == container["ports"][0]["containerPort"] == entry.data["port"]


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


def of_kind(kind: str, **changes: Any) -> catalogue.Workload:
    """An entry of another kind."""
    entry = {**catalogue.find("nanoowl").data, "kind": kind, **changes}
    assert not form.problems(entry)
    return catalogue.Workload("own", entry)


def test_what_is_no_service_is_a_pod_a_job_a_schedule_or_a_shell() -> None:
    jetson = SEEN["jetson"][2]
    assert set(made(of_kind("pod"), jetson)) == {"Deployment"}
    job = made(of_kind("job", keep_seconds=60), jetson)["Job"]
    assert (job["apiVersion"], job["spec"]["backoffLimit"]) == ("batch/v1", 0)
    assert (job["spec"]["activeDeadlineSeconds"], job["spec"]["ttlSecondsAfterFinished"]) == (1800, 60)
    assert job["spec"]["template"]["spec"]["restartPolicy"] == "Never"
    cron = made(of_kind("cronjob", schedule="0 3 * * *"), jetson)["CronJob"]
    assert (cron["spec"]["schedule"], cron["spec"]["concurrencyPolicy"]) == ("0 3 * * *", "Forbid")
    assert cron["spec"]["jobTemplate"]["spec"]["backoffLimit"] == 0
    shell = made(of_kind("shell"), jetson)["Pod"]
    assert shell["spec"]["containers"][0]["tty"]
    assert shell["metadata"]["labels"] == objects.labels("own")


def test_several_gpus_and_another_user_are_asked_for() -> None:
    entry = of_kind("job", needs={"gpu": "required", "memory_mib": 1, "gpus": 2}, user=0)
    (container,) = pod_of(made(entry, SEEN["jetson"][2]))["spec"]["containers"]
    assert container["resources"]["limits"] == {GPU: "2"}
    assert container["securityContext"]["runAsUser"] == 0


def test_texts_that_are_literal_are_left_alone() -> None:
    texts = {"environment": {"A": "{prompt}"}, "args": ["{x}", "{prompt}"], "literal": True}
    entry = of_kind("job", **texts)
    (container,) = pod_of(made(entry, SEEN["jetson"][2]))["spec"]["containers"]
    assert container["args"] == ["{x}", "{prompt}"]
    assert {"name": "A", "value": "{prompt}"} in container["env"]


def test_files_are_mounted_each_by_its_path_and_change_the_pod() -> None:
    found = made(catalogue.find("tritonserver"), SEEN["jetson"][2])
    data = found["ConfigMap"]["data"]
    (container,) = pod_of(found)["spec"]["containers"]
    mounts = {mount["mountPath"]: data[mount["subPath"]] for mount in container["volumeMounts"] if "subPath" in mount}
    assert "dynamic_batching" in mounts["/models/sum/config.pbtxt"]
    assert "TritonPythonModel" in mounts["/models/sum/1/model.py"]
    assert pod_of(found)["metadata"]["annotations"]["edgectl.io/files"]


def test_a_secret_that_the_user_may_bring_is_not_needed() -> None:
    (container,) = pod_of(made(catalogue.find("vllm"), SEEN["jetson"][2]))["spec"]["containers"]
    (variable,) = [one for one in container["env"] if one["name"] == "HF_TOKEN"]
    assert variable["valueFrom"]["secretKeyRef"] == {"name": "vllm-user", "key": "HF_TOKEN", "optional": True}


def test_a_digest_is_used_unless_the_image_is_brought() -> None:
    digest = "sha256:" + "a" * 64
    images = [{**catalogue.find("nanoowl").data["images"][0], "digest": digest}]
    entry = of_kind("job", images=images)
    (container,) = pod_of(made(entry, SEEN["jetson"][2]))["spec"]["containers"]
    assert container["image"] == images[0]["image"] + "@" + digest
    (container,) = pod_of(made(entry, SEEN["jetson"][2], brought=[images[0]["image"]]))["spec"]["containers"]
    assert container["image"] == images[0]["image"]


def test_a_program_with_a_gpu_is_told_whether_that_can_compute() -> None:
    entry = catalogue.find("jupyterlab")

    def told(**plan: Any) -> str | None:
        (container,) = pod_of(made(entry, SEEN["jetson"][2], **plan))["spec"]["containers"]
        return {one["name"]: one.get("value") for one in container["env"]}.get("EDGECTL_GPU")

    assert told(simulated=True) == "simulated"
    assert told(simulated=False) == "real"
    assert told(gpu=False) is None
