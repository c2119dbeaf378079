"""Where a workload goes, on a cluster that is told, and the words in which it is refused."""

from __future__ import annotations

from typing import Any

import pytest

from edgectl.workloads import catalogue
from tests.unit.kubeadm.conftest import plugin
from tests.unit.workloads.cluster import HOSTS, node, pod

module = plugin("modules/edgectl_workload_plan.py")


class Kubectl:
    """The API's answers: objects by `kind/name`."""

    def __init__(self, *pods: dict[str, Any], **objects: dict[str, Any]) -> None:
        self.objects, self.pods = {name.replace("__", "/"): one for name, one in objects.items()}, list(pods)
        self.classes: list[dict[str, Any]] = []
        self.nodes = [
            node("nuc1", 15, arch="amd64"),
            node("orin1", 7.4, gpus=4),
            node("orin2", 15.3, gpus=1),
        ]

    def get(self, kind: str, name: str, *_: str) -> dict[str, Any]:
        if kind == "node":
            return next((one for one in self.nodes if one["metadata"]["name"] == name), {})
        return self.objects.get(f"{kind}/{name}", {})

    def items(self, kind: str, *_: str) -> list[dict[str, Any]]:
        return {"nodes": self.nodes, "ingressclasses": self.classes}.get(kind, self.pods)


def options(name: str = "ollama", **of: Any) -> dict[str, Any]:
    usual = {
        "name": name, "entry": catalogue.find(name).data, "parameters": {}, "namespace": "workloads", "node": "",
        "hosts": {"nuc1": HOSTS["cpu"], "orin1": HOSTS["jetson"], "orin2": HOSTS["jetson"]}, "platform": "",
        "cpu": False, "file_bytes": 0, "runtime_class": "nvidia", "data_directory": "/data/", "storage_class": "",
        "storage_gib": 50, "replicas": 1, "expose": "", "beside": [], "brought": {},
    }  # fmt: skip
    return {**usual, **of}


def on(where: str) -> dict[str, Any]:
    """A Deployment that runs on a node."""
    return {"spec": {"template": {"spec": {"nodeSelector": {"kubernetes.io/hostname": where}}}}}


def refused(kubectl: Kubectl, **of: Any) -> str:
    with pytest.raises(module.Refusal) as caught:
        module.planned(options(**of), kubectl)
    return str(caught.value)


def test_it_goes_where_the_most_memory_is_left_and_stays_there() -> None:
    assert module.planned(options(), Kubectl())["node"] == "orin2"
    assert module.planned(options(), Kubectl(pod("big", "orin2", "14Gi")))["node"] == "orin1"
    assert module.planned(options(), Kubectl(deployment__ollama=on("orin1")))["node"] == "orin1"
    assert module.planned(options(node="orin2"), Kubectl(deployment__ollama=on("orin1")))["node"] == "orin2"


def test_its_own_pod_does_not_stand_in_its_way() -> None:
    own = pod("ollama-1", "orin2", "14Gi", gpus=1)
    own["metadata"] |= {"namespace": "workloads", "labels": module.made.labels("ollama")}
    there = Kubectl(own, deployment__ollama=on("orin2"))
    assert module.planned(options(), there)["node"] == "orin2"
    own["metadata"]["labels"] = {}
    said = refused(there)
    assert "all 1 of its nvidia.com/gpu are in use, by workloads/ollama-1" in said
    assert "fix for orin2: raise device_plugin_sharing of orin2 and edgectl bootstrap INVENTORY" in said


def test_each_node_has_its_reason() -> None:
    said = refused(Kubectl(), parameters={"model": "deepseek-r1:32b"}).splitlines()
    assert said[0] == "ollama fits no node:"
    assert said[1] == "nuc1: it has no GPU"
    assert said[2].startswith("orin1: it needs 20.1 GiB of memory, and ")
    assert said[-1] == "the largest that fits: --set model=deepseek-r1:14b"


def test_one_that_has_no_room_where_its_data_is_is_not_moved() -> None:
    said = refused(Kubectl(pod("big", "orin1", "7Gi"), deployment__ollama=on("orin1")))
    assert "orin2" not in said
    assert "its data is on orin1: edgectl undeploy ollama first, or --node for another" in said


