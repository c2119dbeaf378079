#!/usr/bin/python3
"""Brings a running WireGuard tunnel in line with its files, without restarting it.

    wireguard-sync [--check] INTERFACE

Reads /etc/wireguard/INTERFACE.interface.conf and one file per peer in /etc/wireguard/INTERFACE.peers/, assembles
INTERFACE.conf for wg-quick, and then corrects only what differs in the running tunnel: port and peers (`wg syncconf`),
address, MTU, routes and the forwarding guard. Connections through the tunnel, Ansible's own included, survive it.

Prints `changed` or `unchanged`; what was done goes to stderr. Runs on the hosts: Python 3.8, standard library only.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

CONFIG_DIR = Path("/etc/wireguard")
LIBRARY = Path("/usr/local/lib/edgectl")
PUBLIC_KEY = re.compile(r"[A-Za-z0-9+/]{43}=")
HEADER = "# Written by edgectl (wireguard-sync) from {name}.interface.conf and {name}.peers/. Changes here are lost.\n"


class SyncError(Exception):
    """What is wrong with the files, or which command refused; one line, for the person who runs edgectl."""


@dataclass(frozen=True)
class Peer:
    allowed_ips: frozenset[str] = frozenset()
    keepalive: str = "off"


@dataclass(frozen=True)
class Tunnel:
    """What the files ask for. `address` has its prefix, such as 10.200.0.1/32."""

    address: str
    mtu: int
    listen_port: int
    peers: dict[str, Peer] = field(default_factory=dict)

    def routes(self) -> frozenset[str]:
        return frozenset(network for peer in self.peers.values() for network in peer.allowed_ips)


def run(*command: str, stdin: str | None = None) -> str:
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        # The last line only: `wg` quotes what it cannot read, which might be the private key, in those before it.
        last = (done.stderr.strip() or done.stdout.strip() or "no output").splitlines()[-1]
        raise SyncError(f"`{' '.join(command)}` failed: {last}")
    return done.stdout


# -- the files ---------------------------------------------------------------------------------------------------


def assemble(interface: str, config_dir: Path) -> str:
    """The text of INTERFACE.conf: the interface's section, then the peers by name."""
    settings = config_dir / f"{interface}.interface.conf"
    if not settings.is_file():
        raise SyncError(f"{settings} is missing")
    peers = sorted((config_dir / f"{interface}.peers").glob("*.conf"))
    parts = [settings.read_text(), *(peer.read_text() for peer in peers)]
    return HEADER.format(name=interface) + "\n" + "\n".join(part.strip() + "\n" for part in parts)


def strip(interface: str, text: str) -> str:
    """What `wg` itself reads of the configuration. Refuses a result that would wipe the tunnel's peers."""
    with tempfile.TemporaryDirectory(prefix="edgectl-") as directory:
        candidate = Path(directory) / f"{interface}.conf"
        candidate.touch(mode=0o600)
        candidate.write_text(text)
        stripped = run("wg-quick", "strip", str(candidate))
    if "[Interface]" not in stripped:
        raise SyncError(f"`wg-quick strip` left nothing of {interface}.conf; the running tunnel is left as it is")
    return stripped


def sections(text: str) -> list[tuple[str, list[tuple[str, str]]]]:
    """[("Interface", [("address", "10.200.0.1/32"), ...]), ("Peer", [...]), ...]; keys in lower case."""
    found: list[tuple[str, list[tuple[str, str]]]] = []
    for raw in text.splitlines():
        line = raw.split("#", 1)[0].strip()
        if line.startswith("["):
            found.append((line.strip("[]"), []))
        elif "=" in line and found:
            key, value = line.split("=", 1)
            found[-1][1].append((key.strip().lower(), value.strip()))
    return found


def tunnel(text: str) -> Tunnel:
    interface: dict[str, str] = {}
    peers: dict[str, Peer] = {}
    for name, pairs in sections(text):
        values = dict(pairs)
        if name == "Interface":
            interface = values
            continue
        key = values.get("publickey", "")
        if not PUBLIC_KEY.fullmatch(key):
            raise SyncError(f"`{key}` is not a WireGuard public key")
        if key in peers:
            raise SyncError(f"two peers have the public key {key}: is one of them a copy of the other's disk?")
        networks = frozenset(part.strip() for part in values.get("allowedips", "").split(",") if part.strip())
        if any(network.endswith("/0") for network in networks):
            raise SyncError(f"peer {key} asks for a default route through the tunnel, which edgectl never sets up")
        peers[key] = Peer(networks, values.get("persistentkeepalive", "off"))
    try:
        return Tunnel(interface["address"], int(interface["mtu"]), int(interface["listenport"]), peers)
    except (KeyError, ValueError) as error:
        raise SyncError(f"the interface's section lacks a usable Address, MTU or ListenPort ({error})") from error


# -- the running tunnel ------------------------------------------------------------------------------------------


def exists(interface: str) -> bool:
    return Path("/sys/class/net", interface).exists()


def running_peers(interface: str) -> dict[str, Peer]:
    # Three commands rather than `wg show dump`, whose output begins with the private key.
    allowed = dict(line.split("\t", 1) for line in run("wg", "show", interface, "allowed-ips").splitlines())
    keepalive = dict(line.split("\t", 1) for line in run("wg", "show", interface, "persistent-keepalive").splitlines())
    return {
        key: Peer(frozenset(networks.replace("(none)", "").split()), keepalive.get(key, "off"))
        for key, networks in allowed.items()
    }


