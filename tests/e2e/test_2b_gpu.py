"""The simulated Jetson's GPU, from the package to the pod: offered, shared, used, proved, and there after a reboot.

What is real and what is not: docs/lab.md. Runtime and device plugin are NVIDIA's, the GPU is pretended.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from edgectl.exitcodes import ExitCode
from tests.e2e.cluster import ROOT, Cluster, edgectl, wait_for

NODE = "orin1"
GPU = "nvidia.com/gpu"
IMAGE = "docker.io/library/python:3.13-slim-trixie"
LOOK = "; ".join(
    (
        "test -c /dev/nvhost-gpu && echo device",
        'python3 -c \'import ctypes; ctypes.CDLL("libcuda.so.1"); print("library")\'',
        "exec sleep 3600",
    )
)


NGC_KEY = "nvapi-of-the-end-to-end-tests-0123456789"
TAINT = {"key": GPU, "value": "present", "effect": "NoSchedule"}
EXAMPLES = ROOT / "examples" / "gpu"


def apply(cluster: Cluster, manifest: str) -> str:
    """A control plane's command."""
    return f"{cluster.admin} apply -f - <<'E'\n{manifest}\nE\n"


def offered(cluster: Cluster) -> str | None:
    value: str | None = cluster.get("node", NODE)["status"]["allocatable"].get(GPU)
    return value


def set_sharing(cluster: Cluster, **sharing: Any) -> None:
    file = cluster.inventory / "hosts.yml"
    hosts = yaml.safe_load(file.read_text())
    hosts["all"]["children"]["cluster"]["children"]["workers"]["hosts"][NODE]["device_plugin_sharing"] = sharing
    file.write_text(yaml.safe_dump(hosts, sort_keys=False))


def deployment(replicas: int) -> str:
    spec = {
        "runtimeClassName": "nvidia",
        "terminationGracePeriodSeconds": 0,
        "containers": [
            {
                "name": "gpu",
                "image": IMAGE,
                "imagePullPolicy": "Never",
                "command": ["sh", "-c", LOOK],
                "resources": {"limits": {GPU: "1"}},
            }
        ],
    }
    labels = {"app": "gpu"}
    return json.dumps(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "gpu"},
            "spec": {
                "replicas": replicas,
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": spec},
            },
        }
    )


def phases(cluster: Cluster) -> dict[str, list[str]]:
    """Phase -> names of the deployment's pods."""
    found: dict[str, list[str]] = {}
    for pod in cluster.get("pods", "-l", "app=gpu")["items"]:
        found.setdefault(pod["status"]["phase"], []).append(pod["metadata"]["name"])
    return found


def running(cluster: Cluster, count: int) -> bool:
    return len(phases(cluster).get("Running", [])) == count


@pytest.fixture(scope="module")
def five_pods(cluster: Cluster) -> Iterator[Cluster]:
    """A deployment that wants one GPU more than there are."""
    cluster.ssh("nuc1", apply(cluster, deployment(5)))
    wait_for("four pods to run", lambda: running(cluster, 4))
    yield cluster
    cluster.kubectl("delete", "deployment", "gpu", "--ignore-not-found", "--wait=true")
    wait_for("its pods to go", lambda: not phases(cluster))


def test_the_jetson_offers_its_gpu_as_often_as_the_inventory_says(cluster: Cluster) -> None:
    assert offered(cluster) == "4"
    labels = cluster.get("node", NODE)["metadata"]["labels"]
    assert labels["nvidia.com/gpu.product"] == "Orin-SHARED"
    assert labels["nvidia.com/gpu.replicas"] == "4"
    assert cluster.get("node", "nuc2")["status"]["allocatable"].get(GPU) is None


def test_nvidias_runtime_is_in_containerd_and_nothing_else_of_it_has_changed(cluster: Cluster) -> None:
    dump = cluster.ssh(NODE, "containerd config dump")
    assert "nvidia-container-runtime" in dump
    sandbox = [line.strip() for line in dump.splitlines() if "sandbox_image" in line]
    assert sandbox == [
        line.strip() for line in cluster.ssh("nuc2", "containerd config dump").splitlines() if "sandbox_image" in line
    ]
    assert "nvidia" not in cluster.ssh("nuc2", "containerd config dump")


