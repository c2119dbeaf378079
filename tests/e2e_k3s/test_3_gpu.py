"""The simulated Jetson's GPU on k3s: in the containerd that k3s configures, offered, shared, proved."""

from __future__ import annotations

import json

from tests.e2e.cluster import Cluster, edgectl, wait_for
from tests.e2e.test_2b_gpu import (
    NODE,
    five_pods,
    phases,
    test_after_a_reboot_four_pods_use_the_gpu_again_and_none_is_left_failed,
    test_four_pods_use_the_gpu_and_the_fifth_waits_for_one,
    test_the_jetson_offers_its_gpu_as_often_as_the_inventory_says,
)

__all__ = [
    "five_pods",
    "test_after_a_reboot_four_pods_use_the_gpu_again_and_none_is_left_failed",
    "test_four_pods_use_the_gpu_and_the_fifth_waits_for_one",
    "test_the_jetson_offers_its_gpu_as_often_as_the_inventory_says",
]


def test_pods_prove_the_gpu_and_everything_of_that_is_removed(cluster: Cluster, five_pods: Cluster) -> None:
    five_pods.kubectl("delete", "deployment", "gpu", "--wait=true")
    wait_for("its pods to go", lambda: not phases(five_pods))
    proved = edgectl("verify", "gpu", str(cluster.inventory), "--json")
    (node,) = json.loads(proved.stdout.splitlines()[-1])["summary"]["gpus"]
    assert (node["node"], node["allocatable"], node["extra_pending"], node["simulated"]) == (NODE, 4, True, True)
    assert node["ran"] == 4
    assert "edgectl-verify" not in cluster.kubectl("get", "namespaces")


def test_nvidias_runtime_is_in_the_containerd_that_k3s_configures_where_there_is_a_gpu(cluster: Cluster) -> None:
    config = "cat /var/lib/rancher/k3s/agent/etc/containerd/config.toml"
    assert "/usr/bin/nvidia-container-runtime" in cluster.ssh(NODE, config)
    assert "nvidia" not in cluster.ssh("nuc2", config)


def test_there_is_one_runtime_class_and_k3s_has_made_it(cluster: Cluster) -> None:
    made = cluster.get("runtimeclass", "nvidia", "--show-managed-fields")
    managers = {entry["manager"] for entry in made["metadata"]["managedFields"]}
    assert not any("edgectl" in manager for manager in managers), managers
