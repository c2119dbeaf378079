"""The digest of inputs: everything that a role's work depends on, and nothing else."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from edgectl import content

TREES = Path(__file__).parents[1] / "probe" / "data"
# The probe imports the module beside it.
sys.path.insert(0, str(content.root() / "plugins" / "module_utils"))
ROLES = ("machine", "wireguard", "containerd", "pod_network", "kubeadm")


@pytest.fixture(scope="module")
def inputs() -> ModuleType:
    return content.module_util("edgectl_inputs")


def digest(inputs: ModuleType, **options: Any) -> str:
    found: str = inputs.digest("wireguard", options, {}, "nuc1", {"identity": {"machine_id": "1"}})
    return found


def test_an_option_counts_by_its_value_not_by_how_it_was_written(inputs: ModuleType) -> None:
    assert digest(inputs, wireguard_port="51820") == digest(inputs, wireguard_port=51820)
    assert digest(inputs, wireguard_port=51820) != digest(inputs, wireguard_port=51821)
    assert digest(inputs, cluster_wireguard="yes") == digest(inputs, cluster_wireguard=True)


def test_another_machine_under_the_same_name_is_another_input(inputs: ModuleType) -> None:
    documents = ({"identity": {"machine_id": number}} for number in "12")
    one, other = (inputs.digest("machine", {}, {}, "nuc1", document) for document in documents)
    assert one != other


@pytest.mark.parametrize("role", ROLES)
def test_every_option_of_a_role_is_among_its_inputs(inputs: ModuleType, role: str) -> None:
    specs = yaml.safe_load((content.root() / "roles" / role / "meta" / "argument_specs.yml").read_text())
    own = {name for name in specs["argument_specs"]["main"]["options"] if not name.endswith("_state")}
    assert own <= set(inputs.options_used(role))


def test_options_of_other_roles_that_a_role_reads_are_found(inputs: ModuleType) -> None:
    assert {"cluster_wireguard", "wireguard_interface"} <= set(inputs.options_used("pod_network"))
    assert "machine_swap" in inputs.options_used("kubeadm")


def probed(tree: str) -> dict[str, Any]:
    """What the probe says of a recorded machine; which units that has is its own affair, the probe asks for these."""
    probe = content.module_util("edgectl_probe")
    entry = {"load": "loaded", "active": "active", "sub": "running", "enabled": "enabled", "started_at": 1.0}
    return {**probe.probe(str(TREES / tree)), "units": {f"{unit}.service": entry for unit in probe.UNITS}}


@pytest.mark.parametrize("role", ROLES)
def test_each_fact_of_a_receipt_is_one_that_the_probe_finds(inputs: ModuleType, role: str) -> None:
    jetson, control_plane = (inputs.facts(role, probed(tree)) for tree in ("jetson_r36", "debian12_control_plane"))
    assert jetson
    assert [path for path in jetson if jetson[path] is None and control_plane[path] is None] == []


@pytest.mark.parametrize("role", ROLES)
def test_a_receipts_facts_are_no_lists_and_nothing_that_changes_by_itself(inputs: ModuleType, role: str) -> None:
    facts = inputs.facts(role, probed("jetson_r36"))
    assert not {path.partition("/")[0] for path in facts} & {"clock", "memory", "disks", "lock", "receipts", "stamp"}
    assert [path for path in facts if path.endswith(("_at", "_s"))] == []
    assert [path for path, value in facts.items() if isinstance(value, (dict, list))] == []


@pytest.mark.parametrize("role", ROLES)
def test_inputs_read_no_fact_that_is_not_declared_as_one(inputs: ModuleType, role: str) -> None:
    """Neither in their templates nor in the defaults and variables that these name: the verified path can't know it."""
    roles = content.root() / "roles"
    variables = yaml.safe_load((roles / role / "vars" / "main.yml").read_text())
    for file in roles.glob("*/defaults/main.yml"):
        variables.update(yaml.safe_load(file.read_text()) or {})
    texts = [
        *inputs.declared(role).values(),
        *(str(variables.pop(o)) for o in inputs.options_used(role) if o in variables),
    ]
    for text in texts:  # grows by what each text names
        texts += [str(variables.pop(name)) for name in re.findall(r"\w+", text) if name in variables]
    everything = " ".join(texts)
    read = re.findall(r"ansible_facts\.edgectl\.([a-z_.]+)", everything)
    assert len(read) == everything.count("ansible_facts")
    assert {path.replace(".", "/") for path in read} <= set(inputs.facts(role, {}))


def test_each_network_manager_that_role_wireguard_tells_about_its_interface_is_a_fact(inputs: ModuleType) -> None:
    variables = yaml.safe_load((content.root() / "roles" / "wireguard" / "vars" / "main.yml").read_text())
    managers = {f"units/{manager['unit']}/active" for manager in variables["__wireguard_unmanaged"]}
    assert managers
    assert managers <= set(inputs.facts("wireguard", {}))


def inventory(directory: Path, **files: str) -> Path:
    for name, text in files.items():
        (directory / f"{name}.yml").write_text(text)
    return directory


def test_an_inventory_that_says_something_else_tomorrow_has_no_digest(inputs: ModuleType, tmp_path: Path) -> None:
    plain = inventory(tmp_path, hosts="all: {hosts: {nuc1: }}\n")
    assert inputs.inventory_digest(plain, with_state=False)
    (plain / "group_vars.yml").write_text("a: \"{{ lookup('env', 'HOME') }}\"\n")
    assert inputs.inventory_digest(plain, with_state=False) is None
    (plain / "group_vars.yml").write_text('a: "{{ ansible_facts.edgectl.network.default_address }}"\n')
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
