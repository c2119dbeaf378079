"""What the tables mean for a host: the recorded boards, kernels that say more than the table, and odd machines."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import pytest

from edgectl.compat.verdict import HostVerdict, Judged, first_refused, verdicts
from edgectl.recording import catalogue

from .conftest import board

NEEDS_MORE_THAN_TEGRA = {
    "wireguard_kernel", "flannel_wireguard", "kube_proxy_ipvs", "kube_proxy_nftables", "iptables_nft",
    "network_policy", "calico", "cilium", "eks_hybrid",
}  # fmt: skip


@dataclass(frozen=True)
class Expected:
    """What is to be said about a recorded board."""

    level: str
    release: str | None = None
    line: str | None = None
    impossible: frozenset[str] = frozenset()
    cgroup_below: str | None = None


BOARDS = {
    "nuc-ubuntu24.04": Expected("supported"),
    "pc-gpu-debian12": Expected("supported"),
    "turing-rk1": Expected("supported"),
    "orin-nx-jp6.2": Expected(
        "supported", "6.2", "R36.4", frozenset(NEEDS_MORE_THAN_TEGRA | {"docker_28", "policy_routing"})
    ),
    "thor-jp7": Expected(
        "best effort", "7.0", "R38/R39", frozenset(NEEDS_MORE_THAN_TEGRA | {"docker_28", "policy_routing"})
    ),
    "orin-nano-jp5.1": Expected("best effort", "5.1.2", "R35", frozenset(NEEDS_MORE_THAN_TEGRA), "1.35"),
}


def feature(verdict: HostVerdict, name: str) -> Judged:
    return next(one for one in verdict.features if one.feature.id == name)


def orin(**kernel: Any) -> dict[str, Any]:
    """The recorded Orin NX with another kernel section."""
    document = copy.deepcopy(board("orin-nx-jp6.2"))
    document["kernel"] |= kernel
    return document


def silent(**kernel: Any) -> dict[str, Any]:
    """The same, whose kernel tells nothing."""
    return orin(**{"config": None, "module_available": {}, "tun": False} | kernel)


def test_every_recording_that_is_shipped_has_its_verdict_here() -> None:
    assert set(BOARDS) == set(catalogue.names())


@pytest.mark.parametrize("name", BOARDS)
def test_a_recorded_board_is_judged_by_its_own_kernel(name: str) -> None:
    expected, said = BOARDS[name], verdicts(board(name))
    assert said.level == expected.level
    assert (said.release and said.release.jetpack) == expected.release
    assert (said.line and said.line.name) == expected.line
    assert {one.feature.id for one in said.features if one.possible is False} == expected.impossible
    assert {one.possible for one in said.features} <= {True, False}
    assert {one.read_from for one in said.features} == {"kernel"}
    assert said.runtime.cgroup_below == expected.cgroup_below


@pytest.mark.parametrize("name", [name for name, expected in BOARDS.items() if expected.line])
def test_the_table_comes_to_the_same_as_the_board_when_the_board_says_nothing(name: str) -> None:
    document = copy.deepcopy(board(name))
    document["kernel"] |= {"config": None, "module_available": {}, "tun": False}
    said = verdicts(document)
    assert said.read_from == "table"
    assert {one.feature.id for one in said.features if one.possible is False} == BOARDS[name].impossible
    assert {one.read_from for one in said.features} == {"table"}


def test_a_kernel_built_with_more_than_nvidias_wins_over_the_table() -> None:
    stock = board("orin-nx-jp6.2")["kernel"]["config"]
    more = ("IP_SET", "NETFILTER_XT_SET", "IP_NF_RAW", "IP_NF_MATCH_RPFILTER", "IP_ADVANCED_ROUTER",
            "IP_MULTIPLE_TABLES")  # fmt: skip
    said = verdicts(orin(config=stock | {f"CONFIG_{option}": "m" for option in more}))
    assert feature(said, "calico").possible is True
    assert feature(said, "calico").read_from == "kernel"
    assert feature(said, "eks_hybrid").possible is True
    assert feature(said, "cilium").missing == ("NET_CLS_BPF",)


def test_a_kernel_built_with_less_than_nvidias_wins_over_the_table() -> None:
    stock = dict(board("orin-nx-jp6.2")["kernel"]["config"])
    del stock["CONFIG_VETH"]
    said = verdicts(orin(config=stock))
    assert feature(said, "flannel_vxlan").missing == ("VETH",)
    assert feature(said, "pod_network").why == "lacks VETH"


def test_a_module_that_was_built_later_counts_although_the_kernel_was_built_without_it() -> None:
    available = board("orin-nx-jp6.2")["kernel"]["module_available"]
    said = verdicts(orin(module_available=available | {"wireguard": True}))
    assert feature(said, "wireguard_kernel").possible is True
    assert feature(said, "flannel_wireguard").possible is True


def test_what_a_silent_kernels_modules_tell_wins_and_the_rest_is_the_tables() -> None:
    said = verdicts(silent(module_available={"wireguard": True, "vxlan": False}))
    assert (feature(said, "wireguard_kernel").possible, feature(said, "wireguard_kernel").read_from) == (True, "kernel")
    assert (feature(said, "flannel_vxlan").missing, feature(said, "flannel_vxlan").read_from) == (("VXLAN",), "kernel")
    assert (feature(said, "flannel_host_gw").possible, feature(said, "flannel_host_gw").read_from) == (True, "table")


def test_where_neither_kernel_nor_table_tells_nothing_is_claimed() -> None:
    document = silent()
    document["jetson"]["l4t"] = "36.3.0"
    said = verdicts(document)
    assert said.level == "best effort"
    assert {(one.possible, one.read_from) for one in said.features} == {(None, "nothing")}
    assert "IP_SET" in feature(said, "calico").why
    assert feature(said, "eks_hybrid").why == "not known: Calico or Cilium"


def test_what_a_table_knows_to_be_missing_forbids_although_the_rest_is_unknown() -> None:
    document = silent()
    document["jetson"]["l4t"] = "36.2.0"
    said = verdicts(document)
    assert feature(said, "kube_proxy_iptables").why == "lacks NETFILTER_XT_MATCH_COMMENT"
    assert feature(said, "flannel_vxlan").possible is None


def test_eks_is_told_with_the_networks_that_it_would_need() -> None:
    why = feature(verdicts(board("orin-nx-jp6.2")), "eks_hybrid").why
    assert why == "neither Calico nor Cilium is possible"


def test_an_unknown_release_borrows_no_other_releases_kernel() -> None:
    document = silent()
    document["jetson"]["l4t"] = "40.1.0"
    said = verdicts(document)
    assert said.level == "unknown"
    assert "40.1.0" in said.why
    assert {one.possible for one in said.features} == {None}


def test_a_jetson_without_its_release_file_is_unknown() -> None:
    document = silent()
    document["jetson"] |= {"l4t": None, "jetpack": None}
    assert (verdicts(document).level, verdicts(document).release) == ("unknown", None)


@pytest.mark.parametrize(
    ("system", "arch", "level"),
    [
        ({"id": "debian", "version_id": "12"}, "aarch64", "supported"),
        ({"id": "ubuntu", "version_id": "20.04"}, "x86_64", "best effort"),
        ({"id": "debian", "version_id": "11"}, "x86_64", "refused"),
        ({"id": "fedora", "version_id": "42"}, "x86_64", "refused"),
        ({"id": "debian", "version_id": "12"}, "armv7l", "refused"),
        ({}, "x86_64", "unknown"),
    ],
)
def test_other_machines_are_judged_by_system_and_architecture(system: dict[str, str], arch: str, level: str) -> None:
    assert verdicts({"os": system, "kernel": {"arch": arch}}).level == level


def test_only_a_discrete_gpu_needs_a_driver_from_somewhere() -> None:
    card = {"kind": "pci", "bus": "0000:01:00.0", "name": "NVIDIA RTX A2000", "uuid": None, "driver": False}
    (gpu,) = verdicts(board("nuc-ubuntu24.04") | {"gpus": [card]}).gpus
    assert (gpu.name, gpu.loaded) == ("NVIDIA RTX A2000", False)
    assert [(row.cuda, row.driver) for row in gpu.drivers] == [("13", "580"), ("12", "525"), ("11", "450")]
    assert verdicts(board("orin-nx-jp6.2")).gpus == ()
    assert verdicts(board("thor-jp7")).gpus == ()


@pytest.mark.parametrize(
    ("driver", "runs"), [("580.95.05", ["13", "12", "11"]), ("550.54.15", ["12", "11"]), ("390.157", [])]
)
def test_a_driver_runs_the_cuda_releases_that_it_is_new_enough_for(driver: str, runs: list[str]) -> None:
    card = {"kind": "pci", "bus": "0000:01:00.0", "name": None, "uuid": None, "driver": True, "driver_version": driver}
    (gpu,) = verdicts(board("nuc-ubuntu24.04") | {"gpus": [card]}).gpus
    assert [row.cuda for row in gpu.drivers if gpu.runs(row)] == runs


@pytest.mark.parametrize(
    ("containerd", "refused"), [("2.0.0", None), ("2.3.4", None), ("1.7.24~ds1", "1.36"), ("1.5.9", "1.26")]
)
def test_containerd_limits_which_kubernetes_starts(containerd: str, refused: str | None) -> None:
    assert first_refused(containerd) == refused
    said = verdicts({"containerd": {"present": True, "version": containerd}}).runtime
    assert (said.containerd, said.containerd_below) == (containerd, refused)


def test_a_document_in_which_nothing_could_be_read_is_judged_too() -> None:
    said = verdicts(dict.fromkeys(("os", "kernel", "jetson", "gpus", "containerd", "cgroup", "lab")))
    assert said.level == "unknown"
    assert {one.possible for one in said.features} == {None}
