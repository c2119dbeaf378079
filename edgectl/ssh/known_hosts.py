"""OpenSSH's known_hosts files: reading (hashed names, `[host]:port`, patterns, markers) and adding to ours.

The format is that of sshd(8), "SSH_KNOWN_HOSTS FILE FORMAT".
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

# Both are used as OpenSSH uses them when nothing is configured; edgectl never writes to them.
USER_FILES = ("~/.ssh/known_hosts", "~/.ssh/known_hosts2")
SYSTEM_FILES = ("/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2")


@dataclass(frozen=True)
class HostKey:
    """A public host key: its type, such as `ssh-ed25519`, and its base64 body."""

    type: str
    body: str

    @property
    def fingerprint(self) -> str:
        """`SHA256:...`, as `ssh-keygen -l` prints it."""
        digest = hashlib.sha256(base64.b64decode(self.body)).digest()
        return "SHA256:" + base64.b64encode(digest).decode().rstrip("=")

    @property
    def short_type(self) -> str:
        """The type as people call it: ED25519, ECDSA, RSA."""
        return self.type.removeprefix("ssh-").removeprefix("sk-").split("-")[0].upper()


@dataclass(frozen=True)
class Entry:
    """One line of a known_hosts file."""

    names: str
    key: HostKey
    marker: str
    source: Path

    def matches(self, name: str) -> bool:
        """Whether the line is about this host: `host` or `[host]:port`, in lower case."""
        if self.names.startswith("|1|"):
            return _matches_hash(self.names, name)
        found = False
        for pattern in self.names.split(","):
            # OpenSSH's patterns know only * and ?; brackets are literal, as in [host]:2222.
            glob = pattern.lstrip("!").lower().replace("[", "[[]")
            if fnmatchcase(name, glob):
                if pattern.startswith("!"):
                    return False
                found = True
        return found


def _matches_hash(names: str, name: str) -> bool:
    try:
        _, _, salt, digest = names.split("|")
        expected = hmac.new(base64.b64decode(salt), name.encode(), hashlib.sha1).digest()
        return hmac.compare_digest(expected, base64.b64decode(digest))
    except (ValueError, binascii.Error):
        return False


def parse(text: str, source: Path) -> list[Entry]:
    """All readable lines; like OpenSSH, silently passes over those that are not."""
    entries = []
    for line in text.splitlines():
        fields = line.split()
        if not fields or fields[0].startswith("#"):
            continue
        marker = fields.pop(0) if fields[0].startswith("@") else ""
        if len(fields) < 3:
            continue
        names, key_type, body = fields[:3]
        try:
            base64.b64decode(body, validate=True)
        except binascii.Error:
            continue
        entries.append(Entry(names, HostKey(key_type, body), marker, source))
    return entries


class KnownHosts:
    """Every key that counts as known: the inventory's own file first, then the user's and the system's."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._entries = list(entries)

    @classmethod
    def read(cls, own: Path) -> KnownHosts:
        """Read the inventory's file and the user's and system's ones; missing files are empty."""
        entries: list[Entry] = []
        for path in (own, *(Path(name).expanduser() for name in (*USER_FILES, *SYSTEM_FILES))):
            try:
                entries += parse(path.read_text(encoding="utf-8", errors="replace"), path)
            except OSError:
                continue
        return cls(entries)

    def keys(self, name: str) -> list[Entry]:
        """The plain entries for a host. Certificate authorities are left to OpenSSH."""
        return [entry for entry in self._entries if not entry.marker and entry.matches(name.lower())]

    def authorities(self, name: str) -> bool:
        """Whether a certificate authority vouches for this host."""
        return any(entry.marker == "@cert-authority" and entry.matches(name.lower()) for entry in self._entries)

    def revoked(self, key: HostKey) -> bool:
        """Whether someone marked this key as stolen."""
        return any(entry.marker == "@revoked" and entry.key == key for entry in self._entries)

    def trusts(self, name: str, key: HostKey) -> bool:
        """Whether this very key is known for this host."""
        return not self.revoked(key) and any(entry.key == key for entry in self.keys(name))


def add(path: Path, keys: Iterable[tuple[str, HostKey]]) -> None:
    """Append keys to the inventory's file, made 0600 in a 0700 directory."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.parent.chmod(0o700)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        os.fchmod(file.fileno(), 0o600)
        file.writelines(f"{name} {key.type} {key.body}\n" for name, key in keys)


def option(own: Path) -> str:
    """The value of OpenSSH's UserKnownHostsFile: ours, then the user's."""
    quoted = [f'"{path}"'.replace("%", "%%") for path in (own, *USER_FILES)]
    return "UserKnownHostsFile=" + " ".join(quoted)


def removal(entry: Entry, name: str) -> str:
    """The command that takes one host out of the file where its old key was found."""
    sudo = "" if os.access(entry.source, os.W_OK) else "sudo "
    return f"{sudo}ssh-keygen -R {shlex.quote(name)} -f {shlex.quote(str(entry.source))}"
