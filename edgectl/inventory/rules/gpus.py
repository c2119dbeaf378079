"""How GPUs are shared, as far as it can be judged without knowing the GPUs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from edgectl.inventory.model import Inventory
from edgectl.inventory.problem import Problem

_OPTION = "device_plugin_sharing"
_WITH_REPLICAS = ("time-slicing", "mps")


def problems(inventory: Inventory) -> Iterator[Problem]:
    """A GPU is offered several times where that is asked for, and only there."""
    for host in inventory.hosts:
        sharing = host.option(_OPTION, None)
        if not isinstance(sharing, Mapping):
            continue
        place = host.place(_OPTION) or inventory.path
        mode, replicas = sharing.get("mode") or "none", sharing.get("replicas")
        if mode in _WITH_REPLICAS and not (str(replicas).isdecimal() and int(str(replicas)) >= 2):
            yield Problem(
                place,
                f"{_OPTION}: {mode} needs replicas of 2 or more, and has {'none' if replicas is None else replicas}",
                "NVIDIA's device plugin does not start with fewer",
                f"{_OPTION}: {{mode: {mode}, replicas: 2}}",
                key=_OPTION,
            )
        elif mode in ("none", "mig") and replicas is not None:
            yield Problem(
                place,
                f"{_OPTION}: replicas mean nothing with mode {mode}",
                "only time-slicing and mps offer a GPU several times",
                f"{_OPTION}: {{mode: time-slicing, replicas: {replicas}}}",
                key=_OPTION,
            )
