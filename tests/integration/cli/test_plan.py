"""`edgectl plan`: what would be changed, with diffs and restarts, and nothing of it done."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.unit.cli.conftest import Answer

Edgectl = Callable[..., Answer]
Write = Callable[[str], None]

PLAY = """
- name: Runtime
  hosts: cluster
  gather_facts: false
  tasks:
    - name: Configuration
      ansible.builtin.copy:
        content: "runc = true\\n"
        dest: "{file}"
        mode: "0644"
      when: inventory_hostname == 'orin1'
      register: configuration
    - name: Running
      edgectl_units:
        units:
          - {name: containerd.service, state: started, changed: "{{ configuration is changed }}"}
      environment:
        PATH: "{systemctl}:/usr/bin:/bin"
      when: inventory_hostname == 'orin1'
"""
# What systemd says of a unit that runs. Nothing else may be asked of it by a plan.
SYSTEMCTL = """#!/bin/sh
[ "$1" = show ] || exit 1
printf '%s\n' LoadState=loaded ActiveState=active UnitFileState=enabled NeedDaemonReload=no
"""


def with_systemd(play: str, directory: Path) -> str:
    program = directory / "systemctl"
    program.write_text(SYSTEMCTL)
    program.chmod(0o755)
    return play.replace("{systemctl}", str(directory))


def test_a_plan_shows_the_diff_and_the_restart_and_leaves_the_file_alone(
    edgectl: Edgectl, inventory: Path, playbook: Write, tmp_path: Path
) -> None:
    file = tmp_path / "config.toml"
    file.write_text("runc = false\n")
    playbook(with_systemd(PLAY, tmp_path).replace("{file}", str(file)))
    answer = edgectl("plan", inventory)
    assert answer.code == 3
    assert "Runtime\n  orin1: Configuration\n" in answer.out
    assert "-runc = false" in answer.out
    assert "+runc = true" in answer.out
    assert "Would restart containerd on orin1" in answer.out
    assert f"To make them: edgectl bootstrap {inventory}" in answer.out
    assert file.read_text() == "runc = false\n"


def test_a_plan_of_nothing_ends_with_zero(edgectl: Edgectl, inventory: Path, playbook: Write, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("runc = true\n")
    file.chmod(0o644)
    playbook(with_systemd(PLAY, tmp_path).replace("{file}", str(file)))
    answer = edgectl("plan", inventory)
    assert answer.code == 0
    assert "Nothing would be changed on" in answer.out


def test_the_same_change_of_a_templates_file_is_told_once_with_the_file_on_the_hosts(
    edgectl: Edgectl, inventory: Path, playbook: Write, tmp_path: Path
) -> None:
    (tmp_path / "config.toml.j2").write_text("runc = true\n")
    (tmp_path / "there.toml").write_text("runc = false\n")
    template = (
        with_systemd(PLAY, tmp_path)
        .replace("copy:", "template:")
        .replace('content: "runc = true\\n"', "src: config.toml.j2")
    )
    playbook(template.replace("      when: inventory_hostname == 'orin1'\n", "").replace("{file}", "{{ place }}"))
    places = {"nuc1": "there.toml", "nuc2": "there.toml", "orin1": "new.toml"}
    (inventory / "host_vars").mkdir()
    for host, name in places.items():
        (inventory / "host_vars" / f"{host}.yml").write_text(f"place: {tmp_path / name}\n")
    answer = edgectl("plan", inventory)
    assert f"  nuc1 and nuc2: Configuration\n    {tmp_path / 'there.toml'}\n" in answer.out
    assert "  orin1: Configuration\n    config.toml.j2\n" in answer.out
