"""A role that needs a reboot: what is said, who stops, and what a dry run does. No test here can reboot anything."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.unit.ansible_playbook import run


@pytest.fixture
def inventory(tmp_path: Path) -> Path:
    """Two hosts; the first is one that this test could not reach, let alone reboot."""
    hosts = {"away": {"ansible_host": "192.0.2.1"}, "here": {"ansible_connection": "local"}}
    document = {"all": {"hosts": hosts, "vars": {"ansible_python_interpreter": sys.executable}}}
    (tmp_path / "hosts.yml").write_text(yaml.safe_dump(document))
    return tmp_path


def asked(inventory: Path, host: str, *options: str, **variables: Any) -> tuple[int, str]:
    """Exit code and output of a play in which a role asks for a reboot."""
    include = {"name": "machine", "tasks_from": "reboot"}
    task = {
        "ansible.builtin.include_role": include,
        "vars": {"machine_reboot_reason": "the lamp is green", **variables},
    }
    play = {"hosts": host, "gather_facts": False, "tasks": [task, {"ansible.builtin.debug": {"msg": "went on"}}]}
    done = run(inventory, [play], *options)
    return done.returncode, " ".join(done.stdout.split())


def test_what_can_wait_is_told_and_the_run_goes_on(inventory: Path) -> None:
    code, printed = asked(inventory, "away")
    assert code == 0
    assert "a reboot is needed: the lamp is green. When it suits you, run on it: sudo reboot and then this" in printed
    assert "machine_reboot: allow" in printed
    assert "went on" in printed


def test_what_can_not_wait_stops_the_host_with_the_reason(inventory: Path) -> None:
    code, printed = asked(inventory, "away", machine_reboot_required=True)
    assert code != 0
    assert "a reboot is needed: the lamp is green" in printed
    assert "went on" not in printed


def test_where_reboots_are_refused_what_could_wait_stops_the_host_too(inventory: Path) -> None:
    code, printed = asked(inventory, "away", machine_reboot="refuse")
    assert code != 0
    assert "a reboot is needed: the lamp is green" in printed


@pytest.mark.parametrize("policy", ["report", "refuse", "allow"])
def test_a_dry_run_neither_stops_nor_reboots(inventory: Path, policy: str) -> None:
    variables = {"machine_reboot_required": True, "machine_reboot": policy}
    code, printed = asked(inventory, "here", "--check", **variables)
    assert code == 0
    assert "went on" in printed


def test_the_machine_that_a_run_runs_on_is_not_rebooted_by_it(inventory: Path) -> None:
    code, printed = asked(inventory, "here", machine_reboot="allow", machine_reboot_required=True)
    assert code != 0
    assert "run on it: sudo reboot and then this again" in printed
    assert "machine_reboot: allow" not in printed


def test_a_command_of_its_own_is_told_as_one_can_type_it(inventory: Path) -> None:
    _, printed = asked(inventory, "away", machine_reboot_command="echo YES | nvpmodel -m 2")
    assert "sudo sh -c 'echo YES | nvpmodel -m 2' and then this again" in printed
