"""What a lab changes on the machine under it, noted before the first lab starts and put back after the last one.

Podman's network back end switches on IP forwarding and leaves its chains in iptables behind; runc leaves an empty
cgroup. Swap, clock and all other kernel settings are never touched, and of the kernel's modules only those are loaded
that `edgectl lab setup` names.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path

from edgectl.lab import machine
from edgectl.lab.paths import SYSTEM
from edgectl.lab.podman import CGROUP_PARENT

_NOTE = SYSTEM / "machine-before.json"
_FORWARDING = Path("/proc/sys/net/ipv4/ip_forward")
_TABLES = ("filter", "nat")


def note() -> None:
    """Write down how the machine is, unless an earlier lab did so and still stands."""
    if _NOTE.exists():
        return
    before = {"ip_forward": _FORWARDING.read_text().strip(), "netavark_chains": bool(_netavark_rules())}
    machine.write_as_root(_NOTE, json.dumps(before) + "\n")


def note_module(module: str) -> None:
    """Write down that the lab, and nobody before it, loaded this kernel module."""
    before = json.loads(_NOTE.read_text())
    before["loaded_modules"] = [*before.get("loaded_modules", []), module]
    machine.write_as_root(_NOTE, json.dumps(before) + "\n")


def put_back() -> None:
    """Undo, after the last lab has gone, what its networks changed."""
    try:
        before = json.loads(_NOTE.read_text())
    except (OSError, ValueError):
        return
    if not before["netavark_chains"]:
        for table, rule in _netavark_rules():
            machine.run(["iptables", "-t", table, *rule], root=True, check=False)
    if before["ip_forward"] == "0" and not _other_bridges():
        machine.run(["tee", _FORWARDING], root=True, stdin="0\n")
    _remove_cgroups()
    for module in before.get("loaded_modules", []):
        machine.run(["modprobe", "--remove", module], root=True, check=False)
    machine.run(["rm", "-f", _NOTE], root=True)


def removal_rules(saved: str) -> list[list[str]]:
    """From `iptables -S` of one table: the commands that remove netavark's rules and chains, in a working order."""
    lines = [line.split(" ", 1) for line in saved.splitlines() if "NETAVARK" in line]
    jumps = [rest for verb, rest in lines if verb == "-A" and not rest.startswith("NETAVARK")]
    chains = [rest for verb, rest in lines if verb == "-N"]
    return [
        *(["-D", *shlex.split(rest)] for rest in jumps),
        *(["-F", chain] for chain in chains),
        *(["-X", chain] for chain in chains),
    ]


def _netavark_rules() -> list[tuple[str, list[str]]]:
    found = []
    for table in _TABLES:
        saved = machine.run(["iptables", "-t", table, "-S"], root=True, check=False).stdout
        found += [(table, rule) for rule in removal_rules(saved)]
    return found


def _other_bridges() -> bool:
    """Whether another program's virtual network stands here by now and may count on IP forwarding."""
    return any(Path("/sys/class/net").glob("*/bridge"))


def _remove_cgroups() -> None:
    for parent in (*Path("/sys/fs/cgroup").glob(f"*{CGROUP_PARENT}"), Path("/sys/fs/cgroup" + CGROUP_PARENT)):
        if parent.is_dir():
            machine.run(["find", parent, "-depth", "-type", "d", "-exec", "rmdir", "{}", "+"], root=True, check=False)
