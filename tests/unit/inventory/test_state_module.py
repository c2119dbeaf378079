"""The module edgectl_state, as a playbook runs it, and how it treats its file."""

import multiprocessing
import sys

import pytest
import yaml

from edgectl.inventory import state as state_reader
from tests.unit import ansible_playbook

REQUEST = {
    "hosts": {"nuc1": {"machine_id": "01", "wireguard_public_key": "k1=", "ssh_host_keys": ["SHA256:a"]}},
    "all_hosts": ["nuc1", "nuc2"],
    "wireguard_network": "10.200.0.0/24",
    "pod_cidr": "10.244.0.0/16",
    "cluster": {"name": "edgectl"},
}


def play(inventory, *tasks):
    """A play that runs the module once for each task and tells the results."""
    path = str(inventory / "edgectl.state.yml")
    steps = [
        {"edgectl_state": {"path": path, **REQUEST}, "register": f"result{n}", **task} for n, task in enumerate(tasks)
    ]
    results = ", ".join(f"result{n}" for n in range(len(tasks)))
    local = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    tasks = [*steps, ansible_playbook.say(f"[{results}]")]
    return [{"hosts": "localhost", "gather_facts": False, "vars": local, "tasks": tasks}]


def test_a_playbook_plans_the_file_then_writes_it_once_then_finds_nothing_to_do(inventory_directory):
    inventory = inventory_directory()
    plays = play(inventory, {"check_mode": True, "diff": True}, {}, {})
    [(planned, written, again)] = ansible_playbook.said("localhost,", plays)
    assert planned["changed"]
    assert "10.200.0.1" in planned["diff"]["after"]
    # What was planned is what was written, so the plan itself had written nothing.
    assert written["changed"]
    assert written["state"] == planned["state"]
    assert not again["changed"]
    assert state_reader.read(inventory / "edgectl.state.yml").hosts["nuc1"].pod_cidr == "10.244.0.0/24"


def test_a_plan_leaves_no_trace(inventory_directory, state_module):
    inventory = inventory_directory()
    state_module.run(str(inventory / "edgectl.state.yml"), REQUEST, check_mode=True)
    assert [file.name for file in inventory.iterdir()] == ["hosts.yml"]


def test_a_refusal_reaches_the_user_as_one_sentence(inventory_directory):
    inventory = inventory_directory()
    clones = {"nuc1": {"machine_id": "same"}, "nuc2": {"machine_id": "same"}}
    arguments = {"path": str(inventory / "edgectl.state.yml"), "hosts": clones}
    done = ansible_playbook.run("localhost,", play(inventory, {"edgectl_state": arguments}))
    assert done.returncode != 0
    assert "nuc1 and nuc2 have the same machine-id" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


def test_the_file_says_who_writes_it_and_that_it_may_be_committed(inventory_directory, state_module):
    path = inventory_directory() / "edgectl.state.yml"
    state_module.run(str(path), REQUEST, check_mode=False)
    first, second = path.read_text().splitlines()[:2]
    assert first.startswith("# Written by edgectl")
    assert "no secret" in second
    assert path.stat().st_mode & 0o777 == 0o644


def test_a_broken_write_leaves_the_old_file(inventory_directory, state_module, monkeypatch):
    path = inventory_directory() / "edgectl.state.yml"
    state_module.run(str(path), REQUEST, check_mode=False)
    before = path.read_text()

    def power_cut(*_):
        raise OSError("no space left on device")

    monkeypatch.setattr(state_module.os, "fsync", power_cut)
    with pytest.raises(OSError, match="no space left"):
        state_module.run(str(path), {**REQUEST, "hosts": {"nuc2": {"machine_id": "02"}}}, check_mode=False)
    assert path.read_text() == before
    assert sorted(file.name for file in path.parent.iterdir()) == [".edgectl", "edgectl.state.yml", "hosts.yml"]


def test_a_link_to_a_file_elsewhere_stays_a_link(inventory_directory, state_module, tmp_path):
    real = tmp_path / "elsewhere.yml"
    real.write_text("")
    path = inventory_directory() / "edgectl.state.yml"
    path.symlink_to(real)
    state_module.run(str(path), REQUEST, check_mode=False)
    assert path.is_symlink()
    assert "10.200.0.1" in real.read_text()


def test_the_file_goes_with_its_last_host(inventory_directory, state_module):
    path = inventory_directory() / "edgectl.state.yml"
    state_module.run(str(path), REQUEST, check_mode=False)
    state_module.run(str(path), {"forget": ["nuc1"]}, check_mode=False)
    assert not path.exists()
    state_module.run(str(path), {"forget": ["nuc1"]}, check_mode=False)


def test_a_damaged_file_is_refused_and_left_alone(inventory_directory, state_module):
    path = inventory_directory({"edgectl.state.yml": "all: [broken"}) / "edgectl.state.yml"
    with pytest.raises(Exception, match="cannot be read"):
        state_module.run(str(path), REQUEST, check_mode=False)
    assert path.read_text() == "all: [broken"


def test_writers_at_the_same_time_each_get_an_address_of_their_own(inventory_directory, state_module):
    path = str(inventory_directory() / "edgectl.state.yml")
    fork = multiprocessing.get_context("fork")
    writers = [fork.Process(target=_enrol, args=(state_module, path, f"host{number}")) for number in range(8)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    entries = yaml.safe_load(open(path))["all"]["hosts"].values()  # noqa: PTH123, SIM115
    assert len({entry["edgectl_state"]["wireguard_address"] for entry in entries}) == 8


def test_a_writer_that_waits_in_vain_says_for_whom(inventory_directory, state_module, monkeypatch):
    path = inventory_directory() / "edgectl.state.yml"
    monkeypatch.setattr(state_module, "LOCK_WAIT_SECONDS", 0)
    with (
        state_module.locked(str(path.parent / ".edgectl")),
        pytest.raises(state_module.AllocationError, match=r"another edgectl has held .*state\.lock"),
    ):
        state_module.run(str(path), REQUEST, check_mode=False)


def _enrol(state_module, path, name):
    request = {**REQUEST, "hosts": {name: {"machine_id": name}}, "all_hosts": []}
    state_module.run(path, request, check_mode=False)
