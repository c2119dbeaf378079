"""The stand-in for k3s: how its one file is packed, and the lab's inventory for it."""

from __future__ import annotations

import json
import subprocess
import zipfile
from pathlib import Path

import yaml

from edgectl.lab import inventory, k3s
from edgectl.lab.machine import Traits
from edgectl.lab.record import Lab

TRAITS = Traits(cgroup_version=1, can_raise_limits=False, max_open_files=1024, max_processes=1024)


def test_what_it_brings_along_lies_behind_a_program_that_still_runs(tmp_path: Path) -> None:
    (tmp_path / "program").write_text("#!/bin/sh\necho runs\nexit\n")
    (tmp_path / "containerd").write_bytes(b"content")
    target = tmp_path / "k3s"
    k3s._pack(tmp_path / "program", [tmp_path / "containerd"], target)
    assert subprocess.run([target], capture_output=True, text=True, check=True).stdout == "runs\n"
    with zipfile.ZipFile(target) as archive:
        assert archive.read("containerd") == b"content"


def test_it_says_which_release_of_kubernetes_it_stands_for() -> None:
    assert k3s.version() == "v1.35.4+k3s1"


def test_an_option_stands_once_in_the_list_of_those_that_k3s_knows() -> None:
    keys = yaml.safe_load((k3s.source() / "keys.yml").read_text())
    known = keys["agent"].split() + keys["server"].split()
    assert len(known) == len(set(known))
    assert set(keys["acts"].split()) <= set(known)


def test_the_labs_inventory_asks_for_k3s_where_the_artifacts_have_it(tmp_path: Path) -> None:
    def variables(name: str) -> dict[str, object]:
        (tmp_path / "manifest.json").write_text(json.dumps({"files": [{"name": name}]}))
        made: dict[str, object] = yaml.safe_load(
            inventory.group_vars(Lab("lab", "10.213.1.0/24", ""), TRAITS, tmp_path)
        )
        return made

    asked = variables("k3s")
    assert asked["cluster_distribution"] == "k3s"
    assert asked["k3s_kubelet_config"] == {
        "failSwapOn": False,
        "failCgroupV1": False,
        "featureGates": {"KubeletInUserNamespace": True},
    }
    assert not any(key.startswith(("kubeadm_", "containerd_")) for key in asked)
    assert not any(key.startswith(("k3s_", "cluster_distribution")) for key in variables("kubelet"))
