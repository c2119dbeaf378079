"""Filters for the roles that make GPUs work."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "module_utils"))

from edgectl_gpu_sharing import WITH_REPLICAS, impossible_on_a_jetson, misnumbered, without_its_daemon

RESOURCE = "nvidia.com/gpu"
CONFIG_LABEL = "nvidia.com/device-plugin.config"
_SHARED = "-SHARED"
# Of a label's value, with room for that suffix.
LABEL_LENGTH = 63 - len(_SHARED)
# Compute capability and family by SoC. (CUDA_TABLE of github.com/rbonghi/jetson_stats, 2026-08; the families are those
# that NVIDIA's gpu-feature-discovery names by the capability's major number, and it knows none for 11.)
_JETSON_COMPUTE = {
    "thor": ("11", "0", "undefined"),
    "orin": ("8", "7", "ampere"),
    "xavier": ("7", "2", "volta"),
}


def offered(madison: str, source_list: str) -> dict[str, str]:
    """Package -> newest version that the repositories of one apt source offer.

    madison: what `apt-cache madison` printed, newest first. source_list: the source's `.list` file.
    """
    addresses = re.findall(r"^deb\s+(?:\[[^\]]*\]\s+)?(\S+)", source_list, re.MULTILINE)
    known = {address.rstrip("/") for address in addresses}
    found: dict[str, str] = {}
    for line in madison.splitlines():
        fields = [field.strip() for field in line.split("|")]
        if len(fields) == 3 and fields[2].split(" ")[0].rstrip("/") in known:
            found.setdefault(fields[0], fields[1])
    return found


def sharing_mistake(sharing: Mapping[str, Any], platform: str, install: str = "manifests") -> str:
    """What is wrong with the option device_plugin_sharing on a host of a platform; empty where nothing is.

    install: the option device_plugin_install.
    """
    impossible = impossible_on_a_jetson(sharing) if platform == "jetson" else without_its_daemon(sharing, install)
    mistake = misnumbered(sharing) if impossible is None else impossible
    return f"{mistake.what}: {mistake.why}. Set {mistake.fix}" if mistake else ""


def profile(document: Mapping[str, Any], sharing: Mapping[str, Any]) -> dict[str, Any]:
    """How a host's GPU is to be advertised: the plugin's configuration, and what of it shows on the node.

    document: the probe's. sharing: the option device_plugin_sharing. Hosts with the same `name` share one DaemonSet.

    A Jetson's plugin is told what it runs on, for `auto` depends on which library happens to load in the pod; and ids
    are indices, for container toolkits since 1.19 do not take the id `tegra`. (Both measured on plugin 0.20.0.)
    """
    mode = sharing.get("mode") or "none"
    replicas = int(sharing.get("replicas") or 1)
    jetson = document.get("jetson")
    cards = [gpu for gpu in document.get("gpus") or [] if gpu["kind"] == "pci"]
    # One that is given to virtual machines is out of the plugin's sight.
    count = 1 if jetson else len([card for card in cards if card.get("kernel_driver") != "vfio-pci"])
    shared = mode in WITH_REPLICAS
    config: dict[str, Any] = {"version": "v1", "flags": {"migStrategy": sharing.get("mig_strategy") or "none"}}
    if jetson:
        config["flags"] |= {"deviceDiscoveryStrategy": "tegra", "plugin": {"deviceIDStrategy": "index"}}
    if mode == "mig":
        config["flags"]["migStrategy"] = sharing.get("mig_strategy") or "single"
    rename = bool(sharing.get("rename_by_default"))
    if shared:
        config["sharing"] = {
            {"time-slicing": "timeSlicing", "mps": "mps"}[mode]: {
                "renameByDefault": rename,
                **(
                    {"failRequestsGreaterThanOne": bool(sharing.get("fail_requests_greater_than_one"))}
                    if mode == "time-slicing"
                    else {}
                ),
                "resources": [{"name": RESOURCE, "replicas": replicas}],
            }
        }
    traits = [
        "jetson" if jetson else "dgpu",
        *([mode] if mode != "none" else []),
        *([str(replicas)] if shared else []),
        *(["renamed"] if shared and rename else []),
        *(["single"] if shared and sharing.get("fail_requests_greater_than_one") else []),
        *([str(config["flags"]["migStrategy"])] if mode == "mig" else []),
    ]
    name = "-".join(traits)
    return {
        "name": name,
        "config": config,
        "resource": RESOURCE + (".shared" if shared and rename else ""),
        # How many instances a GPU is cut into is its owner's business; the plugin counts them.
        "expected": None if mode == "mig" else count * (replicas if shared else 1),
        "labels": _labels(document, name, mode, count, replicas if shared else 1, shared and not rename),
    }


def _labels(
    document: Mapping[str, Any], name: str, mode: str, count: int, replicas: int, suffixed: bool
) -> dict[str, str]:
    """Labels by the names of NVIDIA's gpu-feature-discovery, from what the probe knows without a driver."""
    labels = {
        "nvidia.com/gpu.present": "true",
        CONFIG_LABEL: name,
        "nvidia.com/gpu.count": str(count),
        "nvidia.com/gpu.replicas": str(replicas),
        "nvidia.com/gpu.sharing-strategy": mode if mode in WITH_REPLICAS else "none",
    }
    jetson = document.get("jetson")
    product = _product(document)
    if product:
        labels["nvidia.com/gpu.product"] = product + (_SHARED if suffixed else "")
    if jetson:
        memory = (document.get("memory") or {}).get("total_kib")
        if memory:
            labels["nvidia.com/gpu.memory"] = str(memory // 1024)
        if jetson.get("soc") in _JETSON_COMPUTE:
            major, minor, family = _JETSON_COMPUTE[jetson["soc"]]
            labels |= {
                "nvidia.com/gpu.compute.major": major,
                "nvidia.com/gpu.compute.minor": minor,
                "nvidia.com/gpu.family": family,
            }
        labels |= {"nvidia.com/mig.capable": "false", "nvidia.com/mps.capable": "false"}
    return labels


def _product(document: Mapping[str, Any]) -> str:
    """A GPU's name as a label can hold it."""
    jetson = document.get("jetson")
    if jetson:
        return str(jetson.get("soc") or "").capitalize()
    names = sorted({gpu["name"] for gpu in document.get("gpus") or [] if gpu.get("name")})
    return re.sub(r"[^A-Za-z0-9._-]+", "-", "-and-".join(names)).strip("-._")[:LABEL_LENGTH].rstrip("-._")


class FilterModule:
    """Makes the filters known to Ansible."""

    def filters(self) -> dict[str, Any]:
        return {
            "edgectl_offered": offered,
            "edgectl_gpu_profile": profile,
            "edgectl_sharing_mistake": sharing_mistake,
        }