@pytest.mark.parametrize(
    ("of", "words"),
    [
        ({"node": "orin9"}, "there is no node orin9; the cluster has nuc1, orin1, orin2"),
        ({"node": "nuc1"}, "nuc1: it has no GPU\n--cpu runs it without a GPU, slowly"),
        ({"platform": "dgpu"}, "orin1: its platform is jetson"),
        ({"parameters": {"model": "mystery"}}, "--set model_gb=SIZE"),
        ({"parameters": {"modle": "x"}}, "parameter modle is no parameter"),
        ({"name": "open-webui"}, "open-webui needs ollama, which is not in namespace workloads: edgectl deploy ollama"),
        ({"entry": {"title": "x"}}, "workloads/ollama/workload.yml category is missing"),
    ],
)
def test_what_cannot_be_is_refused(of: dict[str, Any], words: str) -> None:
    assert words in refused(Kubectl(), **of)


def test_several_replicas_need_room_and_slots_for_all_of_them_on_one_node() -> None:
    plan = module.planned(options(replicas=2), Kubectl())
    assert (plan["node"], plan["replicas"]) == ("orin1", 2)  # orin2 has more memory, and one slot
    deployment = next(one for one in plan["objects"] if one["kind"] == "Deployment")
    assert deployment["spec"]["replicas"] == 2
    assert "orin2: it offers 1 nvidia.com/gpu, and 2 are wanted" in refused(Kubectl(), replicas=2, node="orin2")
    most = refused(Kubectl(), replicas=4, node="orin1", parameters={"model": "deepseek-r1:7b"})
    assert "orin1: it needs 20.4 GiB of memory" in most


@pytest.mark.parametrize(
    ("of", "words"),
    [
        (
            {"replicas": 2, "name": "llama-cpp"},
            "llama-cpp: 2 replicas: two of them would write into the same data (models",
        ),
        ({"replicas": 2, "storage_class": "fast"}, "in a volume of fast, which one pod may use at a time"),
        ({"replicas": 0}, "ollama: 0 replicas: there must be one"),
        ({"expose": "ingress"}, "ollama: --expose ingress is neither nodeport nor ingress=HOST"),
        ({"expose": "ingress=Chat_1"}, "is neither nodeport nor"),
        (
            {"expose": "ingress=x.org", "name": "wyoming-whisper"},
            "wyoming-whisper: --expose ingress: it speaks no HTTP",
        ),
        ({"expose": "ingress=x.org"}, "the cluster has no IngressClass; install an ingress controller"),
    ],
)
def test_what_cannot_be_shared_or_exposed_is_refused(of: dict[str, Any], words: str) -> None:
    assert words in refused(Kubectl(), **of)


def test_an_ingress_has_the_clusters_class_its_default_where_there_are_several() -> None:
    there = Kubectl()
    there.classes = [{"metadata": {"name": "nginx"}}]
    *_, service, ingress = module.planned(options(expose="ingress=x.example.org"), there)["objects"]
    assert service["spec"]["type"] == "ClusterIP"
    assert ingress["spec"]["ingressClassName"] == "nginx"
    (rule,) = ingress["spec"]["rules"]
    assert rule["host"] == "x.example.org"
    assert rule["http"]["paths"][0]["backend"] == {"service": {"name": "ollama", "port": {"name": "main"}}}
    there.classes.append({"metadata": {"name": "traefik"}})
    assert "the cluster has nginx, traefik, and none is its default" in refused(there, expose="ingress=x.example.org")
    there.classes[1]["metadata"]["annotations"] = {module.DEFAULT_CLASS: "true"}
    assert (
        module.planned(options(expose="ingress=x.org"), there)["objects"][-1]["spec"]["ingressClassName"] == "traefik"
    )


def test_a_node_port_is_asked_for_and_taken_back() -> None:
    def kind(**of: Any) -> str:
        return str(module.planned(options(**of), Kubectl())["objects"][-1]["spec"]["type"])

    assert (kind(expose="nodeport"), kind()) == ("NodePort", "ClusterIP")


def test_what_is_deployed_before_it_counts_as_if_it_was_there() -> None:
    first = module.planned(options(), Kubectl())
    second = module.planned(options("open-webui", beside=[first]), Kubectl())
    assert second["node"] == "nuc1"
    there = Kubectl()
    there.nodes = [node("orin1", 5.4, gpus=1)]
    first = module.planned(options(), there)
    alone = module.planned(options("open-webui", beside=[{**first, "node": "other"}]), there)
    beside = module.planned(options("open-webui", beside=[first]), there)
    assert alone["free_mib"] - beside["free_mib"] == first["request_mib"]
    said = refused(there, beside=[{**first, "name": "other"}])
    assert "all 1 of its nvidia.com/gpu are in use, by workloads/other-0" in said


