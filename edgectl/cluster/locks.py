"""The lock that a run holds on each host: released from outside when the run could not do it itself."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from edgectl.ssh.everywhere import run_everywhere
from edgectl.ssh.target import Target

LOCK_FILE = "/run/edgectl.lock"


def release(targets: Iterable[Target], run_id: str) -> list[str]:
    """Remove the locks of this very run, never another's. Best effort: returns the hosts that did not answer."""
    # The file is JSON and the run's id occurs in nothing else of it.
    command = f"grep -qsF {shlex.quote(run_id)} {LOCK_FILE} && rm -f {LOCK_FILE}; true"
    results = run_everywhere(targets, command, as_root=True, connect_timeout=5, timeout=10)
    return [name for name, result in results.items() if not result.ok]
