"""The boards that edgectl has recordings of, from the checks to what the role asks of the cluster, by real Ansible."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from edgectl.recording import catalogue
from tests.unit.ansible_playbook import run
from tests.unit.checks.conftest import OPTIONS
from tests.unit.kubeadm.conftest import plugin

# isort: split
from edgectl_checks import run_checks

gpu = plugin("filter/edgectl_gpu.py")
BOARDS = {"thor": "thor-jp7", "orin": "orin-nano-jp5.1"}
KEY = "nvapi-0123456789abcdefghijklmnop_-"
# Keeps what it is told and has nothing; what is applied is there afterwards.
KUBECTL = """\
import json, sys
from pathlib import Path

place = Path(__file__).with_name("said.json")
said = json.loads(place.read_text()) if place.exists() else []
text = sys.stdin.read() if "--filename=-" in sys.argv else ""
said.append({"command": sys.argv[1:], "documents": json.loads(text)["items"] if text else []})
place.write_text(json.dumps(said))
if sys.argv[1] == "apply":
    print(text)
"""


@pytest.fixture(scope="module")
def documents() -> dict[str, dict[str, Any]]:
    return {name: catalogue.load(recording).replay() for name, recording in BOARDS.items()}


@pytest.mark.parametrize(
    ("name", "product", "capability", "family", "memory"),
    [("thor", "Thor", "11.0", "undefined", "125952"), ("orin", "Orin", "8.7", "ampere", "7168")],
)
@pytest.mark.parametrize("replicas", [None, 3])
def test_a_board_is_described_by_its_labels(
    documents: Any, name: str, product: str, capability: str, family: str, memory: str, replicas: int | None
) -> None:
    made = gpu.profile(documents[name], {"mode": "time-slicing", "replicas": replicas} if replicas else {})
    labels = {key.removeprefix("nvidia.com/"): value for key, value in made["labels"].items()}
    assert made["expected"] == int(labels["gpu.replicas"]) == (replicas or 1)
    assert made["name"] == labels["device-plugin.config"] == ("jetson-time-slicing-3" if replicas else "jetson")
    assert labels["gpu.product"] == product + ("-SHARED" if replicas else "")
    assert labels["gpu.compute.major"] + "." + labels["gpu.compute.minor"] == capability
    assert (labels["gpu.family"], labels["gpu.memory"], labels["gpu.count"]) == (family, memory, "1")
    assert made["config"]["flags"]["deviceDiscoveryStrategy"] == "tegra"


@pytest.mark.parametrize(
    ("name", "replicas", "fix"),
    [
        ("orin", 8, "replicas: 3"),
        ("orin", 4, "replicas: 3"),
        ("orin", 3, ""),
        ("thor", 8, ""),
        ("thor", 99, "replicas: 61"),
    ],
)
def test_more_shares_than_fit_in_a_boards_memory_are_warned_of_with_the_number_that_does(
    documents: Any, name: str, replicas: int, fix: str
) -> None:
    options = {**OPTIONS, "device_plugin_sharing": {"mode": "time-slicing", "replicas": replicas}}
    found = [one for one in run_checks({name: documents[name]}, {name: options}) if one.layer == "gpu"]
    assert [(one.id, one.severity) for one in found] == ([("G-SHARING-MEMORY", "warning")] if fix else [])
    assert all(fix in one.fix for one in found)


class Role:
    """Task files of role device_plugin on the two boards, with a kubectl that only writes down what it is told."""

    def __init__(self, place: Path, documents: dict[str, dict[str, Any]]) -> None:
        self.place, self.documents = place, documents
        self.kubectl = [sys.executable, "-IS", str(place / "kubectl.py")]
        (place / "kubectl.py").write_text(KUBECTL)

    def __call__(
        self, *files: str, hosts: dict[str, dict[str, Any]], options: tuple[str, ...] = (), kubectl: str = ""
    ) -> subprocess.CompletedProcess[str]:
        local = {
            "ansible_connection": "local",
            "ansible_become": False,
            "ansible_python_interpreter": sys.executable,
        }
        workers = {name: {"recorded": self.documents[name], **values} for name, values in hosts.items()}
        groups = {"control_plane": {"hosts": {"nuc1": {}}}, "workers": {"hosts": workers}}
        inventory = self.place / "hosts.yml"
        inventory.write_text(yaml.safe_dump({"all": {"vars": local, "children": groups}}))
        known = {"ansible.builtin.set_fact": {"edgectl": "{{ recorded }}", "cacheable": True}}
        included = [{"name": "device_plugin", "tasks_from": f"{file}.yml"} for file in files]
        tasks = [known, *({"ansible.builtin.include_role": one} for one in included)]
        play = {"hosts": "workers", "gather_facts": False, "roles": [{"role": "cluster"}], "tasks": tasks}
        asked = {"__cluster_control_plane": "nuc1", "__cluster_kubectl": [kubectl] if kubectl else self.kubectl}
        return run(inventory, [play], *options, "-e", json.dumps(asked))

    def said(self) -> list[dict[str, Any]]:
        file = self.place / "said.json"
        found: list[dict[str, Any]] = json.loads(file.read_text()) if file.exists() else []
        return found


@pytest.fixture
def role(tmp_path: Path, documents: Any) -> Role:
    return Role(tmp_path, documents)


def test_a_plan_before_there_is_a_cluster_tells_what_each_board_will_be(role: Role) -> None:
    wanted = {
        "device_plugin_sharing": {"mode": "time-slicing", "replicas": 3},
        "device_plugin_taint": True,
        "device_plugin_quotas": {"research": 2},
    }
    done = role(
        *("preflight", "offer", "namespaces"),
        hosts={"thor": wanted, "orin": wanted},
        options=("--check", "--diff"),
        kubectl="/nowhere/kubectl",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for words in ("RuntimeClass nvidia", "jetson-time-slicing-3", "Thor-SHARED", "Orin-SHARED", "research/edgectl-gpu"):
        assert words in done.stdout, words


def test_what_a_board_or_a_namespace_cannot_have_is_refused_by_the_role_itself(role: Role) -> None:
    mps = {"device_plugin_sharing": {"mode": "mps", "replicas": 4}}
    done = role("preflight", hosts={"thor": mps, "orin": {"device_plugin_ngc_namespaces": ["vision"]}})
    assert done.returncode != 0
    said = " ".join(done.stdout.split())
    assert "thor: a Jetson's GPU can't be shared by mps" in said
    assert "device_plugin_ngc_namespaces names vision, and device_plugin_ngc_key is empty" in said
    assert role.said() == []


def test_the_key_of_nvidias_registry_is_on_no_command_line_and_in_nothing_that_is_printed(role: Role) -> None:
    given = {"device_plugin_ngc_key": KEY, "device_plugin_ngc_namespaces": ["vision"]}
    done = role("preflight", "namespaces", hosts={"orin": given}, options=("--diff", "-vvv"))
    assert done.returncode == 0, done.stdout + done.stderr
    applied = [one for said in role.said() if said["command"][0] == "apply" for one in said["documents"]]
    assert [one["kind"] for one in applied] == ["Namespace", "Secret"]
    config = applied[1]["data"][".dockerconfigjson"]
    (login,) = json.loads(base64.b64decode(config))["auths"].values()
    assert login["password"] == KEY
    commands = json.dumps([one["command"] for one in role.said()])
    for secret in (KEY, login["auth"], config):
        assert secret not in done.stdout + done.stderr
        assert secret not in commands