def test_a_namespace_of_somebody_else_is_left_as_it_is() -> None:
    def kinds(**objects: Any) -> list[str]:
        return [one["kind"] for one in module.planned(options(), Kubectl(**objects))["objects"]]

    theirs = {"metadata": {"labels": {"team": "vision"}}}
    ours = {"metadata": {"labels": {"app.kubernetes.io/managed-by": "edgectl"}}}
    assert kinds() == kinds(namespace__workloads=ours) == ["Namespace", "Deployment", "Service"]
    assert kinds(namespace__workloads=theirs) == ["Deployment", "Service"]


def test_without_a_gpu_its_image_is_that_of_the_cpu_wherever_it_runs() -> None:
    plan = module.planned(options(cpu=True, node="orin1"), Kubectl())
    (container,) = plan["objects"][1]["spec"]["template"]["spec"]["containers"]
    assert "limits" not in container["resources"]
    assert "JETSON_JETPACK" not in [variable["name"] for variable in container["env"]]


def test_what_others_measured_is_told_for_that_board_and_model_only() -> None:
    boards = {"board": "Orin NX 16 GB"}
    hosts = {**options()["hosts"], "orin2": {**HOSTS["jetson"], **boards}}

    def told(model: str, **of: Any) -> Any:
        return module.planned(options(hosts=hosts, node="orin2", parameters={"model": model}, **of), Kubectl())[
            "expected"
        ]

    assert (told("qwen3:4b")["tokens_per_s"], told("qwen3:4b")["board"]) == (16, "Orin NX 16 GB")
    assert told("deepseek-r1:1.5b") == told("qwen3:4b", cpu=True) == {}
    hosts["orin2"]["simulated"] = "lab"
    assert told("qwen3:4b") == {}


def test_another_kind_of_the_same_name_stands_in_its_way() -> None:
    job = {**pod("ollama", "orin1"), "kind": "Job"}
    assert "ollama is there already, as a Job: edgectl undeploy ollama first" in refused(Kubectl(job))
    made_by_it = {**job, "kind": "Pod", "metadata": {**job["metadata"], "ownerReferences": [{"uid": "u"}]}}
    assert module.planned(options(), Kubectl(made_by_it))["node"] == "orin2"


@pytest.mark.parametrize(("wanted", "words"), [(2, ""), (4, "it offers 1 nvidia.com/gpu, and 4 are wanted")])
def test_several_gpus_are_counted(wanted: int, words: str) -> None:
    entry = {**catalogue.find("ollama").data, "needs": {"gpu": "required", "memory_mib": 1, "gpus": wanted}}
    if not words:
        assert module.planned(options(entry=entry), Kubectl())["node"] == "orin1"
        held = refused(Kubectl(pod("other", "orin1", gpus=3)), entry=entry)
        assert "orin1: 1 of its 4 nvidia.com/gpu are left, and 2 are wanted" in held
        return
    assert words in refused(Kubectl(), entry=entry, node="orin2")


def test_a_job_has_no_data_and_goes_where_there_is_room() -> None:
    entry = catalogue.find("nanoowl").data
    there = Kubectl(**{"job__nanoowl": on("orin1")})
    assert module.planned(options("nanoowl"), there)["node"] == "orin2"
    kept = {**entry, "volumes": [{"name": "data", "path": "/data"}]}
    assert module.planned(options("nanoowl", entry=kept), there)["node"] == "orin1"


def test_an_image_that_is_brought_is_there_for_its_architecture_too() -> None:
    kubectl = Kubectl()
    kubectl.nodes = [node("orin1", 15, gpus=1, arch="amd64")]
    said = refused(kubectl, **options("jupyterlab"))
    assert "there is no image for jetson with L4T 36.4.3 on amd64" in said
    image = "docker.io/dustynv/jupyterlab:r36.4.0"
    brought = options("jupyterlab", brought={image: ["amd64"]})
    assert module.planned(brought, kubectl)["image"] == image
    assert "no image" in refused(kubectl, **options("jupyterlab", brought={image: ["arm64"]}))
