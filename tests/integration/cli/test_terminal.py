"""`edgectl bootstrap` on a terminal: a real one, made for the test."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from edgectl.run.events import PhaseFinished, Tally
from edgectl.run.log import RunLog, new_run_directory
from edgectl.run.redact import Redactor
from tests.unit.cli.conftest import WORKS

_CODE = "import sys; from pathlib import Path; from edgectl import cli, content; {patch}; cli.main()"


@pytest.fixture
def former(tmp_path: Path) -> None:
    """The log of a run over three hosts that took five minutes."""
    directory = new_run_directory("bootstrap", tmp_path / "state" / "edgectl" / "runs")
    with RunLog(directory, Redactor()) as log:
        log.take(PhaseFinished(0.0, "Machine", 100.0))
        log.take(PhaseFinished(0.0, "Verify", 200.0))
        log.take(Tally(0.0, {host: {"failures": 0, "dark": 0} for host in "abc"}))


def on_a_terminal(playbook: Path, inventory: Path, *options: str) -> str:
    """All that bootstrap writes on a terminal of 80 columns and 24 lines."""
    ours, theirs = pty.openpty()
    code = _CODE.format(patch=f"content.playbook = lambda verb: Path({str(playbook)!r})")
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80", "LINES": "24", "PYTHONUTF8": "1"}
    with subprocess.Popen(
        [sys.executable, "-c", code, "bootstrap", str(inventory), *options],
        stdin=theirs, stdout=theirs, stderr=theirs, env=environment,
    ):  # fmt: skip
        os.close(theirs)
        written = b""
        while True:
            try:
                written += os.read(ours, 65536)
            except OSError:  # how Linux says that the other end is closed
                break
    os.close(ours)
    return written.decode()


@pytest.mark.usefixtures("former")
def test_a_terminal_shows_all_hosts_from_the_start_and_how_long_it_may_take(tmp_path: Path, inventory: Path) -> None:
    playbook = tmp_path / "playbook.yml"
    playbook.write_text(WORKS)
    written = on_a_terminal(playbook, inventory)
    first, _, rest = written.partition("about ")
    assert all(name in first for name in ("starting Ansible", "Machine", "Verify", "nuc1", "nuc2", "orin1"))
    # The phases are over in no time; the estimate goes by the former run all the same.
    assert rest.split()[1] == "min"
    assert "edgectl kubectl" in rest


@pytest.mark.usefixtures("former")
def test_plain_on_a_terminal_is_lines_without_control_characters(tmp_path: Path, inventory: Path) -> None:
    playbook = tmp_path / "playbook.yml"
    playbook.write_text(WORKS)
    written = on_a_terminal(playbook, inventory, "--plain")
    assert "  orin1: changed: Packages" in written
    assert "\x1b" not in written
