"""The real ansible-runner, on small playbooks that run on this machine."""

from __future__ import annotations

import json
import os
import signal
import stat
import sys
import threading
import time
from pathlib import Path

import pytest

from edgectl.inventory.vault import Vault
from edgectl.run.events import Event, HostDone, HostStarted
from edgectl.run.playbook import run_playbook
from edgectl.run.result import RunStatus
from edgectl.ssh.secrets import Secrets


@pytest.fixture
def inventory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("EDGECTL_LEAK", "must not travel")
    directory = tmp_path / "inventory"
    directory.mkdir()
    (directory / "hosts.yml").write_text(
        f"all:\n  vars: {{ansible_connection: local, ansible_python_interpreter: {sys.executable}}}\n"
        "  hosts:\n    a:\n    b:\n"
    )
    return directory


def playbook(directory: Path, *tasks: str) -> Path:
    file = directory.parent / "p.yml"
    body = "".join(f"    - {task}\n" for task in tasks)
    file.write_text(f"- name: Phase\n  hosts: all\n  gather_facts: false\n  tasks:\n{body}")
    return file


def test_ansible_sees_our_settings_and_none_of_the_users_environment(inventory: Path, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    tasks = (
        f"ansible.builtin.shell: env > {seen}; cat $ANSIBLE_BECOME_PASSWORD_FILE >> {seen}; "
        f"stat -c %a $ANSIBLE_BECOME_PASSWORD_FILE $ANSIBLE_VAULT_PASSWORD_FILE >> {seen}; "
        f"tr '\\\\0' ' ' < /proc/$PPID/cmdline >> {seen}; ps -eo args >> {seen}",
    )
    result = run_playbook(
        playbook(inventory, *tasks),
        inventory,
        limit="a",
        extra_vars={"token": "t0ken"},
        secrets=Secrets("s3cret", Vault(password="v4ult")),
        known_hosts=inventory / ".edgectl" / "known_hosts",
    )
    text = seen.read_text()
    assert result.status is RunStatus.SUCCESSFUL
    assert list(result.hosts) == ["a"]
    assert "ANSIBLE_HOST_KEY_CHECKING=True" in text
    assert "StrictHostKeyChecking=yes" in text
    assert str(inventory / ".edgectl" / "known_hosts") in text
    assert "EDGECTL_LEAK" not in text
    assert text.count("s3cret") == 1
    assert "v4ult" not in text
    assert "t0ken" not in text
    assert "600\n600\n" in text
    private = next(line for line in text.splitlines() if line.startswith("ANSIBLE_BECOME_PASSWORD_FILE=")).split("=")[1]
    assert not Path(private).parent.exists()


def test_extra_variables_and_the_runs_id_reach_the_playbook(inventory: Path) -> None:
    events: list[Event] = []
    result = run_playbook(
        playbook(inventory, "ansible.builtin.fail: {msg: '{{ edgectl_run_id }} {{ mine.list[1] }} {{ theirs }}'}"),
        inventory,
        limit="a",
        extra_vars={"mine": {"list": [1, 2]}},
        arguments=("theirs=3 4",),
        on_event=events.append,
    )
    assert result.failures[0].message == f"{result.run_id} 2 3"
    assert [e.host for e in events if isinstance(e, HostDone)] == ["a"]
    log = result.log_path.read_text()
    assert result.failures[0].message in log
    assert stat.S_IMODE(result.log_path.stat().st_mode) == 0o600
    lines = (result.log_path.parent / "events.jsonl").read_text().splitlines()
    assert [json.loads(line)["kind"] for line in lines][-1] == "tally"


def test_a_playbook_that_cannot_be_read_says_why(inventory: Path) -> None:
    file = inventory.parent / "bad.yml"
    file.write_text("- hosts: all\n  tsks: []\n")
    result = run_playbook(file, inventory)
    assert result.status is RunStatus.FAILED
    assert any("tsks" in line for line in result.output)


def test_a_renderer_that_breaks_does_not_stop_the_run(inventory: Path, tmp_path: Path) -> None:
    def broken(_event: Event) -> None:
        raise ValueError("broken")

    done = tmp_path / "done"
    tasks = ("ansible.builtin.command: 'true'", f"ansible.builtin.command: touch {done}")
    with pytest.raises(ValueError, match="broken"):
        run_playbook(playbook(inventory, *tasks), inventory, limit="a", on_event=broken)
    assert done.exists()


def test_ctrl_c_stops_the_run_says_who_is_busy_and_leaves_our_handlers_as_they_were(inventory: Path) -> None:
    before = signal.getsignal(signal.SIGINT)
    asked: list[float] = []

    def interrupt(event: Event) -> None:
        if isinstance(event, HostStarted) and event.host == "a":
            threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()

    started = time.monotonic()
    result = run_playbook(
        playbook(inventory, "ansible.builtin.command: sleep 30"),
        inventory,
        limit="a",
        on_event=interrupt,
        on_cancel=lambda: asked.append(time.monotonic()),
    )
    assert result.status is RunStatus.CANCELED
    assert len(asked) == 1
    assert list(result.busy) == ["a"]
    assert time.monotonic() - started < 25
    assert signal.getsignal(signal.SIGINT) is before
