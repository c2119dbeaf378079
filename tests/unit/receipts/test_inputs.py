"""The digest of inputs: everything that a role's work depends on, and nothing else."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from edgectl import content

ROLES = ("machine", "wireguard", "containerd", "pod_network", "kubeadm")


@pytest.fixture(scope="module")
def inputs() -> ModuleType:
    return content.module_util("edgectl_inputs")


def digest(inputs: ModuleType, **options: Any) -> str:
    found: str = inputs.digest("wireguard", options, {}, {"name": "nuc1", "machine_id": "1"})
    return found


def test_an_option_counts_by_its_value_not_by_how_it_was_written(inputs: ModuleType) -> None:
    assert digest(inputs, wireguard_port="51820") == digest(inputs, wireguard_port=51820)
    assert digest(inputs, wireguard_port=51820) != digest(inputs, wireguard_port=51821)
    assert digest(inputs, cluster_wireguard="yes") == digest(inputs, cluster_wireguard=True)


def test_another_machine_under_the_same_name_is_another_input(inputs: ModuleType) -> None:
    one, other = (inputs.digest("machine", {}, {}, {"name": "nuc1", "machine_id": number}) for number in "12")
    assert one != other


@pytest.mark.parametrize("role", ROLES)
def test_every_option_of_a_role_is_among_its_inputs(inputs: ModuleType, role: str) -> None:
    specs = yaml.safe_load((content.root() / "roles" / role / "meta" / "argument_specs.yml").read_text())
    own = {name for name in specs["argument_specs"]["main"]["options"] if not name.endswith("_state")}
    assert own <= set(inputs.options_used(role))


def test_options_of_other_roles_that_a_role_reads_are_found(inputs: ModuleType) -> None:
    assert {"cluster_wireguard", "wireguard_interface"} <= set(inputs.options_used("pod_network"))
    assert "machine_swap" in inputs.options_used("kubeadm")


@pytest.mark.parametrize("role", ROLES)
def test_declared_inputs_are_no_facts_that_change_by_themselves(inputs: ModuleType, role: str) -> None:
    text = " ".join(inputs.declared(role).values())
    for volatile in ("now(", "random", ".clock", ".memory", ".disks", "handshake", "started_at", ".lock"):
        assert volatile not in text


def inventory(directory: Path, **files: str) -> Path:
    for name, text in files.items():
        (directory / f"{name}.yml").write_text(text)
    return directory


def test_an_inventory_that_says_something_else_tomorrow_has_no_digest(inputs: ModuleType, tmp_path: Path) -> None:
    plain = inventory(tmp_path, hosts="all: {hosts: {nuc1: }}\n")
    assert inputs.inventory_digest(plain, with_state=False)
    (plain / "group_vars.yml").write_text("a: \"{{ lookup('env', 'HOME') }}\"\n")
    assert inputs.inventory_digest(plain, with_state=False) is None
    (plain / "group_vars.yml").write_text("plugin: amazon.aws.aws_ec2\n")
    assert inputs.inventory_digest(plain, with_state=False) is None
    (plain / "group_vars.yml").write_text("#!/bin/sh\n")
    (plain / "group_vars.yml").chmod(0o755)
    assert inputs.inventory_digest(plain, with_state=False) is None


def test_the_state_file_counts_only_where_it_is_asked_for(inputs: ModuleType, tmp_path: Path) -> None:
    place = inventory(tmp_path, hosts="all: {hosts: {nuc1: }}\n")
    before = [inputs.inventory_digest(place, with_state=state) for state in (False, True)]
    (place / "edgectl.state.yml").write_text("all: {}\n")
    (place / ".edgectl").mkdir()
    (place / ".edgectl" / "known_hosts").write_text("x")
    after = [inputs.inventory_digest(place, with_state=state) for state in (False, True)]
    assert before[0] == after[0]
    assert before[1] != after[1]
