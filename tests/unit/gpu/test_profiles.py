"""How a host's GPU is to be advertised, and from which repository its toolkit comes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.kubeadm.conftest import plugin

gpu = plugin("filter/edgectl_gpu.py")

ORIN = {
    "jetson": {"l4t": "36.4.3", "soc": "orin"},
    "gpus": [{"kind": "integrated", "name": None}],
    "memory": {"total_kib": 15728640},
}
TWO_CARDS = {
    "jetson": None,
    "gpus": [{"kind": "pci", "name": "NVIDIA GeForce RTX 4090"}, {"kind": "pci", "name": "NVIDIA GeForce RTX 4090"}],
}


def test_a_jetson_is_never_left_to_the_plugins_own_detection() -> None:
    made = gpu.profile(ORIN, {"mode": "none"})
    assert made["name"] == "jetson"
    assert made["config"]["flags"]["deviceDiscoveryStrategy"] == "tegra"
    assert made["config"]["flags"]["plugin"]["deviceIDStrategy"] == "index"
    assert "sharing" not in made["config"], "replicas of 1 would end the plugin"
    assert made["expected"] == 1


def test_time_slicing_offers_a_gpu_as_often_as_is_asked() -> None:
    made = gpu.profile(ORIN, {"mode": "time-slicing", "replicas": "4"})
    assert made["name"] == "jetson-time-slicing-4"
    assert made["config"]["sharing"]["timeSlicing"]["resources"] == [{"name": "nvidia.com/gpu", "replicas": 4}]
    assert made["expected"] == 4
    assert made["labels"]["nvidia.com/gpu.product"] == "Orin-SHARED"
    assert made["labels"]["nvidia.com/gpu.replicas"] == "4"
    assert made["labels"]["nvidia.com/gpu.memory"] == "15360"
    assert made["labels"]["nvidia.com/gpu.compute.major"] == "8"


def test_a_renamed_resource_is_expected_by_its_new_name() -> None:
    made = gpu.profile(ORIN, {"mode": "time-slicing", "replicas": 2, "rename_by_default": True})
    assert made["resource"] == "nvidia.com/gpu.shared"
    assert made["labels"]["nvidia.com/gpu.product"] == "Orin"
    assert made["name"] != gpu.profile(ORIN, {"mode": "time-slicing", "replicas": 2})["name"]


def test_discrete_gpus_are_counted_and_left_to_the_plugins_detection() -> None:
    made = gpu.profile(TWO_CARDS, {"mode": "time-slicing", "replicas": 3})
    assert made["expected"] == 6
    assert "deviceDiscoveryStrategy" not in made["config"]["flags"]
    assert made["labels"]["nvidia.com/gpu.product"] == "NVIDIA-GeForce-RTX-4090-SHARED"
    assert made["labels"]["nvidia.com/gpu.count"] == "2"


def test_a_gpu_that_is_given_to_virtual_machines_is_not_counted() -> None:
    given = {**TWO_CARDS, "gpus": [TWO_CARDS["gpus"][0], {**TWO_CARDS["gpus"][1], "kernel_driver": "vfio-pci"}]}
    assert gpu.profile(given, {"mode": "none"})["expected"] == 1


def test_how_many_partitions_there_are_is_for_the_plugin_to_say() -> None:
    made = gpu.profile(TWO_CARDS, {"mode": "mig", "mig_strategy": "mixed"})
    assert made["config"]["flags"]["migStrategy"] == "mixed"
    assert made["expected"] is None


@pytest.mark.parametrize("sharing", [{}, {"mode": "none"}, {"mode": "mps", "replicas": 2}])
def test_every_label_is_one_that_kubernetes_takes(sharing: dict[str, Any]) -> None:
    odd = {"jetson": None, "gpus": [{"kind": "pci", "name": "NVIDIA (strange) Name, 80 GB " + "x" * 60}]}
    for value in gpu.profile(odd, sharing)["labels"].values():
        assert len(value) <= 63
        assert value[:1].isalnum()
        assert value[-1:].isalnum()


@pytest.mark.parametrize(
    ("sharing", "platform", "said"),
    [
        ({}, "jetson", ""),
        ({"mode": "time-slicing", "replicas": "2"}, "jetson", ""),
        ({"mode": "mig"}, "dgpu", ""),
        ({"mode": "mps", "replicas": 2}, "dgpu", "sharing by mps needs NVIDIA's control daemon"),
        ({"mode": "mps", "replicas": 2}, "jetson", "a Jetson's GPU can't be shared by mps"),
        ({"mode": "mig"}, "jetson", "a Jetson's GPU can't be shared by mig"),
        ({"mode": "time-slicing", "replicas": 1}, "jetson", "needs replicas of 2 or more, and has 1"),
        ({"mode": "time-slicing", "replicas": "many"}, "dgpu", "needs replicas of 2 or more, and has many"),
        ({"replicas": 4}, "dgpu", "replicas mean nothing with mode none"),
    ],
)
def test_a_way_of_sharing_that_cannot_be_is_told_with_what_to_write(
    sharing: dict[str, Any], platform: str, said: str
) -> None:
    told = gpu.sharing_mistake(sharing, platform)
    assert said in told
    assert ("device_plugin_sharing: {mode: " in told) is bool(said)


def test_mps_has_its_daemon_with_nvidias_chart() -> None:
    assert gpu.sharing_mistake({"mode": "mps", "replicas": 2}, "dgpu", "chart") == ""


MADISON = """\
 nvidia-container-toolkit |   1.20.0-1 | https://nvidia.github.io/libnvidia-container/stable/deb/arm64  Packages
 nvidia-container-toolkit |   1.16.2-1 | https://repo.download.nvidia.com/jetson/common r36.4/main arm64 Packages
 nvidia-container-toolkit |   1.14.2-1 | https://repo.download.nvidia.com/jetson/common r36.4/main arm64 Packages
 nvidia-container |   6.2+b77 | https://repo.download.nvidia.com/jetson/common r36.4/main arm64 Packages
"""
JETSON_LIST = """\
# commented: deb https://nvidia.github.io/libnvidia-container/stable/deb/arm64 /
deb https://repo.download.nvidia.com/jetson/common r36.4 main
deb [signed-by=/x.asc] https://repo.download.nvidia.com/jetson/t234 r36.4 main
"""


def test_the_boards_own_repository_decides_the_version_though_another_has_a_newer_one() -> None:
    assert gpu.offered(MADISON, JETSON_LIST) == {"nvidia-container-toolkit": "1.16.2-1", "nvidia-container": "6.2+b77"}
    assert gpu.offered(MADISON, "") == {}
