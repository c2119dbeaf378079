"""A port of this machine that leads to one on a host, for as long as the OpenSSH client runs."""

from __future__ import annotations

import os
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO

from edgectl.errors import UnreachableError, UsageError
from edgectl.ssh import openssh
from edgectl.ssh.target import Target, client_arguments

_READY_TIMEOUT = 30.0
# Long enough to type a password or to touch a key.
_READY_TIMEOUT_ON_TERMINAL = 120.0


@dataclass(frozen=True)
class Forward:
    """An open forwarding. `port` is the local one, on 127.0.0.1."""

    target: Target
    port: int
    process: subprocess.Popen[bytes]
    messages: IO[bytes]

    def hold(self) -> None:
        """Wait until the user interrupts, which is the normal end; UnreachableError when the connection breaks."""
        # `kill` ends it as Ctrl-C does, and takes the client along.
        before = signal.getsignal(signal.SIGTERM)
        try:
            signal.signal(signal.SIGTERM, signal.default_int_handler)
            self.process.wait()
        except KeyboardInterrupt:
            return
        finally:
            signal.signal(signal.SIGTERM, before)
        raise self.broken()

    def broken(self) -> UnreachableError:
        """What to say when the client has ended by itself."""
        return UnreachableError(
            f"the connection to {self.target.name} that carried port {self.port} has ended",
            self.said() or f"ssh ended with {self.process.returncode}",
            "see that the host is up, then run the command again",
        )

    def said(self) -> str:
        """The last line that ssh said."""
        # pread: the client writes through the same file position.
        text = os.pread(self.messages.fileno(), 1 << 16, 0).decode(errors="replace")
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return lines[-1] if lines else ""


@contextmanager
def forward(
    target: Target,
    port: int,
    *,
    local_port: int = 0,
    address: str = "127.0.0.1",
    ready: Callable[[int], str] = lambda _port: "",
) -> Iterator[Forward]:
    """Forward a local port to `port` on the target; closed when the block ends.

    local_port: 0 takes a free one. address: where the port is, as the target sees it. ready: given the local port,
    returns why what is behind it does not answer yet, or nothing when it does; the block is entered only then.
    """
    local_port = free_port(local_port)
    terminal = sys.stdin.isatty()
    arguments = [
        "ssh", "-N", "-T",
        # A connection of its own: a shared one would keep the port open after this command has ended.
        "-o", "ControlMaster=no", "-o", "ControlPath=none",
        "-o", "ExitOnForwardFailure=yes", "-o", "ClearAllForwardings=no", "-o", "ConnectTimeout=15",
        *([] if terminal else ["-o", "BatchMode=yes"]),
        *openssh.checked(target.known_hosts),
        "-L", f"127.0.0.1:{local_port}:{bracketed(address)}:{port}",
        *client_arguments(target),
    ]  # fmt: skip
    with tempfile.TemporaryFile() as messages:
        process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=messages)
        opened = Forward(target, local_port, process, messages)
        try:
            _wait(opened, ready, _READY_TIMEOUT_ON_TERMINAL if terminal else _READY_TIMEOUT)
            yield opened
        finally:
            process.terminate()
            try:
                process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait(opened: Forward, ready: Callable[[int], str], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    reason = "ssh has not opened the port yet"
    while opened.process.poll() is None and time.monotonic() < deadline:
        if _listens(opened.port):
            reason = ready(opened.port)
            if not reason:
                return
        time.sleep(0.1)
    login = shlex.join(["ssh", *client_arguments(opened.target)])
    raise UnreachableError(
        f"no port could be forwarded to {opened.target.name}",
        opened.said() or reason,
        f"see that `{login}` logs in and that its sshd has AllowTcpForwarding on",
    )


def _listens(port: int) -> bool:
    with socket.socket() as sock:
        sock.settimeout(1)
        return sock.connect_ex(("127.0.0.1", port)) == 0


def bracketed(address: str) -> str:
    """An address as it stands before a port."""
    return f"[{address}]" if ":" in address else address


def free_port(wanted: int) -> int:
    """A port of this machine that nobody has: the wanted one, or any for 0. Raises UsageError for one that is taken."""
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind(("127.0.0.1", wanted))
        except OSError as error:
            raise UsageError(
                f"port {wanted} of this machine cannot be used",
                str(error.strerror),
                "choose another one, or leave it out and a free one is taken",
            ) from error
        return int(sock.getsockname()[1])