def test_the_driver_packages_are_held_and_the_toolkit_is_the_boards_own(cluster: Cluster) -> None:
    held = cluster.ssh(NODE, "apt-mark showhold").split()
    assert "nvidia-l4t-core" in held
    assert cluster.ssh(NODE, "dpkg-query -W -f '${Version}' nvidia-container-toolkit").startswith("1.16.2")


def test_the_rules_of_kubernetes_are_in_the_tables_that_a_jetsons_kernel_has(cluster: Cluster) -> None:
    assert ":KUBE-" in cluster.ssh(NODE, "iptables-legacy-save")
    assert ":KUBE-" not in cluster.ssh(NODE, "iptables-nft-save")
    assert ":KUBE-" in cluster.ssh("nuc2", "iptables-nft-save")


def test_four_pods_use_the_gpu_and_the_fifth_waits_for_one(five_pods: Cluster) -> None:
    found = phases(five_pods)
    assert {phase: len(names) for phase, names in found.items()} == {"Running": 4, "Pending": 1}
    (waiting,) = found["Pending"]
    conditions = five_pods.get("pod", waiting)["status"]["conditions"]
    assert f"Insufficient {GPU}" in next(c["message"] for c in conditions if c["type"] == "PodScheduled")
    for name in found["Running"]:
        said = wait_for("its lines", lambda name=name: five_pods.kubectl("logs", name).split())
        assert said == ["device", "library"]
        # As the device plugin set it. For the container's first process the runtime has put `void` in its place.
        assert five_pods.kubectl("exec", name, "--", "printenv", "NVIDIA_VISIBLE_DEVICES").strip() == "0"


def test_fewer_shares_than_pods_hold_are_refused_and_nothing_is_changed(five_pods: Cluster) -> None:
    set_sharing(five_pods, mode="time-slicing", replicas=2)
    refused = five_pods.bootstrap("--limit", NODE, check=False)
    set_sharing(five_pods, mode="time-slicing", replicas=4)
    assert refused.returncode == ExitCode.FAILED
    assert "pods hold 4 of them" in " ".join((refused.stdout + refused.stderr).split())
    assert offered(five_pods) == "4"
    assert running(five_pods, 4)


def test_after_a_reboot_four_pods_use_the_gpu_again_and_none_is_left_failed(five_pods: Cluster) -> None:
    five_pods.kubectl("scale", "deployment", "gpu", "--replicas=4")
    edgectl("lab", "stop", "--name", five_pods.lab, NODE)
    edgectl("lab", "start", "--name", five_pods.lab, NODE)
    wait_for("four pods to run again", lambda: offered(five_pods) == "4" and running(five_pods, 4), 240)
    wait_for("no other pod to be left", lambda: set(phases(five_pods)) == {"Running"}, 120)


def test_a_workload_takes_every_share_and_who_wants_one_more_is_told_who_holds_them(five_pods: Cluster) -> None:
    five_pods.kubectl("delete", "deployment", "gpu", "--wait=true")
    wait_for("its pods to go", lambda: not phases(five_pods))
    inventory = str(five_pods.inventory)
    edgectl("deploy", "ollama", inventory, "--set", "model=lab-tiny", "--replicas", "4")
    pods = five_pods.get("pods", "-n", "workloads")["items"]
    assert [pod["status"]["containerStatuses"][0]["ready"] for pod in pods] == [True] * 4
    refused = edgectl("run", IMAGE, "-i", inventory, "--name", "fifth", check=False)
    assert refused.returncode == ExitCode.FAILED
    assert all(f"workloads/{pod['metadata']['name']}" in refused.stdout for pod in pods)
    assert f"edgectl undeploy ollama {inventory}" in refused.stdout
    edgectl("undeploy", "ollama", inventory, "--purge", "--yes")


