"""OpenSSH's command line for a lab node."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from edgectl.lab.inventory import USER
from edgectl.lab.record import Lab


def command(lab: Lab, node: str, remote: Sequence[str] = ()) -> list[str]:
    """ssh with the lab's key and the host keys that the lab itself read."""
    words = list(remote)
    if words[:1] == ["--"]:
        words = words[1:]
    return [
        "ssh",
        f"-i{lab.private_key}",
        "-oIdentitiesOnly=yes",
        f'-oUserKnownHostsFile="{Path(lab.inventory) / ".edgectl" / "known_hosts"}"',
        "-oGlobalKnownHostsFile=/dev/null",
        "-oStrictHostKeyChecking=yes",
        f"{USER}@{lab.node(node).address}",
        *(["--", *words] if words else []),
    ]
