"""Two runs at the same time: the second one is refused, knows by whom, and goes on once the first is no more."""

from __future__ import annotations

import getpass
import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from edgectl import content
from tests.unit.cli.conftest import Answer

Edgectl = Callable[..., Answer]
Write = Callable[[str], None]

TASK = "One run at a time on a host"


def plays(directory: Path, then: dict[str, Any]) -> str:
    """The task by which every preflight takes the locks, which lie in a directory here, and another one."""
    playbooks = content.root() / "playbooks"
    preflight = yaml.safe_load((playbooks / "bootstrap.yml").read_text())[0]
    tasks = yaml.safe_load((playbooks / "tasks" / "look_and_lock.yml").read_text())
    preflight["tasks"] = [task for task in tasks if task["name"] == TASK]
    preflight["module_defaults"] = {"edgectl_lock": {"path": f"{directory}/{{{{ inventory_hostname }}}}.lock"}}
    work = {"name": "Machine", "hosts": "cluster", "gather_facts": False, "tasks": [{"name": "Work", **then}]}
    return yaml.safe_dump([preflight, work], sort_keys=False)


@pytest.fixture
def locks(tmp_path: Path, playbook: Write) -> Path:
    """Where the locks are; a run that gets them leaves the file `worked` there."""
    directory = tmp_path / "locks"
    directory.mkdir()
    playbook(plays(directory, {"ansible.builtin.file": {"path": f"{directory}/worked", "state": "touch"}}))
    return directory


@pytest.fixture
def running(inventory: Path, locks: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Another run, which has all locks and is busy."""
    play, end = locks.parent / "other.yml", locks / "end"
    play.write_text(plays(locks, {"ansible.builtin.wait_for": {"path": str(end), "timeout": 300}}))
    command = [str(Path(sys.executable).with_name("ansible-playbook")), "-i", str(inventory), str(play)]
    environment = {**os.environ, **content.ansible_environment()}
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as other:
        while len(list(locks.glob("*.lock"))) < 3:
            assert other.poll() is None
            time.sleep(0.1)
        yield other
        end.touch()


def test_a_second_run_is_refused_with_the_owner_of_the_first_and_changes_nothing(
    edgectl: Edgectl, inventory: Path, locks: Path, running: subprocess.Popen[bytes]
) -> None:
    answer = edgectl("bootstrap", inventory)
    assert answer.code == 1
    assert "3 problems found before anything was changed" in answer.out
    owner = f"{getpass.getuser()}@{socket.gethostname()}"
    seen = (
        rf"seen: {re.escape(owner)}, cluster attic, process {running.pid}, since \d{{4}}-\d\d-\d\d \d\d:\d\d \(\d min\)"
    )
    assert len(re.findall(seen, answer.out)) == 3
    assert f"kill {running.pid}" in answer.out
    assert f"When it is mended, run again: edgectl bootstrap {inventory}\n" in answer.out
    assert not (locks / "worked").exists()


def test_the_locks_of_a_run_that_was_killed_are_taken_over(
    edgectl: Edgectl, inventory: Path, locks: Path, running: subprocess.Popen[bytes]
) -> None:
    running.kill()
    running.wait()
    assert json.loads((locks / "nuc1.lock").read_text())["pid"] == running.pid
    assert edgectl("bootstrap", inventory).code == 0
    assert (locks / "worked").exists()


def test_a_run_of_another_machine_on_one_host_keeps_all_hosts_until_its_lock_is_broken(
    edgectl: Edgectl, inventory: Path, locks: Path
) -> None:
    lock = {"owner": "sam@desk", "controller": "another", "pid": 4711, "id": "x", "started": int(time.time()) - 600}
    (locks / "nuc2.lock").write_text(json.dumps(lock))
    for verb in ("bootstrap", "reset"):
        answer = edgectl(verb, inventory, "--yes")
        assert answer.code == 1
        assert "1 problem found before anything was changed" in answer.out
        assert (
            "nuc2: error: another run of edgectl is at work here\n    seen: sam@desk, process 4711, since" in answer.out
        )
        assert "run this again with -e edgectl_break_lock=true" in answer.out
        assert "went on without" not in answer.out
    assert not (locks / "worked").exists()
    assert edgectl("bootstrap", inventory, "-e", "edgectl_break_lock=true").code == 0
    assert (locks / "worked").exists()
