"""The playbooks read as tables of contents, and stop where they must."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from edgectl import content
from tests.unit.ansible_playbook import output

WIREGUARD = content.root() / "roles" / "wireguard" / "tasks"
PHASES = ["Preflight", "Enrol", "Machine", "Network", "Driver", "Runtime", "Cluster", "GPU", "Verify"]


def plays(name: str) -> list[dict[str, Any]]:
    return yaml.safe_load(content.playbook(name).read_text())


def included(play: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """(kind, name) of each include in a play, in order."""
    for task in play["tasks"]:
        if "ansible.builtin.include_role" in task:
            yield "role", task["ansible.builtin.include_role"]["name"]
        elif "ansible.builtin.import_role" in task:
            yield "role", task["ansible.builtin.import_role"]["name"]
        elif "ansible.builtin.include_tasks" in task:
            yield "tasks", task["ansible.builtin.include_tasks"]
        elif "ansible.builtin.import_tasks" in task:
            yield "tasks", task["ansible.builtin.import_tasks"]


def test_bootstrap_has_one_play_for_each_phase_in_order() -> None:
    assert [play["name"] for play in plays("bootstrap")] == PHASES


@pytest.mark.parametrize("playbook", ["bootstrap", "reset", "peers", "verify_gpu", "deploy", "undeploy"])
def test_every_play_sees_the_shared_options_and_gathers_nothing(playbook: str) -> None:
    for play in plays(playbook):
        assert play["roles"] == [{"role": "cluster"}], play["name"]
        assert play["gather_facts"] is False, play["name"]
        assert play["become"] is True, play["name"]


def test_every_phase_after_the_first_begins_by_looking_for_the_control_plane() -> None:
    for play in plays("bootstrap")[1:]:
        assert next(included(play)) == ("tasks", "tasks/require_control_plane.yml"), play["name"]


def test_nothing_but_reading_happens_before_the_checks_have_passed() -> None:
    tasks = plays("bootstrap")[0]["tasks"]
    assert [key for task in tasks for key in task if key.startswith(("edgectl_", "ansible."))] == [
        "ansible.builtin.import_tasks",
        "ansible.builtin.import_tasks",
        "edgectl_preflight",
        "ansible.builtin.group_by",
    ]
    assert tasks[1]["ansible.builtin.import_tasks"] == "tasks/look_and_lock.yml"


def test_where_nothing_is_to_do_only_the_first_and_the_last_phase_have_hosts() -> None:
    without = [play["name"] for play in plays("bootstrap") if not play["hosts"].endswith(":!edgectl_nothing_to_do")]
    assert without == ["Preflight", "Verify"]


def test_every_role_is_gated_by_whether_it_concerns_the_host_and_is_due() -> None:
    gated = [
        (task["ansible.builtin.include_role"]["name"], task["when"])
        for play in plays("bootstrap")[2:-1]
        for task in play["tasks"]
        if "ansible.builtin.include_role" in task
    ]
    assert len(gated) == 10
    for role, condition in gated:
        assert condition == f"'{role}' in __cluster_roles and lookup('edgectl_due', '{role}')"


def test_reset_takes_kubernetes_from_the_workers_before_the_control_plane() -> None:
    names = [task["name"] for task in plays("reset")[-1]["tasks"]]
    assert names.index("Kubernetes on the workers") < names.index("Kubernetes on the control plane")


def test_reset_undoes_the_roles_of_bootstrap_in_reverse_order() -> None:
    done = [name for play in plays("bootstrap") for kind, name in included(play) if kind == "role"]
    tasks = [task for task in plays("reset")[-1]["tasks"] if "ansible.builtin.include_role" in task]
    undone = [task["ansible.builtin.include_role"]["name"] for task in tasks]
    assert set(undone) == set(done)
    assert undone == [
        "device_plugin",
        "kubeadm",
        "kubeadm",
        "k3s",
        "k3s",
        "pod_network",
        "nvidia_toolkit",
        "containerd",
        "nvidia_driver",
        "jetpack",
        "wireguard",
        "machine",
    ]
    for role, task in zip(undone, tasks, strict=True):
        assert task["vars"][f"{role}_state"] == "absent"


def test_every_file_that_a_playbook_includes_exists() -> None:
    base = content.root() / "playbooks"
    for playbook in ("bootstrap", "reset", "peers", "verify_gpu", "deploy", "undeploy"):
        for play in plays(playbook):
            for kind, name in included(play):
                path = base / name if kind == "tasks" else content.root() / "roles" / name
                assert path.exists(), path


def test_a_peer_comes_and_goes_by_the_reconciliation_of_peers_alone() -> None:
    roles = [
        task["ansible.builtin.import_role"]
        for task in plays("peers")[1]["tasks"]
        if "ansible.builtin.import_role" in task
    ]
    assert roles == [{"name": "wireguard", "tasks_from": "peers_recorded.yml", "public": True}]
    modules = {
        file: [list(task)[1] for task in yaml.safe_load((WIREGUARD / file).read_text())]
        for file in ("peers_recorded.yml", "peers.yml")
    }
    assert modules == {
        "peers_recorded.yml": [
            "ansible.builtin.set_fact",
            "edgectl_receipt",
            "ansible.builtin.include_tasks",
            "edgectl_receipt",
        ],
        "peers.yml": ["edgectl_wireguard_peers"],
    }


@pytest.mark.parametrize(("limit", "kept"), [("nuc2", True), ("all", False)])
def test_a_reset_of_all_forgets_the_peers_and_a_reset_of_one_host_keeps_them(
    tmp_path: Path, limit: str, kept: bool
) -> None:
    inventory = tmp_path / "inventory"
    inventory.mkdir()
    hosts = {"control_plane": {"hosts": {"nuc1": {}}}, "workers": {"hosts": {"nuc2": {}}}}
    local = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    (inventory / "hosts.yml").write_text(yaml.safe_dump({"cluster": {"children": hosts, "vars": local}}))
    names = ("nuc1", "nuc2", "left-the-inventory")
    state = {name: {"edgectl_state": {"wireguard_address": f"10.200.0.{n}"}} for n, name in enumerate(names, start=1)}
    peers = {"laptop": {"wireguard_public_key": "bGFwdG9w", "wireguard_address": "10.200.0.9"}}
    document = {"all": {"vars": {"edgectl_state_peers": peers}, "hosts": state}}
    (inventory / "edgectl.state.yml").write_text(yaml.safe_dump(document))
    forget = {"ansible.builtin.include_tasks": str(content.root() / "playbooks" / "tasks" / "forget.yml")}
    play = {"hosts": "cluster", "gather_facts": False, "roles": [{"role": "cluster"}], "tasks": [forget]}
    # Only foretold: what the file's other tasks remove would be this machine's.
    printed = output(inventory, [play], "--check", "--diff", "--limit", limit)
    after = [line for line in printed.splitlines() if line.startswith(("+", " "))]
    assert any("bGFwdG9w" in line for line in after) is kept
    assert any("left-the-inventory" in line for line in after)
    assert not any("nuc2:" in line for line in after)
