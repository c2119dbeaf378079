"""verify_gpu.yml, with real Ansible and a kubectl of the tests' own on this machine."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from edgectl import content
from tests.unit.ansible_playbook import run
from tests.unit.gpu.test_gpu_verify import Cluster

PLAYS: list[dict[str, Any]] = yaml.safe_load(content.playbook("verify_gpu").read_text())
LOCAL = {"ansible_connection": "local", "ansible_become": False, "ansible_python_interpreter": sys.executable}
HOSTS = {"control_plane": {"hosts": {"nuc1": {}}}, "workers": {"hosts": {"orin1": {}}}}


@pytest.fixture
def variables(tmp_path: Path) -> dict[str, Any]:
    """What the roles find out otherwise."""
    return {
        "__cluster_has_gpu": "{{ inventory_hostname == 'orin1' }}",
        "__cluster_platform": "jetson",
        "__cluster_kubectl": [sys.executable, "-IS", str(tmp_path / "kubectl.py")],
        "__cluster_control_plane": "nuc1",
        "__device_plugin_profile": {"resource": "nvidia.com/gpu", "expected": 2},
        "device_plugin_check_image": "docker.io/library/python:3.13-slim-trixie",
        "device_plugin_runtime_class": "nvidia",
    }


@pytest.fixture
def inventory(tmp_path: Path) -> Path:
    file = tmp_path / "hosts.yml"
    file.write_text(yaml.safe_dump({"all": {"vars": LOCAL, "children": {"cluster": {"children": HOSTS}}}}))
    return file


def verified(inventory: Path, variables: dict[str, Any]) -> tuple[int, list[dict[str, Any]]]:
    """Exit code, and what the summary has."""
    play = {**PLAYS[1], "tasks": [task for task in PLAYS[1]["tasks"] if "edgectl_lock" not in task]}
    done = run(inventory, [play], "-e", json.dumps(variables))
    _, _, text = done.stdout.partition('"edgectl_summary": ')
    assert text, done.stdout + done.stderr
    summary, _ = json.JSONDecoder().raw_decode(text)
    return done.returncode, summary["gpus"]


def test_the_host_with_a_gpu_is_verified_and_told(inventory: Path, variables: dict[str, Any], tmp_path: Path) -> None:
    cluster = Cluster(tmp_path)
    code, (gpu,) = verified(inventory, variables)
    assert code == 0
    assert (gpu["node"], gpu["ran"], gpu["extra_pending"], gpu["problems"]) == ("orin1", 2, True, [])
    assert not {"invocation", "msg", "failed"} & set(gpu)
    applied = [line for line in cluster["said"] if line.startswith("apply")]
    assert len(applied) == 1
    assert cluster.clean


def test_a_gpu_that_is_not_proved_is_told_too_and_fails_the_run_and_what_ran_stays(
    inventory: Path, variables: dict[str, Any], tmp_path: Path
) -> None:
    cluster = Cluster(tmp_path)
    cluster.put(fate="no image")
    code, (gpu,) = verified(inventory, variables)
    assert code == 2
    assert gpu["problems"][0]["what"].endswith("its image can't be had")
    program = content.root() / "roles" / "device_plugin" / "files" / "gpu_check.py"
    assert cluster["frame"]["ConfigMap"]["data"]["gpu_check.py"].strip() == program.read_text().strip()
