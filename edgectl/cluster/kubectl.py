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
from edgectl.ssh.target import Target

# Where each distribution keeps the administrator's kubeconfig on a control plane.
KUBECONFIGS = {"kubeadm": "/etc/kubernetes/admin.conf"}


def run(inventory: Inventory, arguments: Sequence[str]) -> int:
    """Run kubectl and return its exit code."""
    target = _control_plane(inventory)
    distribution = str(inventory.option("cluster_distribution", "kubeadm"))
    kubeconfig = KUBECONFIGS.get(distribution, KUBECONFIGS["kubeadm"])
    command = shlex.join(["kubectl", "--kubeconfig", kubeconfig, *arguments])
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


def remote_line(command: str, target: Target, *, terminal: bool) -> tuple[str, str | None]:
    """The command for the remote shell, and a first line of standard input when sudo's password must go there.

    On a terminal sudo asks for its password itself, when it wants one.
    """
    quoted = shlex.quote(command)
    if terminal or target.become_password is None:
        sudo = "sudo" if terminal else "sudo -n"
        script = f'[ "$(id -u)" = 0 ] && exec sh -c {quoted}; exec {sudo} sh -c {quoted}'
        return f"exec sh -c {shlex.quote(script)}", None
    from edgectl.ssh.everywhere import sudo as through_sudo

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
