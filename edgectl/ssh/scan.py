"""Looks for SSH servers in a network: one connection an address, which reads the banner and closes."""

from __future__ import annotations

import socket
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network

from edgectl.errors import UsageError

LARGEST = 22
"""The shortest prefix that is scanned: 1022 addresses, some ten seconds."""
_AT_ONCE = 128
_TIMEOUT = 1.0
# RFC 4253 section 4.2: the identification line has at most 255 characters, and other lines may come before it.
_MOST_BYTES = 2048
# Addresses of carrier-grade NAT, which Tailscale and others use too (RFC 6598).
_SHARED = IPv4Network("100.64.0.0/10")


@dataclass(frozen=True)
class SshServer:
    """Something that spoke SSH. banner: such as `SSH-2.0-OpenSSH_9.6p1 Ubuntu-3ubuntu13.5`."""

    address: IPv4Address
    banner: str


def parse_network(text: str) -> IPv4Network:
    """A network that may be scanned: private, and no larger than a /22."""
    try:
        network = IPv4Network(text, strict=False)
    except ValueError as error:
        raise UsageError(f"--scan {text}: no network", str(error), "for example --scan 192.168.1.0/24") from error
    if network.prefixlen < LARGEST:
        raise UsageError(
            f"--scan {text}: {network.num_addresses} addresses are too many",
            f"at most a /{LARGEST} is scanned",
            f"scan a part of it, for example --scan {network.network_address}/24",
        )
    if not network.is_private and not network.subnet_of(_SHARED):
        raise UsageError(
            f"--scan {text}: this is a public network",
            "edgectl looks for machines in private networks only; others may not want to be looked at",
            "name the machine instead: --host NAME=USER@ADDRESS",
        )
    return network


def scan(network: IPv4Network, port: int = 22, timeout: float = _TIMEOUT) -> list[SshServer]:
    """The SSH servers of a network, by address. timeout: seconds to wait for a connection, and for the banner."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        banners = pool.map(lambda address: (address, _banner(str(address), port, timeout)), network.hosts())
        return [SshServer(address, banner) for address, banner in banners if banner]


def _banner(address: str, port: int, timeout: float) -> str:
    received = b""
    try:
        with socket.create_connection((address, port), timeout=timeout) as connection:
            end = time.monotonic() + timeout
            while len(received) < _MOST_BYTES and _identification(received) is None:
                connection.settimeout(max(end - time.monotonic(), 0.001))
                part = connection.recv(256)
                if not part:
                    break
                received += part
    except OSError:
        return ""
    return _identification(received) or ""


def _identification(received: bytes) -> str | None:
    """The line with which the server names itself, without anything that a terminal would obey."""
    for line in received.split(b"\n")[:-1]:
        if line.startswith(b"SSH-"):
            return "".join(letter for letter in line.decode("ascii", "replace").strip() if letter.isprintable())
    return None
