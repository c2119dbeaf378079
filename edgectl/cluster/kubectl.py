"""kubectl on the control plane, through the OpenSSH client: streams and terminal as if it ran here."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Sequence

from edgectl.cluster.remote import control_plane
from edgectl.errors import UnreachableError
from edgectl.inventory import Inventory
from edgectl.ssh import openssh, secrets
from edgectl.ssh.everywhere import sudo as through_sudo
from edgectl.ssh.target import Target

# Where each distribution keeps the administrator's kubeconfig on a control plane.
KUBECONFIGS = {"kubeadm": "/etc/kubernetes/admin.conf", "k3s": "/etc/rancher/k3s/k3s.yaml"}


def run(inventory: Inventory, arguments: Sequence[str]) -> int:
    """Run kubectl and return its exit code."""
    target = _control_plane(inventory)
    command = command_line(inventory, arguments)
    if target.local:
        return subprocess.call(["sudo", "sh", "-c", command])
    terminal = sys.stdin.isatty() and sys.stdout.isatty()
    line, first = remote_line(command, target, terminal=terminal)
    ssh = openssh.command_line(target, line, terminal=terminal)
    code = subprocess.call(ssh) if first is None else _feed(ssh, first)
    if code == openssh.CONNECTION_FAILED:
        raise UnreachableError(
            f"{target.name} cannot be reached",
            "ssh says why, above",
            f"first contact, or a changed host key: edgectl bootstrap {shlex.quote(str(inventory.path))} looks into it",
        )
    return code


def command_line(inventory: Inventory, arguments: Sequence[str]) -> str:
    """The shell command that runs kubectl on a control plane, with the administrator's kubeconfig."""
    distribution = str(inventory.option("cluster_distribution", "kubeadm"))
    kubeconfig = KUBECONFIGS.get(distribution, KUBECONFIGS["kubeadm"])
    kubectl = ["k3s", "kubectl"] if distribution == "k3s" else ["kubectl"]
    return shlex.join([*kubectl, "--kubeconfig", kubeconfig, *arguments])


def stream(command: str, target: Target) -> int:
    """Let a command that reads nothing speak, as root, until it ends or Ctrl-C; then it has ended on the host too.

    Its exit code; 130 after Ctrl-C.
    """
    # Without a terminal sshd tells a program nothing of a client that has gone: the end of its input has to.
    watched = (
        f"exec 3<&0; {command} </dev/null 3<&- & program=$!; "
        "{ cat <&3; kill $program; } >/dev/null 2>&1 & watch=$!; "
        "wait $program; code=$?; kill $watch; exit $code"
    )
    line, first = through_sudo(watched, "", target)
    arguments = ["sh", "-c", line] if target.local else openssh.command_line(target, line)
    process = subprocess.Popen(arguments, stdin=subprocess.PIPE)
    try:
        if process.stdin is not None and first:
            process.stdin.write(first.encode())
            process.stdin.flush()
        return process.wait()
    except KeyboardInterrupt:
        return 130
    finally:
        if process.stdin is not None:
            process.stdin.close()
        process.wait()


def remote_line(command: str, target: Target, *, terminal: bool) -> tuple[str, str | None]:
    """The command for the remote shell, and a first line of standard input when sudo's password must go there.

    On a terminal sudo asks for its password itself, when it wants one.
    """
    quoted = shlex.quote(command)
    if terminal or target.become_password is None:
        sudo = "sudo" if terminal else "sudo -n"
        script = f'[ "$(id -u)" = 0 ] && exec sh -c {quoted}; exec {sudo} sh -c {quoted}'
        return f"exec sh -c {shlex.quote(script)}", None
    line, stdin = through_sudo(command, "", target)
    return line, stdin


def _feed(ssh: list[str], first: str) -> int:
    """Send one line, then our own standard input."""
    process = subprocess.Popen(ssh, stdin=subprocess.PIPE)
    if process.stdin is None:
        return process.wait()
    try:
        process.stdin.write(first.encode())
        process.stdin.flush()
        if not sys.stdin.isatty():
            while chunk := os.read(sys.stdin.fileno(), 65536):
                process.stdin.write(chunk)
                process.stdin.flush()
        process.stdin.close()
    except BrokenPipeError:
        pass  # kubectl has ended without reading everything
    return process.wait()


def _control_plane(inventory: Inventory) -> Target:
    return secrets.with_password([control_plane(inventory)], secrets.find_become_password())[0]
