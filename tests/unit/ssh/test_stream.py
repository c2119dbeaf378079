"""A command whose output is let through, against a real sshd: it ends here and there."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from edgectl.cluster.kubectl import stream

from .conftest import Server


def test_what_it_says_and_its_exit_code_come_through(
    sshd: Server, known_hosts: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert stream("sh -c 'echo said; echo why >&2; exit 7'", sshd.trusted(known_hosts, become=False)) == 7
    said = capfd.readouterr()
    assert (said.out, said.err) == ("said\n", "why\n")


def test_it_reads_nothing_of_ours_and_works_on_this_machine_too(known_hosts: Path, sshd: Server) -> None:
    assert stream("sh -c '! read -r line'", sshd.target(known_hosts, local=True, become=False)) == 0


@pytest.mark.parametrize("local", [False, True])
def test_ctrl_c_ends_a_silent_command_on_the_host(sshd: Server, known_hosts: Path, tmp_path: Path, local: bool) -> None:
    running = tmp_path / "pid"
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    def interrupt() -> None:
        while not (running.exists() and running.read_text().strip()):
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    try:
        command = f"sh -c 'echo $$ > {running}; exec sleep 60'"
        assert stream(command, sshd.trusted(known_hosts, become=False, local=local)) == 130
    finally:
        signal.signal(signal.SIGINT, before)
    for _ in range(100):
        if not Path(f"/proc/{running.read_text().strip()}").exists():
            return
        time.sleep(0.05)
    pytest.fail("it still runs")
