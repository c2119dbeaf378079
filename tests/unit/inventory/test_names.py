"""The names of an inventory, read without Ansible."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgectl.inventory import load
from edgectl.inventory.names import Names, expand, read

_INI = """
# comment
nuc0 ansible_host=10.0.0.9
[control_plane]
nuc1:2222 ansible_host=10.0.0.1  ; and more
[workers]
orin[1:2]
[cluster:children]
control_plane
workers
[workers:vars]
ansible_user=ana
"""


def test_hosts_and_groups_of_yaml_are_read_in_their_order(tmp_path: Path) -> None:
    (tmp_path / "hosts.yml").write_text(
        "cluster:\n  children:\n    control_plane: {hosts: {nuc2: {ansible_host: 10.0.0.2}}}\n"
        "    workers: {hosts: {'orin[1:2]': {}, nuc1: {}}}\n"
    )
    assert read(tmp_path) == Names(("nuc2", "orin1", "orin2", "nuc1"), ("cluster", "control_plane", "workers"))


@pytest.mark.parametrize("name", ["hosts", "hosts.ini"])
def test_ini_files_are_read_too(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(_INI)
    assert read(tmp_path) == Names(("nuc0", "nuc1", "orin1", "orin2"), ("control_plane", "workers", "cluster"))


def test_the_sample_inventory_has_the_names_that_ansible_finds() -> None:
    sample = Path(__file__).parents[3] / "inventory"
    inventory = load(sample)
    assert set(read(sample).hosts) == {host.name for host in inventory.hosts}
    assert set(read(sample).groups) == set(inventory.groups) - {"all", "ungrouped"}


def test_a_program_is_never_started_and_what_ansible_ignores_is_no_inventory(tmp_path: Path) -> None:
    (tmp_path / "dynamic").write_text(f"#!/bin/sh\ntouch {tmp_path}/started\n")
    (tmp_path / "dynamic").chmod(0o755)
    (tmp_path / "old.bak").write_text("nuc9\n")
    (tmp_path / "edgectl.state.yml").write_text("all: {hosts: {nuc8: {}}}\n")
    (tmp_path / "group_vars").mkdir()
    (tmp_path / "group_vars" / "all").write_text("cluster_name: attic\n")
    assert read(tmp_path) == Names()
    assert not (tmp_path / "started").exists()


def test_a_broken_file_leaves_the_names_of_the_others(tmp_path: Path) -> None:
    (tmp_path / "a.yml").write_text("cluster:\n\thosts: {")
    (tmp_path / "b.yml").write_text("cluster: {hosts: {nuc1: {}}}\n")
    (tmp_path / "c").write_text("---\nnone of: this\n")
    assert read(tmp_path).hosts == ("nuc1",)


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("nuc1", ["nuc1"]),
        ("n[08:10].lan", ["n08.lan", "n09.lan", "n10.lan"]),
        ("n[1:9:4]", ["n1", "n5", "n9"]),
        ("n[a:c]", ["na", "nb", "nc"]),
        ("r[1:2]n[1:2]", ["r1n1", "r1n2", "r2n1", "r2n2"]),
        ("n[1:b]", []),
    ],
)
def test_ranges_of_hosts_mean_what_they_mean_to_ansible(pattern: str, names: list[str]) -> None:
    assert expand(pattern) == names


def test_a_range_that_nobody_can_mean_does_not_fill_the_memory() -> None:
    assert len(expand("n[1:999999999]")) == 1000
