"""What a host's own journal says about a failure: a few lines of the unit that the failing role looks after."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping

from edgectl.run.events import Failure
from edgectl.ssh.everywhere import run_everywhere
from edgectl.ssh.target import Target

# The units in which a role's failure shows, the most telling first.
UNITS: Mapping[str, tuple[str, ...]] = {
    "wireguard": ("wg-quick@wg0",),
    "containerd": ("containerd",),
    "kubeadm": ("kubelet", "haproxy"),
    "pod_network": ("kubelet",),
}

LINES = 15


def of_failures(failures: Iterable[Failure], targets: Mapping[str, Target], since: float) -> dict[str, list[str]]:
    """Host -> the last warnings and errors that its unit wrote since the run began; hosts with none are left out."""
    found: dict[str, list[str]] = {}
    for failure in failures:
        host = failure.delegated_to if failure.delegated_to in targets else failure.host
        units = UNITS.get(failure.role.rpartition(".")[2], ())
        if failure.unreachable or not units or host not in targets or host in found:
            continue
        if lines := read(targets[host], units, since):
            found[host] = lines
    return found


def read(target: Target, units: tuple[str, ...], since: float) -> list[str]:
    """Lines of the units' journals from warning upwards; none when the journal cannot be read."""
    arguments = ["journalctl", "--no-pager", "--quiet", "-o", "short-iso", "-p", "warning", "-n", str(LINES)]
    arguments += ["--since", f"@{int(since)}", *(part for unit in units for part in ("-u", unit))]
    result = run_everywhere([target], shlex.join(arguments), as_root=True, connect_timeout=5, timeout=15)[target.name]
    return [line for line in result.stdout.splitlines() if line.strip() and not line.startswith("-- ")]
