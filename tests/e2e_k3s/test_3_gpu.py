"""The simulated Jetson's GPU on k3s: in the containerd that k3s configures, offered, shared, proved."""

from __future__ import annotations

from tests.e2e.cluster import Cluster
from tests.e2e.test_2b_gpu import (
    NODE,
    five_pods,
    test_a_changed_number_of_shares_is_in_force_when_the_run_ends,
    test_after_a_reboot_four_pods_use_the_gpu_again_and_none_is_left_failed,
    test_fewer_shares_than_pods_hold_are_refused_and_nothing_is_changed,
    test_four_pods_use_the_gpu_and_the_fifth_waits_for_one,
    test_the_gpu_is_proved_by_pods_and_everything_of_that_is_removed,
    test_the_jetson_offers_its_gpu_as_often_as_the_inventory_says,
)

__all__ = [
    "five_pods",
    "test_a_changed_number_of_shares_is_in_force_when_the_run_ends",
    "test_after_a_reboot_four_pods_use_the_gpu_again_and_none_is_left_failed",
    "test_fewer_shares_than_pods_hold_are_refused_and_nothing_is_changed",
    "test_four_pods_use_the_gpu_and_the_fifth_waits_for_one",
    "test_the_gpu_is_proved_by_pods_and_everything_of_that_is_removed",
    "test_the_jetson_offers_its_gpu_as_often_as_the_inventory_says",
]


def test_nvidias_runtime_is_in_the_containerd_that_k3s_configures_where_there_is_a_gpu(cluster: Cluster) -> None:
    config = "cat /var/lib/rancher/k3s/agent/etc/containerd/config.toml"
    assert "/usr/bin/nvidia-container-runtime" in cluster.ssh(NODE, config)
    assert "nvidia" not in cluster.ssh("nuc2", config)


def test_there_is_one_runtime_class_and_k3s_has_made_it(cluster: Cluster) -> None:
    made = cluster.get("runtimeclass", "nvidia", "--show-managed-fields")
    managers = {entry["manager"] for entry in made["metadata"]["managedFields"]}
    assert not any("edgectl" in manager for manager in managers), managers
