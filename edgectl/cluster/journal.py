"""What a host's own journal says about a failure: the few lines that matter of the unit behind the failing role."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Mapping

from edgectl.run.events import Failure
from edgectl.ssh.everywhere import run_everywhere
from edgectl.ssh.target import Target

# The units in which a role's failure shows, the most telling first.
UNITS: Mapping[str, tuple[str, ...]] = {
    "wireguard": ("wg-quick@wg0", "edgectl-wireguard-watch@wg0"),
    "containerd": ("containerd",),
    "kubeadm": ("kubelet", "edgectl-api-proxy"),
    "k3s": ("k3s", "k3s-agent"),
    "pod_network": ("edgectl-pod-network", "kubelet"),
}

SHOWN = 10
_READ = 400
_WARNING = 4  # syslog's priority

# kubelet, containerd and the tunnel's watch write everything with priority info and say in the text how bad it is.
_BAD = re.compile(
    r"^[EFW]\d{4} |\blevel=(?:warning|error|fatal|panic)\b|\b(?:failed|error|panic|denied)\b"
    r"| does not answer: restarting ",
    re.IGNORECASE,
)
_HARMLESS = re.compile(r"^I\d{4} |\blevel=(?:info|debug)\b")
# wg-quick tries the kernel's WireGuard first. What `ip` says then is no failure where wireguard-go is taken instead.
_NO_MODULE = ("Error: Unknown device type.", "RTNETLINK answers: Operation not supported")
_TAKEN_INSTEAD = "Falling back to slow userspace implementation"
# What differs between two lines that say the same: klog's head, and times.
_HEAD = re.compile(r'^[A-Z]\d{4} [\d:.]+ +\d+ |\btime="[^"]*" ')


def of_failures(failures: Iterable[Failure], targets: Mapping[str, Target], since: float) -> dict[str, list[str]]:
    """Host -> the last lines that matter since the run began (Unix time); hosts with none are left out."""
    found: dict[str, list[str]] = {}
    for failure in failures:
        units = UNITS.get(failure.role.rpartition(".")[2], ())
        # A task delegated to another host is mostly about this one all the same, so its own journal comes first.
        for host in (failure.host, failure.delegated_to):
            if failure.unreachable or not units or host not in targets or host in found:
                continue
            if lines := [line for line in read(targets[host], units, since) if line not in failure.message]:
                found[host] = lines
                break
    return found


def read(target: Target, units: tuple[str, ...], since: float) -> list[str]:
    """The lines that matter of some units; none when the journal cannot be read."""
    fields = "MESSAGE,PRIORITY,_SYSTEMD_UNIT"
    command = ["journalctl", "--no-pager", "--quiet", "-o", "json", f"--output-fields={fields}", "-n", str(_READ)]
    command += ["--since", f"@{int(since)}", *(part for unit in units for part in ("-u", unit))]
    result = run_everywhere([target], shlex.join(command), as_root=True, connect_timeout=5, timeout=15)[target.name]
    return what_matters(result.stdout)


def what_matters(journal: str) -> list[str]:
    """From `journalctl -o json`: warnings and worse, each said once, the last ones."""
    said: dict[str, str] = {}
    for line in journal.splitlines():
        try:
            entry = json.loads(line)
            message, priority = entry["MESSAGE"], int(entry.get("PRIORITY", 6))
        except (ValueError, KeyError, TypeError):
            continue
        # A message that is not UTF-8 comes as a list of bytes.
        text = message if isinstance(message, str) else bytes(message or []).decode(errors="replace")
        if _TAKEN_INSTEAD in text:
            for answer in _NO_MODULE:
                said.pop(answer, None)
        if _HARMLESS.search(text) or not (priority <= _WARNING or _BAD.search(text)):
            continue
        same = _HEAD.sub("", text)
        said.pop(same, None)
        unit = str(entry.get("_SYSTEMD_UNIT", "")).removesuffix(".service")
        said[same] = f"{unit}: {text}" if unit not in ("", "init.scope") else text
    return list(said.values())[-SHOWN:]
