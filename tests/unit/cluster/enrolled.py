"""Hosts that were enrolled, and the play that lets a peer in or forgets it."""

from __future__ import annotations

import base64
from typing import Any

import yaml

from edgectl import content


def host(number: int) -> dict[str, Any]:
    return {
        "edgectl_state": {
            "wireguard_public_key": base64.b64encode(bytes([number]) * 32).decode(),
            "wireguard_address": f"10.200.0.{number}",
            "pod_cidr": f"10.244.{number}.0/24",
        }
    }


def network_play(more_tasks: list[dict[str, Any]] | None = None) -> str:
    """The play of playbooks/peers.yml that does the work, without the lock, which would be this machine's."""
    play = yaml.safe_load((content.root() / "playbooks" / "peers.yml").read_text())[1]
    play["tasks"] = [task for task in play["tasks"] if "edgectl_lock" not in task] + (more_tasks or [])
    for task in play["tasks"]:
        if (file := task.get("ansible.builtin.include_tasks")) is not None:
            task["ansible.builtin.include_tasks"] = str(content.root() / "playbooks" / file)
    return yaml.safe_dump([play], sort_keys=False)
