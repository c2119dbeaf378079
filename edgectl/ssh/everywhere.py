"""The same command on all hosts at once; one that hangs keeps no other from answering."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

from edgectl.errors import EdgectlError
from edgectl.ssh import connection, openssh
from edgectl.ssh.known_hosts import KnownHosts
from edgectl.ssh.result import ConnectionTrouble, Result, Trouble
from edgectl.ssh.target import Target, resolve

CONNECT_TIMEOUT = 10.0
COMMAND_TIMEOUT = 60.0
_MOST_AT_ONCE = 64


def run_everywhere(
    targets: Iterable[Target],
    command: str,
    *,
    stdin: str = "",
    as_root: bool = False,
    connect_timeout: float = CONNECT_TIMEOUT,
    timeout: float = COMMAND_TIMEOUT,
) -> dict[str, Result]:
    """Run a shell command on every target in parallel; the answers stand in the order of the targets.

    as_root: through sudo unless the login is root already, with the target's become password where it has one.
    """
    wanted = list(targets)

    def one(target: Target) -> Result:
        line, text = sudo(command, stdin, target) if as_root else (command, stdin)
        return run_on(target, line, stdin=text, connect_timeout=connect_timeout, timeout=timeout)

    if not wanted:
        return {}
    with ThreadPoolExecutor(max_workers=min(_MOST_AT_ONCE, len(wanted)), thread_name_prefix="ssh") as pool:
        return {target.name: result for target, result in zip(wanted, pool.map(one, wanted), strict=True)}


def run_on(
    target: Target,
    command: str,
    *,
    stdin: str = "",
    connect_timeout: float = CONNECT_TIMEOUT,
    timeout: float = COMMAND_TIMEOUT,
) -> Result:
    """Run on one host: paramiko where it can, OpenSSH for what only OpenSSH can do.

    That is: jump hosts, host certificates, and logins that paramiko fails at (keys in hardware, GSSAPI ...).
    """
    if target.local:
        return _run_here(command, stdin, timeout)
    try:
        endpoint = resolve(target)
        known = KnownHosts.read(target.known_hosts)
        if not endpoint.proxied and not known.authorities(endpoint.known_hosts_name):
            try:
                return connection.run(
                    target, endpoint, known, command, stdin=stdin, connect_timeout=connect_timeout, timeout=timeout
                )
            except ConnectionTrouble as trouble:
                if trouble.trouble is not Trouble.AUTHENTICATION:
                    return trouble.result()
        return openssh.run(target, command, stdin=stdin, connect_timeout=connect_timeout, timeout=timeout)
    except ConnectionTrouble as trouble:
        return trouble.result()
    except EdgectlError as error:
        return Result(trouble=Trouble.UNREACHABLE, reason=error.why or error.what)


def sudo(command: str, stdin: str, target: Target) -> tuple[str, str]:
    """A command line that runs as root, and its standard input.

    A password goes only to a sudo that is sure to read it (`-k` forgets an earlier login), because one that needs
    none would leave it to the command as the first line of its input.
    """
    if not target.become:
        return command, stdin
    quoted = shlex.quote(command)
    as_root = f'[ "$(id -u)" = 0 ] && exec sh -c {quoted}; '
    if target.become_password is None:
        script = f"{as_root} exec sudo -n sh -c {quoted}"
        return f"exec sh -c {shlex.quote(script)}", stdin
    script = (
        f"IFS= read -r password; {as_root} sudo -n true 2>/dev/null </dev/null && exec sudo -n sh -c {quoted}; "
        f"""{{ printf '%s\\n' "$password"; cat; }} | sudo -k -S -p '' sh -c {quoted}"""
    )
    # The login shell may be fish or csh: only `exec sh -c '...'` means the same in all of them.
    return f"exec sh -c {shlex.quote(script)}", f"{target.become_password}\n{stdin}"


def _run_here(command: str, stdin: str, timeout: float) -> Result:
    try:
        answer = subprocess.run(
            ["sh", "-c", command], input=stdin, capture_output=True, text=True, check=False, timeout=timeout
        )
    except subprocess.TimeoutExpired:
        return Result(trouble=Trouble.TIMEOUT, reason=f"no answer within {timeout:.0f} s")
    return Result(answer.returncode, answer.stdout, answer.stderr)
