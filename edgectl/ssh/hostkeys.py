"""First contact and changed host keys: what is shown, asked, stored and refused.

A key is fetched without logging in, so a stranger gets no password and no agent. Certificates' authorities and keys
that the user or the system knows already count as known.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from edgectl.errors import Problems, UnreachableError
from edgectl.ssh import connection, known_hosts, openssh
from edgectl.ssh.everywhere import CONNECT_TIMEOUT
from edgectl.ssh.known_hosts import HostKey, KnownHosts
from edgectl.ssh.result import ConnectionTrouble, Trouble
from edgectl.ssh.target import Endpoint, Target, client_arguments, resolve


@dataclass(frozen=True)
class Stranger:
    """A host whose key is not known yet."""

    target: Target
    endpoint: Endpoint
    key: HostKey


def ensure(
    targets: Iterable[Target],
    *,
    accept_new: bool,
    ask: Callable[[Sequence[Stranger]], bool] | None,
    recorded: Mapping[str, Sequence[str]] | None = None,
    command: str = "",
) -> dict[str, ConnectionTrouble]:
    """See that every target's host key is known, asking once about all new ones.

    ask: shows the strangers and returns the user's answer; None where there is nobody to ask.
    recorded: fingerprints that an earlier run wrote to the state file; a key among them needs no question.
    command: what the user ran, for the message that names `--accept-new-host-keys`.
    Returns the hosts that showed no key and why. Raises UnreachableError (or Problems of them) on a changed key and
    when new ones are not accepted; nothing is stored then.
    """
    wanted = [target for target in targets if not target.local]
    answers = _look_at(wanted)
    strangers = [answer for answer in answers if isinstance(answer, Stranger)]
    silent = {
        target.name: answer
        for target, answer in zip(wanted, answers, strict=True)
        if isinstance(answer, ConnectionTrouble)
    }
    changed = [error for stranger in strangers if (error := _changed(stranger, (recorded or {})))]
    if changed:
        raise Problems(changed)
    unknown = [s for s in strangers if s.key.fingerprint not in (recorded or {}).get(s.target.name, ())]
    if unknown and not accept_new:
        _ask_about(unknown, ask, command)
    by_file: dict[Path, list[tuple[str, HostKey]]] = {}
    for stranger in strangers:
        by_file.setdefault(stranger.target.known_hosts, []).append(
            (stranger.endpoint.known_hosts_name.lower(), stranger.key)
        )
    for path, keys in by_file.items():
        known_hosts.add(path, keys)
    return silent


def _look_at(targets: Sequence[Target]) -> list[Stranger | ConnectionTrouble | None]:
    def one(target: Target) -> Stranger | ConnectionTrouble | None:
        known = KnownHosts.read(target.known_hosts)
        try:
            endpoint = resolve(target)
            if known.authorities(endpoint.known_hosts_name):
                return None
            key = fetch(target, endpoint, known)
        except ConnectionTrouble as trouble:
            return trouble
        return None if known.trusts(endpoint.known_hosts_name, key) else Stranger(target, endpoint, key)

    if not targets:
        return []
    with ThreadPoolExecutor(max_workers=min(64, len(targets)), thread_name_prefix="hostkey") as pool:
        return list(pool.map(one, targets))


def fetch(target: Target, endpoint: Endpoint, known: KnownHosts) -> HostKey:
    """The key that a host shows, of a type that is known for it if it has one."""
    if not endpoint.proxied:
        return connection.fetch_host_key(endpoint, known, CONNECT_TIMEOUT)
    types = [entry.key.type for entry in known.keys(endpoint.known_hosts_name)]
    with tempfile.TemporaryDirectory(prefix="edgectl-") as directory:
        file = Path(directory) / "known_hosts"
        options = [
            "StrictHostKeyChecking=accept-new",
            f"UserKnownHostsFile={file}",
            "GlobalKnownHostsFile=/dev/null",
            "HashKnownHosts=no",
            "ControlMaster=no",
            "ControlPath=none",
            "BatchMode=yes",
            "PreferredAuthentications=none",
            f"ConnectTimeout={CONNECT_TIMEOUT:.0f}",
        ]
        if types:
            # `^` puts these types in front of OpenSSH's own list.
            options.append("HostKeyAlgorithms=^" + ",".join(types).replace("ssh-rsa", "rsa-sha2-512,rsa-sha2-256"))
        command = ["ssh", *(part for option in options for part in ("-o", option))]
        stderr = _attempt([*command, "-T", *client_arguments(target), "true"])
        entries = known_hosts.parse(file.read_text(), file) if file.exists() else []
    if not entries:
        raise openssh.trouble(stderr)
    return entries[0].key


def _attempt(command: list[str]) -> str:
    """Run ssh up to the login, which it is told not to try; its messages."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=3 * CONNECT_TIMEOUT,
            start_new_session=True,
        )
    except subprocess.TimeoutExpired as error:
        raise ConnectionTrouble(Trouble.TIMEOUT, f"no answer within {3 * CONNECT_TIMEOUT:.0f} s") from error
    return done.stderr


def _changed(stranger: Stranger, recorded: Mapping[str, Sequence[str]]) -> UnreachableError | None:
    name, key, host = stranger.endpoint.known_hosts_name, stranger.key, stranger.target.name
    known = KnownHosts.read(stranger.target.known_hosts)
    if known.revoked(key):
        return UnreachableError(
            f"{host} shows a host key that is marked as revoked",
            f"{key.short_type} {key.fingerprint}",
            "give the host new keys: sudo rm /etc/ssh/ssh_host_* && sudo dpkg-reconfigure openssh-server",
        )
    if entries := known.keys(name):
        seen = ", ".join(f"{entry.key.short_type} {entry.key.fingerprint}" for entry in entries)
        return UnreachableError(
            f"{host} shows another host key than before; it was reinstalled, or something stands in between",
            f"known: {seen} ({entries[0].source}); shown now: {key.short_type} {key.fingerprint}",
            "if you know why: " + " && ".join(dict.fromkeys(known_hosts.removal(entry, name) for entry in entries)),
        )
    fingerprints = recorded.get(host, ())
    if fingerprints and key.fingerprint not in fingerprints:
        return UnreachableError(
            f"{host} shows another host key than the one in edgectl.state.yml",
            f"recorded: {', '.join(fingerprints)}; shown now: {key.short_type} {key.fingerprint}",
            f"if {host} was reinstalled, remove its `ssh_host_keys` from edgectl.state.yml",
        )
    return None


def _ask_about(strangers: Sequence[Stranger], ask: Callable[[Sequence[Stranger]], bool] | None, command: str) -> None:
    if ask is not None and ask(strangers):
        return
    names = ", ".join(stranger.target.name for stranger in strangers)
    what = f"the host key of {names} is" if len(strangers) == 1 else f"the host keys of {names} are"
    file = f"/etc/ssh/ssh_host_{strangers[0].key.short_type.lower()}_key.pub"
    raise UnreachableError(
        f"{what} not known yet",
        ", ".join(f"{s.target.name} {s.key.short_type} {s.key.fingerprint}" for s in strangers),
        f"compare with `ssh-keygen -lf {file}` on the host, then: {command or 'edgectl ...'} --accept-new-host-keys",
    )
