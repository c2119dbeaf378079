"""What can be asked of option device_plugin_sharing: one rule for the inventory, the checks and the role."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Optional

OPTION = "device_plugin_sharing"
WITH_REPLICAS = ("time-slicing", "mps")
_DISCRETE_ONLY = ("mps", "mig")


class Mistake(NamedTuple):
    """What is wrong with a way of sharing, why, and what to write instead."""

    what: str
    why: str
    fix: str


def misnumbered(sharing: Mapping[str, Any]) -> Optional[Mistake]:
    """The mistake in `replicas`: missing or too few where a GPU is shared by it, there where it is not."""
    mode, replicas = sharing.get("mode") or "none", sharing.get("replicas")
    if mode in WITH_REPLICAS and number(sharing) < 2:
        return Mistake(
            f"{mode} needs replicas of 2 or more, and has {'none' if replicas is None else replicas}",
            "NVIDIA's device plugin does not start with fewer",
            f"{OPTION}: {{mode: {mode}, replicas: 2}}",
        )
    if mode in ("none", "mig") and replicas is not None:
        return Mistake(
            f"replicas mean nothing with mode {mode}",
            "only time-slicing and mps offer a GPU several times",
            f"{OPTION}: {{mode: time-slicing, replicas: {replicas}}}",
        )
    return None


def impossible_on_a_jetson(sharing: Mapping[str, Any]) -> Optional[Mistake]:
    """The mistake of a way of sharing that takes a discrete GPU."""
    mode = sharing.get("mode")
    if mode not in _DISCRETE_ONLY:
        return None
    return Mistake(
        f"a Jetson's GPU can't be shared by {mode}",
        f"{OPTION}.mode: {mode}; NVIDIA's device plugin does it for discrete GPUs only",
        f"{OPTION}: {{mode: time-slicing, replicas: 2}}",
    )


def without_its_daemon(sharing: Mapping[str, Any], install: str) -> Optional[Mistake]:
    """MPS works through a daemon on the node, which NVIDIA's chart has and our manifests have not.

    install: the option device_plugin_install. (deployments/helm/nvidia-device-plugin/templates/
    daemonset-mps-control-daemon.yml of github.com/NVIDIA/k8s-device-plugin; the plugin does not start without it:
    internal/plugin/server.go, Start.)
    """
    if sharing.get("mode") != "mps" or install == "chart":
        return None
    return Mistake(
        "sharing by mps needs NVIDIA's control daemon",
        f"{OPTION}.mode: mps, with device_plugin_install: {install}; the daemon comes with NVIDIA's chart alone",
        f"device_plugin_install: chart, or {OPTION}: {{mode: time-slicing, replicas: 2}}",
    )


def number(sharing: Mapping[str, Any]) -> int:
    """As how many a GPU is to be offered, 0 where that is no number: `-e` and templates bring text."""
    text = str(sharing.get("replicas") or 0)
    return int(text) if text.isdecimal() else 0
