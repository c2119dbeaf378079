"""A real sshd on a loopback port, with a host key and a login key of its own, for the tests of edgectl/ssh."""

from __future__ import annotations

import getpass
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from edgectl.ssh.known_hosts import HostKey, add
from edgectl.ssh.target import Target

SSHD = shutil.which("sshd") or ("/usr/sbin/sshd" if Path("/usr/sbin/sshd").exists() else None)


@dataclass
class Server:
    """A running sshd and what is needed to log in to it."""

    directory: Path
    port: int
    process: subprocess.Popen[bytes]

    @property
    def host_key(self) -> HostKey:
        kind, body, *_ = (self.directory / "host.pub").read_text().split()
        return HostKey(kind, body)

    def target(self, known_hosts: Path, **options: object) -> Target:
        defaults: dict[str, object] = {
            "name": "node1",
            "address": "127.0.0.1",
            "port": self.port,
            "user": getpass.getuser(),
            "identity_file": str(self.directory / "login"),
            "known_hosts": known_hosts,
            "ssh_args": ("-F", "/dev/null"),
        }
        return Target(**{**defaults, **options})  # type: ignore[arg-type]

    def trusted(self, known_hosts: Path, **options: object) -> Target:
        add(known_hosts, [(f"[127.0.0.1]:{self.port}", self.host_key)])
        return self.target(known_hosts, **options)


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def make_key(path: Path, kind: str = "ed25519") -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", kind, "-N", "", "-f", str(path)], check=True)


@pytest.fixture(scope="session")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    if SSHD is None:
        pytest.skip("no sshd here: apt install openssh-server")
    directory = tmp_path_factory.mktemp("sshd")
    make_key(directory / "host")
    make_key(directory / "login")
    shutil.copy(directory / "login.pub", directory / "authorized_keys")
    port = free_port()
    (directory / "sshd_config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {directory}/host\n"
        f"AuthorizedKeysFile {directory}/authorized_keys\nStrictModes no\nUsePAM no\n"
        f"PidFile none\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n"
        "PermitRootLogin prohibit-password\nMaxStartups 100\n"
    )
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    process = subprocess.Popen(
        [SSHD, "-D", "-e", "-f", str(directory / "sshd_config")], stderr=(directory / "log").open("wb")
    )
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        if process.poll() is not None:
            pytest.skip(f"sshd does not start here: {(directory / 'log').read_text()}")
        with socket.socket() as sock:
            if sock.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.05)
    yield Server(directory, port, process)
    process.terminate()
    process.wait(timeout=10)


@pytest.fixture
def sockets() -> Iterator[Path]:
    """A directory whose name is short enough for a socket's path, which pytest's are not."""
    with tempfile.TemporaryDirectory(prefix="e") as directory:
        yield Path(directory)
        for socket_file in Path(directory).iterdir():
            subprocess.run(["ssh", "-o", f"ControlPath={socket_file}", "-O", "exit", "x"], capture_output=True)


@pytest.fixture
def known_hosts(tmp_path: Path, sockets: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The inventory's file; the user's own stay out of the test."""
    monkeypatch.setattr("edgectl.ssh.known_hosts.USER_FILES", ())
    monkeypatch.setattr("edgectl.ssh.known_hosts.SYSTEM_FILES", ())
    monkeypatch.setattr("edgectl.ssh.openssh.control_directory", lambda: sockets)
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    return tmp_path / ".edgectl" / "known_hosts"
