"""Commands on hosts, against a real sshd."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

from edgectl.ssh import openssh
from edgectl.ssh.everywhere import run_everywhere, run_on
from edgectl.ssh.known_hosts import add
from edgectl.ssh.result import ConnectionTrouble, Trouble

from .conftest import Server, free_port, make_key


def test_a_command_brings_back_its_output_and_its_exit_code(sshd: Server, known_hosts: Path) -> None:
    result = run_on(sshd.trusted(known_hosts), "cat; echo oops >&2; exit 3", stdin="hello")
    assert (result.rc, result.stdout, result.stderr) == (3, "hello", "oops\n")


def test_input_and_output_larger_than_any_window_pass_through(sshd: Server, known_hosts: Path) -> None:
    text = "0123456789abcdef" * 400_000
    result = run_on(sshd.trusted(known_hosts), "cat", stdin=text)
    assert result.stdout == text


def test_an_unknown_host_key_is_no_connection(sshd: Server, known_hosts: Path) -> None:
    result = run_on(sshd.target(known_hosts), "true")
    assert result.trouble is Trouble.HOST_KEY
    assert "not known" in result.reason


def test_a_login_that_is_refused_is_told_from_a_dead_host(sshd: Server, known_hosts: Path, tmp_path: Path) -> None:
    make_key(tmp_path / "other")
    options = ("-F", "/dev/null", "-o", "IdentitiesOnly=yes")
    stranger = sshd.trusted(known_hosts, identity_file=str(tmp_path / "other"), ssh_args=options)
    dead = sshd.target(known_hosts, name="dead", port=free_port())
    results = run_everywhere([stranger, dead], "true")
    assert results["node1"].trouble is Trouble.AUTHENTICATION
    assert results["dead"].trouble is Trouble.UNREACHABLE
    assert "no SSH server" in results["dead"].reason


def test_a_host_that_never_answers_holds_up_no_other(sshd: Server, known_hosts: Path) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        mute = sshd.target(known_hosts, name="mute", port=silent.getsockname()[1])
        quick = sshd.trusted(known_hosts)
        started = time.monotonic()
        results = run_everywhere([mute, quick], "echo here", connect_timeout=1, timeout=2)
    assert results["node1"].stdout == "here\n"
    assert results["mute"].trouble in (Trouble.UNREACHABLE, Trouble.TIMEOUT)
    assert time.monotonic() - started < 6


def test_a_command_that_hangs_is_given_up(sshd: Server, known_hosts: Path) -> None:
    result = run_on(sshd.trusted(known_hosts), "sleep 60", timeout=0.5)
    assert result.trouble is Trouble.TIMEOUT


def test_a_proxied_host_is_reached_through_openssh(sshd: Server, known_hosts: Path, tmp_path: Path) -> None:
    relay = tmp_path / "relay.py"
    relay.write_text(RELAY.format(port=sshd.port))
    proxy = f"ProxyCommand=python3 {relay}"
    target = sshd.target(known_hosts, address="behind", port=None, ssh_args=("-F", "/dev/null", "-o", proxy))
    assert run_on(target, "true").trouble is Trouble.HOST_KEY
    add(known_hosts, [("behind", sshd.host_key)])
    assert run_on(target, "echo through").stdout == "through\n"


def test_openssh_finds_known_hosts_below_a_path_with_spaces_and_percent_signs(
    sshd: Server, known_hosts: Path, tmp_path: Path
) -> None:
    odd = tmp_path / "my lab 100% h" / "known_hosts"
    target = sshd.target(odd)
    with pytest.raises(ConnectionTrouble):
        openssh.run(target, "true", stdin="", connect_timeout=5, timeout=5)
    assert openssh.run(sshd.trusted(odd), "echo yes", stdin="", connect_timeout=5, timeout=5).stdout == "yes\n"


# netcat need not be installed; Python is.
RELAY = (
    "import socket,sys,threading,os\n"
    "s=socket.create_connection(('127.0.0.1',{port}))\n"
    "def up():\n"
    " while d:=os.read(0,65536): s.sendall(d)\n"
    " s.shutdown(1)\n"
    "threading.Thread(target=up,daemon=True).start()\n"
    "while d:=s.recv(65536): os.write(1,d)\n"
)


def test_a_key_in_the_agent_logs_in(sshd: Server, known_hosts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = subprocess.run(["ssh-agent", "-c"], capture_output=True, text=True, check=True).stdout.split()
    monkeypatch.setenv("SSH_AUTH_SOCK", agent[2].rstrip(";"))
    try:
        subprocess.run(["ssh-add", "-q", str(sshd.directory / "login")], check=True, capture_output=True)
        assert run_on(sshd.trusted(known_hosts, identity_file=None), "echo in").stdout == "in\n"
    finally:
        os.kill(int(agent[5].rstrip(";")), signal.SIGTERM)


def test_what_ssh_says_is_sorted_by_its_remedy() -> None:
    cases = {
        "ssh: connect to host h port 22: Connection refused": Trouble.UNREACHABLE,
        "ssh: connect to host h port 22: Connection timed out": Trouble.TIMEOUT,
        "ssh: Could not resolve hostname h: Name or service not known": Trouble.UNREACHABLE,
        "admin@h: Permission denied (publickey).": Trouble.AUTHENTICATION,
        "No ED25519 host key is known for h and you have requested strict checking.\r\n"
        "Host key verification failed.": Trouble.HOST_KEY,
    }
    assert {text: openssh.trouble(text).trouble for text in cases} == cases
