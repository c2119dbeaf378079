"""What the verification of GPUs found, host by host."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

# What Ansible adds to an answer; the invocation has the whole script in it.
_FOREIGN = frozenset(("changed", "deprecations", "exception", "failed", "invocation", "msg", "warnings"))


def verified(hostvars: Mapping[str, Any], hosts: Iterable[str]) -> list[dict[str, Any]]:
    """The answers of module edgectl_gpu_verify on these hosts, without those that have no GPU or gave no answer."""
    answers = (hostvars[host].get("device_plugin_verified") or {} for host in hosts)
    return [
        {key: value for key, value in answer.items() if key not in _FOREIGN and not key.startswith("_")}
        for answer in answers
        if "node" in answer
    ]


class FilterModule:
    """Makes the filter known to Ansible."""

    def filters(self) -> dict[str, Any]:
        return {"edgectl_gpus_verified": verified}
