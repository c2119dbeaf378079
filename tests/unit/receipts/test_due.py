"""The gate: a role is due when something that it depends on is not what its receipt was made from."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.loader import filter_loader
from ansible.template import trust_as_template

from edgectl import content
from tests.unit.preflight.conftest import load_plugin
from tests.unit.receipts.test_inputs import ROLES, probed

gate = load_plugin("lookup", "edgectl_due")
filter_loader.add_directory(str(content.root() / "plugins" / "filter"))

FACTS = [(role, path) for role in ROLES for path in content.module_util("edgectl_inputs").facts(role, {})]


@pytest.fixture(scope="module")
def recorded() -> dict[str, Any]:
    """The variables of a host with receipts of all roles, made from just these variables."""
    states = {
        name: {"wireguard_public_key": f"key{n}", "wireguard_address": f"10.200.0.{n}", "pod_cidr": f"10.244.{n}.0/24"}
        for n, name in enumerate(("nuc1", "nuc2"), 1)
    }
    groups = {"cluster": ["nuc1", "nuc2"], "control_plane": ["nuc1"], "workers": ["nuc2"]}
    variables: dict[str, Any] = {
        "inventory_hostname": "nuc2",
        "groups": groups,
        "hostvars": {name: {"inventory_hostname": name, "edgectl_state": state} for name, state in states.items()},
        "edgectl_state": states["nuc2"],
        "ansible_facts": {"edgectl": probed("debian12_control_plane")},
    }
    variables["ansible_facts"]["edgectl"]["receipts"] = {
        role: {"status": "done", "inputs": gate.inputs_digest(role, variables, DataLoader()), "drift": []}
        for role in ROLES
    }
    return variables


@pytest.fixture
def host(recorded: dict[str, Any]) -> dict[str, Any]:
    return copy.deepcopy(recorded)


def due(variables: dict[str, Any]) -> list[str]:
    return [role for role in ROLES if gate.is_due(role, variables, DataLoader())]


def change(document: dict[str, Any], path: str, value: Any = "other") -> None:
    """Give a fact another value."""
    *parents, last = path.split("/")
    for part in parents:
        document[part] = document.get(part) or {}
        document = document[part]
    assert document.get(last) != value
    document[last] = value


def test_nothing_is_due_where_nothing_has_changed(host: dict[str, Any]) -> None:
    assert due(host) == []


@pytest.mark.parametrize(("role", "path"), FACTS)
def test_a_role_is_due_when_a_fact_of_its_receipt_has_changed(host: dict[str, Any], role: str, path: str) -> None:
    change(host["ansible_facts"]["edgectl"], path)
    assert due(host) == [other for other in ROLES if (other, path) in FACTS]
    assert role in due(host)


def test_facts_that_no_role_reads_make_nothing_due(host: dict[str, Any]) -> None:
    for path in ("kernel/version", "identity/boot_id", "identity/product_uuid", "memory/available_kib"):
        change(host["ansible_facts"]["edgectl"], path)
    assert due(host) == []


def test_every_role_is_due_on_a_host_that_got_a_machine_id_of_its_own_later(host: dict[str, Any]) -> None:
    change(host["ansible_facts"]["edgectl"], "identity/machine_id", "f" * 32)
    assert due(host) == list(ROLES)


@pytest.mark.parametrize("platform", ["cpu", "jetson"])
def test_a_run_knows_from_its_start_which_roles_are_due_among_those_that_concern_the_host(
    host: dict[str, Any], platform: str
) -> None:
    host["group_names"] = ["cluster", "workers"]
    concerned = ["machine", "wireguard", "containerd", "pod_network", "kubeadm"]
    assert gate.due_roles(host, DataLoader()) == []
    if platform == "jetson":
        host["ansible_facts"]["edgectl"]["jetson"] = {"l4t": "36.4.0", "soc": "orin"}
        concerned += ["nvidia_toolkit", "device_plugin", "jetpack"]
    change(host["ansible_facts"]["edgectl"], "identity/machine_id", "f" * 32)
    assert gate.due_roles(host, DataLoader()) == concerned
    host["group_names"] = ["hub"]
    assert gate.due_roles(host, DataLoader()) == ["machine", "wireguard"]
    host["cluster_wireguard"] = False
    assert gate.due_roles(host, DataLoader()) == ["machine"]
    host["ansible_check_mode"] = True
    assert gate.due_roles(host, DataLoader()) == ["machine"]


def test_an_option_that_cannot_be_evaluated_is_something_to_do(host: dict[str, Any]) -> None:
    host["group_names"] = ["cluster"]
    host["cluster_wireguard"] = trust_as_template("{{ nothing_of_that_name }}")
    assert gate.due_roles(host, DataLoader()) == ["cluster"]


def test_no_role_takes_the_receipt_of_another_host(host: dict[str, Any]) -> None:
    host["inventory_hostname"] = "nuc1"
    assert due(host) == list(ROLES)


def test_a_run_of_some_tasks_believes_no_receipt_and_the_tags_that_molecule_skips_are_none(
    host: dict[str, Any],
) -> None:
    assert due({**host, "ansible_run_tags": ["images"]}) == list(ROLES)
    assert due({**host, "ansible_skip_tags": ["images", "notest"]}) == list(ROLES)
    assert due({**host, "ansible_run_tags": ["all"], "ansible_skip_tags": ["molecule-notest", "notest"]}) == []


def test_another_release_in_the_lock_is_something_to_do_where_cluster_version_is_a_channel(
    host: dict[str, Any], tmp_path: Path
) -> None:
    host |= {"inventory_dir": str(tmp_path), "cluster_version": "stable"}
    file = tmp_path / content.module_util("edgectl_locked").PATH
    file.parent.mkdir()
    text = "schema_version: 1\nlocked: {{kubernetes: {{asked: stable, version: {}}}}}\nfiles: []\n"
    file.write_text(text.format("v1.35.4"))
    host["ansible_facts"]["edgectl"]["receipts"] = {
        role: {"status": "done", "inputs": gate.inputs_digest(role, host, DataLoader()), "drift": []} for role in ROLES
    }
    assert due(host) == []
    file.write_text(text.format("v1.35.5"))
    assert due(host) == ["containerd", "kubeadm"]