def test_a_changed_number_of_shares_is_in_force_when_the_run_ends(cluster: Cluster, five_pods: Cluster) -> None:
    assert not phases(five_pods)
    for sharing, count in (({"mode": "time-slicing", "replicas": 2}, "2"), ({"mode": "none"}, "1")):
        set_sharing(cluster, **sharing)
        cluster.bootstrap("--limit", NODE)
        assert offered(cluster) == count
    plugins = cluster.get("daemonsets", "-n", "nvidia-device-plugin")["items"]
    assert [plugin["metadata"]["name"] for plugin in plugins] == ["nvidia-device-plugin-jetson"]


def test_the_gpu_is_proved_by_pods_and_everything_of_that_is_removed(cluster: Cluster) -> None:
    proved = edgectl("verify", "gpu", str(cluster.inventory), "--json")
    (node,) = json.loads(proved.stdout.splitlines()[-1])["summary"]["gpus"]
    assert (node["node"], node["allocatable"], node["ran"], node["extra_pending"]) == (NODE, 1, 1, True)
    assert node["simulated"] is True
    assert "edgectl-verify" not in cluster.kubectl("get", "namespaces")


def test_a_taint_a_label_a_quota_and_a_registrys_key_are_there_as_long_as_they_are_asked_for(cluster: Cluster) -> None:
    options = cluster.inventory / "group_vars" / "cluster.yml"
    options.write_text(
        yaml.safe_dump(
            {
                "device_plugin_taint": True,
                "device_plugin_quotas": {"research": 1},
                "device_plugin_ngc_key": NGC_KEY,
                "device_plugin_ngc_namespaces": ["research"],
                "cluster_node_labels": {"example.org/room": "cellar"},
            }
        )
    )
    done = cluster.bootstrap("--limit", NODE, "--verbose")
    assert NGC_KEY not in done.stdout + done.stderr
    assert TAINT in (cluster.get("node", NODE)["spec"].get("taints") or [])
    assert cluster.get("node", NODE)["metadata"]["labels"]["example.org/room"] == "cellar"
    secret = cluster.get("secret", "edgectl-ngc", "-n", "research")["data"][".dockerconfigjson"]
    assert json.loads(base64.b64decode(secret))["auths"]["nvcr.io"]["password"] == NGC_KEY
    edgectl("verify", "gpu", str(cluster.inventory))

    allowed = (EXAMPLES / "quota.yml").read_text().split("---")[-1]
    cluster.ssh("nuc1", apply(cluster, allowed))
    wait_for(
        "the pod to end well", lambda: cluster.get("pod", "gpu", "-n", "research")["status"]["phase"] == "Succeeded"
    )
    too_many = allowed.replace("nvidia.com/gpu: 1", "nvidia.com/gpu: 2").replace("name: gpu", "name: two")
    refused = cluster.ssh("nuc1", f"({apply(cluster, too_many)}) 2>&1 || true")
    assert "exceeded quota: edgectl-gpu" in refused
    spec = {"nodeSelector": {"kubernetes.io/hostname": NODE}, "containers": [{"name": "c", "image": IMAGE}]}
    plain = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "plain"}, "spec": spec}
    cluster.ssh("nuc1", apply(cluster, json.dumps(plain)))
    wait_for("the other pod to be kept away", lambda: "untolerated taint" in json.dumps(cluster.get("pod", "plain")))
    cluster.kubectl("delete", "pod", "plain", "--wait=true")

    options.unlink()
    cluster.bootstrap("--limit", NODE)
    assert TAINT not in (cluster.get("node", NODE)["spec"].get("taints") or [])
    assert "example.org/room" not in cluster.get("node", NODE)["metadata"]["labels"]
    assert "edgectl" not in cluster.kubectl("get", "resourcequotas,secrets", "-n", "research", "-o", "name")
    cluster.kubectl("delete", "namespace", "research")


def test_a_form_of_sharing_that_a_jetson_does_not_have_is_refused_before_anything_is_changed(cluster: Cluster) -> None:
    set_sharing(cluster, mode="mps", replicas=4)
    refused = cluster.bootstrap("--limit", NODE, check=False)
    set_sharing(cluster, mode="none")
    assert refused.returncode != 0
    assert "a Jetson's GPU can't be shared by mps" in refused.stdout + refused.stderr
    assert offered(cluster) == "1"
