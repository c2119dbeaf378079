"""The OpenSSH client as a subprocess: for what paramiko cannot do, and for interactive commands.

Jump hosts, `ProxyCommand`, keys in hardware, certificates and GSSAPI work as they do in the user's own terminal.
Host keys are checked against the same files as everywhere else in edgectl.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

from edgectl.ssh import known_hosts
from edgectl.ssh.result import ConnectionTrouble, Result, Trouble
from edgectl.ssh.target import Target, client_arguments

CONNECTION_FAILED = 255  # ssh(1): "exits with the exit status of the remote command or with 255 if an error occurred"

# A unix socket's path holds 107 characters, and ssh appends 17 of its own while it makes one.
_LONGEST_SOCKET_DIRECTORY = 107 - 17 - len("/") - 40


def control_directory() -> Path:
    """Where shared connections live, so that Ansible, the probe and kubectl need one login (and one touch) a host."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    candidates = [Path(runtime) / "edgectl"] if runtime else []
    candidates += [Path.home() / ".cache" / "edgectl", Path(tempfile.gettempdir()) / f"edgectl-{os.getuid()}"]
    for directory in candidates:
        if len(str(directory)) > _LONGEST_SOCKET_DIRECTORY:
            continue
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            continue
        if directory.stat().st_uid == os.getuid():
            directory.chmod(0o700)
            return directory
    return Path(tempfile.mkdtemp(prefix="edgectl-"))


def checked(known_hosts_file: Path) -> list[str]:
    """Options for every connection of ours and of Ansible's: keys are checked, connections shared."""
    options = (
        "StrictHostKeyChecking=yes",
        known_hosts.option(known_hosts_file),
        "UpdateHostKeys=no",
        "ControlMaster=auto",
        "ControlPersist=120s",
        f"ControlPath={control_directory()}/%C",
        "ServerAliveInterval=15",
        "ServerAliveCountMax=4",
    )
    return [argument for option in options for argument in ("-o", option)]


def command_line(target: Target, command: str, *, terminal: bool = False, timeout: float = 15) -> list[str]:
    """The argument list that runs a shell command on a target."""
    arguments = ["ssh", "-o", f"ConnectTimeout={int(timeout)}", *checked(target.known_hosts)]
    # On a terminal, LogLevel keeps errors and leaves out "Shared connection to ... closed".
    arguments += ["-tt", "-o", "LogLevel=ERROR"] if terminal else ["-T", "-o", "BatchMode=yes"]
    return [*arguments, *client_arguments(target), command]


def run(target: Target, command: str, *, stdin: str, connect_timeout: float, timeout: float) -> Result:
    """Run a command and wait for it; never asks anything, since it has no terminal to ask on."""
    try:
        answer = subprocess.run(
            command_line(target, command, timeout=connect_timeout),
            input=stdin.encode(),
            capture_output=True,
            check=False,
            timeout=connect_timeout + timeout,
            start_new_session=True,
        )
    except subprocess.TimeoutExpired as error:
        raise ConnectionTrouble(Trouble.TIMEOUT, f"no answer within {timeout:.0f} s") from error
    stdout, stderr = (stream.decode(errors="replace") for stream in (answer.stdout, answer.stderr))
    if answer.returncode == CONNECTION_FAILED:
        raise trouble(stderr)
    return Result(answer.returncode, stdout, stderr)


def trouble(stderr: str) -> ConnectionTrouble:
    """Sort ssh's own message. What is none of the known ones counts as unreachable, with the message as reason."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    reason = lines[-1] if lines else "ssh gave no reason"
    if any("HOST IDENTIFICATION HAS CHANGED" in line or "Host key verification failed" in line for line in lines):
        return ConnectionTrouble(Trouble.HOST_KEY, reason)
    if "Permission denied" in reason or "Too many authentication failures" in reason:
        return ConnectionTrouble(Trouble.AUTHENTICATION, reason)
    if "timed out" in reason.lower():
        return ConnectionTrouble(Trouble.TIMEOUT, reason)
    return ConnectionTrouble(Trouble.UNREACHABLE, reason)
