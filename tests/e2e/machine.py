"""Snapshots to compare: of the machine under the lab, and of a node's own system."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.e2e.cluster import Cluster

# Counters, random numbers and per-interface settings: they differ between two readings of an idle machine.
VOLATILE = re.compile(
    r"^(kernel/(random|ns_last_pid|pty/nr|perf_|sched_domain|seccomp/)|fs/(dentry-state|file-nr|inode-|aio-nr|quota|mqueue)"
    r"|kernel/(sem_next_id|shm_next_id|msg_next_id|tainted|bootloader)|vm/(stat_refresh|compact_memory|drop_caches)"
    r"|net/ipv[46]/(conf|neigh)/|net/netfilter/nf_conntrack_(count|buckets)|net/mptcp|sunrpc|user/)"
)


@dataclass(frozen=True)
class State:
    """The parts of a machine that a lab must leave alone."""

    swap: str
    modules: frozenset[str]
    sysctls: dict[str, str]
    podman: str
    firewall: str
    links: frozenset[str]


def state() -> State:
    return State(
        swap="\n".join(line.split()[0] for line in Path("/proc/swaps").read_text().splitlines()[1:]),
        modules=frozenset(line.split()[0] for line in Path("/proc/modules").read_text().splitlines())
        if Path("/proc/modules").exists()
        else frozenset(),
        sysctls=_sysctls(),
        podman=_output(["podman", "ps", "-a", "--format", "{{.Names}}"])
        + _output(["podman", "network", "ls", "--format", "{{.Name}}"])
        + _output(["podman", "volume", "ls", "-q"]),
        firewall=_rules(_output(["iptables-save"])),
        links=frozenset(re.findall(r"^\d+: ([^:@]+)", _output(["ip", "-o", "link"]), re.M)),
    )


def _sysctls() -> dict[str, str]:
    values = {}
    base = Path("/proc/sys")
    for path in base.rglob("*"):
        name = str(path.relative_to(base))
        if VOLATILE.match(name) or not path.is_file():
            continue
        try:
            values[name] = path.read_text().strip()
        except (OSError, UnicodeDecodeError):
            continue
    return values


def _output(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def _rules(text: str) -> str:
    """The rules of an iptables-save, without counters, comments and tables that hold no rule at all."""
    tables = []
    for table in re.findall(r"^\*(\w+)\n(.*?)^COMMIT", text, re.M | re.S):
        lines = [re.sub(r" \[\d+:\d+\]", "", line) for line in table[1].splitlines() if not line.startswith("#")]
        custom = [line for line in lines if line.startswith("-A") or (line.startswith(":") and " - " in f"{line} ")]
        policies = [line for line in lines if re.match(r":\w+ DROP", line)]
        if custom or policies:
            tables.append("\n".join([f"*{table[0]}", *sorted(policies), *sorted(custom)]))
    return "\n".join(sorted(tables))


@dataclass(frozen=True)
class NodeState:
    """The parts of a node that `edgectl reset` must bring back to what they were."""

    links: frozenset[str]
    firewall: str
    units: frozenset[str]
    packages: frozenset[str]
    files: dict[str, str]


# Written by the system itself while packages come and go, or on every boot.
UNTRACKED = (
    "/etc/ld.so.cache",
    "/etc/mtab",
    "/etc/.pwd.lock",
    "/etc/*-",
    "/etc/hostname",
    "/etc/resolv.conf",
)


def node_state(cluster: Cluster, node: str) -> NodeState:
    prune = " ".join(f"! -path '{path}'" for path in UNTRACKED)
    files = cluster.ssh(
        node,
        "find /etc /usr/local /opt /root -xdev -type f "
        f"{prune} -exec sha256sum {{}} + ; find /etc /usr/local /opt -xdev -type l {prune} -printf '%l  %p\\n';"
        "ls -d /var/lib/* | sed 's/^/dir  /'",
    )
    return NodeState(
        links=frozenset(re.findall(r"^\d+: ([^:@]+)", cluster.ssh(node, "ip -o link"), re.M)),
        firewall=_rules(cluster.ssh(node, "iptables-save 2>/dev/null; iptables-legacy-save 2>/dev/null || true")),
        units=frozenset(
            cluster.ssh(node, "systemctl list-unit-files --state=enabled --no-legend | awk '{print $1}'").split()
        ),
        packages=frozenset(
            cluster.ssh(
                node, "dpkg-query -W -f '${Package} ${Status}\\n' | sed -n 's/ install ok installed//p'"
            ).split()
        ),
        files={path: digest for digest, path in (line.split("  ", 1) for line in files.splitlines() if "  " in line)},
    )


def differences(cluster: Cluster, node: str, before: NodeState) -> list[str]:
    """What a node has now and had not before, or the other way round, a line each that names the node."""
    after = node_state(cluster, node)
    lines = [f"link left: {x}" for x in sorted(after.links - before.links)]
    lines += [f"link gone: {x}" for x in sorted(before.links - after.links)]
    lines += [f"unit left enabled: {x}" for x in sorted(after.units - before.units)]
    lines += [f"unit no longer enabled: {x}" for x in sorted(before.units - after.units)]
    lines += [f"package left: {x}" for x in sorted(after.packages - before.packages)]
    lines += [f"package gone: {x}" for x in sorted(before.packages - after.packages)]
    lines += [f"file left: {x}" for x in sorted(after.files.keys() - before.files.keys())]
    lines += [f"file gone: {x}" for x in sorted(before.files.keys() - after.files.keys())]
    kept = sorted(before.files.keys() & after.files.keys())
    lines += [f"file changed: {x}" for x in kept if after.files[x] != before.files[x]]
    if before.firewall != after.firewall:
        lines.append(f"firewall:\n{before.firewall}\n--- after\n{after.firewall}")
    return [f"{node}: {line}" for line in lines]


# What Kubernetes and its network leave behind besides files of packages: each a command that prints a line a thing.
TRACES = {
    "rule": "for save in iptables-save ip6tables-save iptables-legacy-save ip6tables-legacy-save;"
    " do $save 2>/dev/null | sed -n 's/ \\[[0-9:]*\\]$//; /^[-:]/p' | grep -vE '^:[A-Z]+ ACCEPT$'; done; true",
    "link": "ip -o link | awk -F': ' '{sub(/@.*/, \"\", $2); print $2}'",
    "route": "ip -4 route | sed 's/ *$//'",
    "unit file": "systemctl list-unit-files --no-legend | awk '{print $1, $2}'",
    "path": "find /etc /usr/local /opt /run /var/lib -xdev"
    " \\( -path /run/systemd -o -path /run/udev -o -path /run/log -o -path /run/user -o -path /var/lib/apt"
    " -o -path /var/lib/dpkg -o -path '/var/lib/systemd/*' -o -path /run/sudo -o -path /run/lock \\) -prune -o -print",
    "mount": "awk '{print $2}' /proc/self/mounts",
    "namespace": "ls /run/netns 2>/dev/null || true",
    "kernel setting": "sysctl -a 2>/dev/null | grep -v hop_limit"
    " | grep -E '^net.(ipv4.ip_forward|bridge|ipv4.conf.(all|default)|ipv6.conf.(all|default))' || true",
    "process": "ps -eo args= | grep -E 'k3s|containerd-shim|wireguard-go' | grep -v grep | cut -c1-80 || true",
}


def traces(cluster: Cluster, node: str) -> dict[str, frozenset[str]]:
    """A node's rules, links, routes, unit files, names of files and so on, by kind."""
    return {kind: frozenset(cluster.ssh(node, command).splitlines()) for kind, command in TRACES.items()}


def traces_left(cluster: Cluster, node: str, before: dict[str, frozenset[str]]) -> list[str]:
    """What a node has now and had not before, or the other way round, a line each that names the node."""
    after = traces(cluster, node)
    lines = []
    for kind, old in before.items():
        lines += [f"{node}: {kind} left: {line}" for line in sorted(after[kind] - old)]
        lines += [f"{node}: {kind} gone: {line}" for line in sorted(old - after[kind])]
    return lines
