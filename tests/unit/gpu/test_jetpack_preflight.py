"""What role jetpack says of boards as they were recorded. The files of a driver it looks for on this machine: none."""

from __future__ import annotations

import sys
from typing import Any

import pytest
import yaml

from edgectl.recording import catalogue
from tests.unit.ansible_playbook import run

HALF = {"jetson": {"l4t": "36.5.0", "soc": "orin"}}
OLD = {"jetson": {"l4t": "32.7.1", "soc": "xavier"}, "packages": {}}


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Host -> the message with which the role's first look ends."""
    names = ("orin-nx-jp6.2", "thor-jp7", "orin-nano-jp5.1")
    boards = {name: catalogue.load(name).replay() for name in names}
    boards["half"] = {**boards["orin-nx-jp6.2"], **HALF}
    boards["old"] = {**boards["orin-nx-jp6.2"], **OLD}
    inventory = tmp_path_factory.mktemp("boards") / "hosts.yml"
    local = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    hosts = {name: {"document": document} for name, document in boards.items()}
    inventory.write_text(yaml.safe_dump({"all": {"hosts": hosts, "vars": local}}))
    include: dict[str, Any] = {"name": "jetpack", "tasks_from": "preflight"}
    message = "{{ inventory_hostname }} SAYS {{ ansible_failed_result.msg }}"
    play = {
        "hosts": "all",
        "gather_facts": False,
        "tasks": [
            {"ansible.builtin.set_fact": {"edgectl": "{{ document }}", "cacheable": True}},
            {
                "block": [{"ansible.builtin.include_role": include}],
                "rescue": [{"ansible.builtin.debug": {"msg": message}}],
            },
        ],
    }
    printed = run(inventory, [play]).stdout
    lines = (line.partition('"msg": "')[2] for line in printed.splitlines() if " SAYS " in line)
    return {name: rest for name, _, rest in (line.partition(" SAYS ") for line in lines)}


@pytest.mark.parametrize("name", ["orin-nx-jp6.2", "thor-jp7", "orin-nano-jp5.1"])
def test_a_recorded_board_of_a_known_release_is_refused_only_for_the_driver_that_is_not_here(
    said: dict[str, str], name: str
) -> None:
    assert said[name].startswith(f"{name}: of the GPU's driver there is nothing. The module is not loaded")


def test_a_board_that_was_upgraded_by_half_is_told_to_finish(said: dict[str, str]) -> None:
    assert "says 36.5.0 and the package nvidia-l4t-core is 36.4.3" in said["half"]
    assert "sudo apt full-upgrade" in said["half"]


def test_a_jetpack_that_is_too_old_is_refused_with_those_that_are_known(said: dict[str, str]) -> None:
    assert said["old"].startswith("old runs Jetson Linux 32.7.1; edgectl knows R35, R36, R38, R39")


def test_each_release_that_is_known_has_a_place_for_its_library() -> None:
    from edgectl import content

    variables = yaml.safe_load((content.root() / "roles" / "jetpack" / "vars" / "main.yml").read_text())
    assert set(variables["__jetpack_libraries"]) == set(variables["__jetpack_known"])