def with_private_key(stripped: str, key_file: Path) -> str:
    """`wg syncconf` clears the private key of an interface when its input has none."""
    return stripped.replace("[Interface]", "[Interface]\nPrivateKey = " + key_file.read_text().strip(), 1)


class Changes:
    """Carries out changes, or under --check only says them."""

    def __init__(self, check: bool) -> None:
        self.check = check
        self.made: list[str] = []

    def note(self, what: str) -> bool:
        """Records a change; True when it is to be carried out."""
        self.made.append(what)
        print(what, file=sys.stderr)
        return not self.check

    def command(self, *command: str) -> None:
        if self.note(" ".join(command)):
            run(*command)


def sync_file(path: Path, text: str, changes: Changes) -> bool:
    """True when the file's content differs from what it should be."""
    current = path.read_text() if path.exists() else None
    if current == text:
        return False
    if changes.note(f"write {path}"):
        candidate = path.with_name(path.name + ".new")
        candidate.touch(mode=0o600)
        candidate.write_text(text)
        candidate.replace(path)
    return True


def sync_mode(path: Path, changes: Changes) -> None:
    status = path.stat()
    if (status.st_mode & 0o7777, status.st_uid, status.st_gid) != (0o600, 0, 0) and changes.note(f"chmod 0600 {path}"):
        os.chown(path, 0, 0)
        path.chmod(0o600)


def sync_peers(interface: str, wanted: Tunnel, stripped: str, rewritten: bool, key: Path, changes: Changes) -> None:
    port = int(run("wg", "show", interface, "listen-port"))
    same = port == wanted.listen_port and running_peers(interface) == wanted.peers
    # Without a need `wg syncconf` is not called: it would set the endpoint of a peer that has moved back to the file's.
    if (not same or rewritten) and changes.note(f"wg syncconf {interface}"):
        run("wg", "syncconf", interface, "/dev/stdin", stdin=with_private_key(stripped, key))


def sync_link(interface: str, wanted: Tunnel, changes: Changes) -> None:
    link = json.loads(run("ip", "-j", "-4", "address", "show", "dev", interface) or "[]")
    link = next((entry for entry in link if entry), {})
    addresses = {f"{entry['local']}/{entry['prefixlen']}" for entry in link.get("addr_info", [])}
    if wanted.address not in addresses:
        changes.command("ip", "-4", "address", "add", wanted.address, "dev", interface)
    for address in sorted(addresses - {wanted.address}):
        changes.command("ip", "-4", "address", "del", address, "dev", interface)
    mtu = int(Path("/sys/class/net", interface, "mtu").read_text())
    if mtu != wanted.mtu:
        changes.command("ip", "link", "set", "mtu", str(wanted.mtu), "dev", interface)


def running_routes(interface: str) -> frozenset[str]:
    listed = json.loads(run("ip", "-j", "-4", "route", "show", "dev", interface) or "[]")
    destinations = (route["dst"] for route in listed if route.get("protocol") != "kernel")
    return frozenset(dst if "/" in dst else dst + "/32" for dst in destinations)


def sync_routes(interface: str, wanted: frozenset[str], changes: Changes) -> None:
    """`wg syncconf` knows nothing of routes: a new peer's are added, a former peer's deleted."""
    running = running_routes(interface)
    for network in sorted(wanted - running):
        changes.command("ip", "-4", "route", "replace", network, "dev", interface)
    for network in sorted(running - wanted):
        changes.command("ip", "-4", "route", "del", network, "dev", interface)


def sync_guard(interface: str, changes: Changes) -> None:
    guard = str(LIBRARY / "wireguard-guard")
    if run(guard, "check", interface).strip() != "unchanged":
        changes.command(guard, "up", interface)


def sync(interface: str, config_dir: Path, check: bool) -> list[str]:
    """Returns what was changed (under check: what would be), empty when all was in order."""
    changes = Changes(check)
    key = config_dir / f"{interface}.key"
    text = assemble(interface, config_dir)
    stripped = strip(interface, text)
    wanted = tunnel(text)
    if exists(interface):
        # First the tunnel, then the file: what `wg` refuses must not wait there for the next reboot.
        current = config_dir / f"{interface}.conf"
        rewritten = not current.exists() or current.read_text() != text
        sync_peers(interface, wanted, stripped, rewritten, key, changes)
        sync_link(interface, wanted, changes)
        sync_routes(interface, wanted.routes(), changes)
        sync_guard(interface, changes)
    sync_file(config_dir / f"{interface}.conf", text, changes)
    for secret in (key, config_dir / f"{interface}.conf"):
        if secret.exists():
            sync_mode(secret, changes)
    return changes.made


def main() -> int:
    parser = argparse.ArgumentParser(description="Bring a WireGuard tunnel in line with its files, without a restart.")
    parser.add_argument("interface")
    parser.add_argument("--check", action="store_true", help="only say what would change")
    options = parser.parse_args()
    # Several newcomers may announce themselves at the same moment.
    with open(f"/run/lock/edgectl-wireguard-{options.interface}", "w") as lock:  # noqa: PTH123
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            made = sync(options.interface, CONFIG_DIR, options.check)
        except SyncError as error:
            print(f"wireguard-sync: {error}", file=sys.stderr)
            return 1
    print("changed" if made else "unchanged")
    return 0


if __name__ == "__main__":
    sys.exit(main())
