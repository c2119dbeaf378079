"""The WireGuard configuration of a machine outside the inventory: its key pair, the file's text, its QR code."""

from __future__ import annotations

import base64
import io
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from edgectl.errors import EdgectlError, UsageError

# wg-quick(8) and the apps name the tunnel after the file, and Linux allows an interface's name 15 characters.
_TUNNEL_NAME = re.compile(r"[A-Za-z0-9_=+.-]{1,15}")


@dataclass(frozen=True)
class KeyPair:
    """A WireGuard key pair, both halves in base64 as `wg genkey` and `wg pubkey` print them."""

    private: str = field(repr=False)
    public: str


@dataclass(frozen=True)
class HostEntry:
    """What a peer keeps about one host. `endpoint` is empty for a host that cannot be called."""

    name: str
    public_key: str
    allowed_ips: tuple[str, ...]
    endpoint: str = ""

    @classmethod
    def from_role(cls, entry: Mapping[str, object]) -> HostEntry:
        """From an entry of the filter `edgectl_wireguard_peers`."""
        networks = entry["allowed_ips"]
        if not isinstance(networks, Sequence):
            raise TypeError(f"allowed_ips is no list: {networks!r}")
        return cls(str(entry["name"]), str(entry["public_key"]), tuple(map(str, networks)), str(entry["endpoint"]))


def make_keys() -> KeyPair:
    """A new X25519 key pair."""
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    key = X25519PrivateKey.generate()
    private, public = key.private_bytes_raw(), key.public_key().public_bytes_raw()
    return KeyPair(base64.b64encode(private).decode(), base64.b64encode(public).decode())


def configuration(keys: KeyPair, address: str, hosts: Sequence[HostEntry], *, mtu: int, keepalive: int) -> str:
    """The text of a configuration that wg-quick and the WireGuard apps read.

    address: in the tunnel, without a prefix. mtu: in bytes. keepalive: in seconds; the peer sends it, because the
    hosts do not know where to call it.
    """
    lines = ["[Interface]", f"PrivateKey = {keys.private}", f"Address = {address}/32", f"MTU = {mtu}"]
    for host in hosts:
        lines += ["", f"# {host.name}", "[Peer]", f"PublicKey = {host.public_key}"]
        lines.append(f"AllowedIPs = {', '.join(host.allowed_ips)}")
        if host.endpoint:
            lines += [f"Endpoint = {host.endpoint}", f"PersistentKeepalive = {keepalive}"]
    return "\n".join(lines) + "\n"


def check_target(file: Path) -> None:
    """Refuse a file that could not be written, or that would not work, before anything else is done."""
    if not _TUNNEL_NAME.fullmatch(file.stem) or file.suffix != ".conf":
        raise UsageError(
            f"{file} cannot be the name of a WireGuard configuration",
            "WireGuard names the tunnel after the file: at most 15 letters, digits and any of _=+.-, then .conf",
            "give another one, for example --output home.conf",
        )
    if file.exists():
        raise UsageError(
            f"{file} exists, and edgectl overwrites no private key",
            fix="give another file by --output, or move that one away",
        )
    if not os.access(file.absolute().parent, os.W_OK | os.X_OK):
        raise UsageError(f"{file} cannot be written", f"{file.absolute().parent} is no directory of yours")


def write(file: Path, text: str) -> None:
    """Write a configuration that only its owner can read, never over another file."""
    try:
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as stream:
            stream.write(text)
    except OSError as error:
        raise EdgectlError(f"{file} cannot be written", str(error.strerror)) from error


def qr_code(text: str) -> str:
    """A QR code in characters, for the WireGuard app's camera. Comments are left out, which makes it smaller."""
    import segno

    bare = "".join(line + "\n" for line in text.splitlines() if line and not line.startswith("#"))
    try:
        code = segno.make(bare, error="l", micro=False)
    except segno.DataOverflowError as error:
        raise EdgectlError(
            "the configuration is too long for a QR code",
            f"it has {len(bare)} characters, and the largest code holds 2953",
            "copy the file to the machine instead",
        ) from error
    drawn = io.StringIO()
    code.terminal(out=drawn, compact=True)
    return drawn.getvalue()
