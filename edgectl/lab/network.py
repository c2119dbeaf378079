"""A lab's network: a /24 that nothing else on this machine uses, and the addresses in it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from ipaddress import IPv4Address, IPv4Network

from edgectl.errors import EdgectlError
from edgectl.lab.machine import run

# Clear of podman's and Docker's defaults and of edgectl's own ranges (10.96/16, 10.200.0/24, 10.244/16).
POOL = IPv4Network("10.213.0.0/16")
FIRST_NODE = 11


def choose_subnet(name: str, taken: Iterable[IPv4Network]) -> IPv4Network:
    """The lab's /24: the same for the same name, unless something else on this machine has it already."""
    occupied = list(taken)
    candidates = list(POOL.subnets(new_prefix=24))
    start = int.from_bytes(hashlib.sha256(name.encode()).digest()[:2]) % len(candidates)
    for candidate in candidates[start:] + candidates[:start]:
        if not any(candidate.overlaps(network) for network in occupied):
            return candidate
    raise EdgectlError(
        "there is no free network left for this lab",
        f"routes or other labs cover all of {POOL}",
        "edgectl lab status, then edgectl lab down --name NAME for a lab you no longer need",
    )


def node_addresses(subnet: IPv4Network, names: Sequence[str]) -> dict[str, IPv4Address]:
    """Fixed addresses in the order of the nodes: a container that restarts would otherwise get another one."""
    return {name: subnet[FIRST_NODE + index] for index, name in enumerate(names)}


def bridge_name(lab: str) -> str:
    """The bridge's name on this machine (15 characters at most), never one that the user's own podman would take."""
    return "edl-" + hashlib.sha256(lab.encode()).hexdigest()[:8]


def mac_address(lab: str, node: str) -> str:
    """A stable, locally administered MAC address, so that a node keeps its own over a reboot."""
    digest = hashlib.sha256(f"{lab}/{node}".encode()).digest()
    return ":".join(f"{byte:02x}" for byte in (0x02, *digest[:5]))


def networks_in_use() -> list[IPv4Network]:
    """All IPv4 networks this machine has a route to, except the default route."""
    routes = json.loads(run(["ip", "-json", "-4", "route", "show", "table", "all"]).stdout or "[]")
    return parse_routes(routes)


def parse_routes(routes: Iterable[dict[str, object]]) -> list[IPv4Network]:
    """Networks from `ip -json route`; `default` is left out, since it covers everything."""
    found = set()
    for route in routes:
        destination = str(route.get("dst", "default"))
        if destination != "default":
            found.add(IPv4Network(destination, strict=False))
    return sorted(found)
