"""Which node a workload of the catalogue fits, with which image, and why the others don't.

Pure functions over an entry (workloads/NAME/workload.yml), kubectl's JSON and what the probe knows of the hosts.
Standard library only, Python 3.8 upwards.
"""

from __future__ import annotations

import math
import re

from ansible.module_utils.edgectl_gpu_pods import effective, holders, living, more_room
from ansible.module_utils.edgectl_image_tags import choose_tag
from ansible.module_utils.edgectl_workload_state import back, disk_space, uncordon

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

RESOURCES = ("nvidia.com/gpu", "nvidia.com/gpu.shared")
HOSTNAME = "kubernetes.io/hostname"
# Our own note on a pod: how much of a discrete GPU's memory it is expected to take.
GPU_MEMORY = "edgectl.io/gpu-memory-mib"
GPU_MEMORY_OF_NODE = "nvidia.com/gpu.memory"
MIB = 1 << 20
# What a Jetson's system takes that no pod asked for, where kubelet reserves less. Headless JetPack 6 idles at about
# 1 GiB; the rest is for the page cache, without which a board begins to thrash. An estimate.
SYSTEM_MIB = 1536
# A model that the catalogue does not know: as much for the cache as one of 8 billion parameters.
USUAL_KV_BYTES = 147456
# The oldest driver of each CUDA major. (docs.nvidia.com, CUDA compatibility, minor version compatibility)
CUDA_DRIVERS = {11: 450, 12: 525, 13: 580}
NO_GPU = "it has no GPU"
_UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30}
_UNITS["Ti"] = 1 << 40


class Unknown(Exception):
    """The user has to say something first. problem: (key, what, fix)."""

    def __init__(self, key: str, what: str, fix: str) -> None:
        super().__init__(what)
        self.problem = (key, what, fix)


def mib(quantity: str | int) -> int:
    """A Kubernetes quantity of memory in MiB, rounded down."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(m|[kKMGT]i?|)", str(quantity))
    if not found:
        return 0
    number, unit = float(found.group(1)), found.group(2)
    return int(number / 1000 if unit == "m" else number * _UNITS.get(unit, 1)) // MIB


def memory(entry: dict[str, Any], chosen: dict[str, Any], file_bytes: int = 0) -> dict[str, int]:
    """What it needs in MiB: `runtime` for itself, `model` for weights, `cache` for the keys and values of a context."""
    need = {"runtime": entry["needs"]["memory_mib"], "model": 0, "cache": 0}
    model = entry.get("model")
    if not model:
        return need
    known = model["known"].get(chosen[model["name"]], {})
    size = file_bytes or int(float(chosen.get(model["gb"]) or known.get("gb") or 0) * 10**9)
    if not size:
        raise Unknown(
            model["name"],
            "is {}, whose size the catalogue does not know".format(chosen[model["name"]]),
            "--set {}=SIZE, as its page at ollama.com/library tells it".format(model["gb"]),
        )
    # A file may be tiny; the cache of an unknown model is never larger than its weights.
    usual = min(USUAL_KV_BYTES, size / 4096)
    need["model"] = math.ceil(size / MIB)
    need["cache"] = math.ceil(chosen[model["tokens"]] * known.get("kv_bytes_per_token", usual) / MIB)
    return need


def image_for(
    entry: dict[str, Any], host: dict[str, Any], arch: str, *, cpu: bool
) -> tuple[dict[str, Any] | None, str]:
    """The first image that runs there, or None and why.

    host: platform (jetson, dgpu, cpu), l4t ("36.4.3"), driver ("550.54.15").
    """
    platform = "cpu" if cpu else host["platform"]
    # What wants no GPU runs on any node.
    also = ("any", "cpu") if entry["needs"]["gpu"] == "none" else ("any",)
    wanted = [image for image in entry["images"] if image["platform"] in (platform, *also)]
    if not wanted:
        return None, "there is no image for a node of platform {}".format(platform)
    for image in wanted:
        if arch in image["arch"] and _is_of(image, host, image["platform"]):
            named = _named(image, host)
            if named:
                return named, ""
    traits = {
        "jetson": "L4T {}".format(host.get("l4t") or "of unknown release"),
        "dgpu": "driver {}".format(host.get("driver") or "not loaded"),
    }.get(platform, "")
    return None, "there is no image for {}{}".format(" with ".join(filter(None, (platform, traits))), " on " + arch)


def _named(image: dict[str, Any], host: dict[str, Any]) -> dict[str, Any] | None:
    """An image with its tag: of one that has a list of them, that for the host's release, if there is one."""
    if "tags" not in image:
        return image
    if not host.get("l4t"):
        return None
    tag = choose_tag(image["tags"], host["l4t"], prefix=image.get("tag_prefix", ""))
    return {**image, "image": "{}:{}".format(image["repository"], tag)} if tag else None


def with_brought(entry: dict[str, Any], brought: dict[str, list[str]]) -> dict[str, Any]:
    """An entry whose images are also those of an artifacts directory: one may be there for an architecture for which
    its registry has none.

    brought: image -> architectures.
    """
    images = [{**one, "arch": one["arch"] + brought.get(one.get("image", ""), [])} for one in entry["images"]]
    return {**entry, "images": images}


def reference(image: dict[str, Any], brought: Any = ()) -> str:
    """The image as a pod names it: by its digest, where that is known.

    brought: images that come from an artifacts directory; those are imported by their tag, and have no digest there.
    """
    digest = image.get("digest")
    if not digest or image["image"] in brought:
        return str(image["image"])
    # kubelet and containerd take the digest and leave the tag to the reader.
    return "{}@{}".format(image["image"], digest)


def _is_of(image: dict[str, Any], host: dict[str, Any], platform: str) -> bool:
    if platform == "jetson":
        l4t = host.get("l4t")
        first, end = image.get("l4t_from"), image.get("l4t_before")
        if first is None and end is None:
            return True
        if not l4t:
            return False
        return (first is None or _release(l4t) >= _release(first)) and (end is None or _release(l4t) < _release(end))
    if platform == "dgpu" and "cuda" in image:
        driver = str(host.get("driver") or "0")
        return int(driver.partition(".")[0]) >= CUDA_DRIVERS.get(image["cuda"], 0)
    return True


def _release(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))


def requested_mib(pod: dict[str, Any]) -> int:
    """Memory that the scheduler counts for a pod, in MiB. (Kubernetes documentation, "Pod Overhead".)"""
    return effective(pod, _request) + mib((pod.get("spec", {}).get("overhead") or {}).get("memory", 0))


def _request(container: dict[str, Any]) -> int:
    resources = container.get("resources") or {}
    asked = (resources.get("requests") or {}).get("memory") or (resources.get("limits") or {}).get("memory") or 0
    return mib(asked)


def resource_of(node: dict[str, Any]) -> tuple[str, int]:
    """By which name a node offers its GPU, and how often."""
    offered = node["status"].get("allocatable", {})
    found = [(name, int(offered[name])) for name in RESOURCES if int(offered.get(name, 0))]
    return found[0] if found else (RESOURCES[0], 0)


def assess(
    entry: dict[str, Any],
    need: dict[str, int],
    node: dict[str, Any],
    pods: list[dict[str, Any]],
    host: dict[str, Any] | None,
    cpu: bool = False,
    replicas: int = 1,
) -> dict[str, Any]:
    """Whether a workload fits a node: what it would run with, and `why_not`, empty where it fits.

    `room_mib`, where memory is what it lacks, is what one that fits may take.
    pods: those of all nodes without the workload's own. host: None for a node whose host edgectl has not seen.
    replicas: how many of it have to fit; what is told of memory is that of one.
    """
    name = node["metadata"]["name"]
    wants_gpu = entry["needs"]["gpu"] == "required" or (
        entry["needs"]["gpu"] == "optional" and host is not None and host["platform"] != "cpu"
    )
    fit: dict[str, Any] = {"node": name, "gpu": wants_gpu and not cpu, "cpu": cpu, "why_not": ""}
    fit["gpus"] = entry["needs"].get("gpus", 1) if fit["gpu"] else 0
    if host is None:
        why = "edgectl knows nothing of its host: it did not answer, or is not in the inventory"
        return {**fit, "why_not": why, "fix": back(name)}
    fit.update(platform=host["platform"], simulated=bool(host.get("simulated")), needs_mib=sum(need.values()))
    here = living(pods, name)
    image, no_image = image_for(entry, host, node["status"]["nodeInfo"]["architecture"], cpu=fit["cpu"])
    fit["image"] = image
    fit["resource"], slots = resource_of(node)
    fit["request_mib"] = need["runtime"] if fit["gpu"] and host["platform"] == "dgpu" else sum(need.values())
    fit["free_mib"] = _free_mib(node, here, host)
    why, fit["fix"] = _closed(node)
    if not why and fit["gpu"] and host["platform"] == "cpu":
        why = NO_GPU
    why = why or no_image
    if not why and fit["gpu"]:
        why = _no_slot(name, fit["resource"], slots, here, fit["gpus"] * replicas)
        fit["fix"] = more_room(here, name, fit["resource"]) if why and slots else ""
        whole, taken = _gpu_memory(node, here, host)
        if not why and whole and sum(need.values()) * replicas > whole - taken:
            fit["room_mib"] = (whole - taken) // replicas
            why = "it needs {} of GPU memory, and {} of {} are left".format(
                size(sum(need.values()) * replicas), size(whole - taken), size(whole)
            )
    if not why and fit["request_mib"] * replicas > fit["free_mib"]:
        fit["room_mib"] = fit["free_mib"] // replicas
        why = "it needs {} of memory, and {} are left there: {}".format(
            size(fit["request_mib"] * replicas), size(fit["free_mib"]), _left(node, here, host)
        )
    return {**fit, "why_not": why}


def _closed(node: dict[str, Any]) -> tuple[str, str]:
    """Why nothing new may go there, and what mends it."""
    name, conditions = node["metadata"]["name"], {c["type"]: c for c in node["status"].get("conditions", [])}
    ready = conditions.get("Ready", {})
    if ready.get("status") != "True":
        return ": ".join(filter(None, ("it is not Ready", ready.get("message")))), back(name)
    if node["spec"].get("unschedulable"):
        return "it is cordoned", uncordon(name)
    if conditions.get("DiskPressure", {}).get("status") == "True":
        return "its disk is nearly full (DiskPressure)", disk_space(name)
    taints = [t for t in node["spec"].get("taints") or [] if t["effect"] in ("NoSchedule", "NoExecute")]
    taints = [t for t in taints if t["key"] not in RESOURCES]
    return ("it has the taint {}".format(taints[0]["key"]) if taints else ""), ""


def _no_slot(name: str, resource: str, slots: int, here: list[dict[str, Any]], wanted: int) -> str:
    if not slots:
        return "it offers no {}; `edgectl verify gpu --host {}` tells why".format(resource, name)
    if wanted > slots:
        return "it offers {} {}, and {} are wanted".format(slots, resource, wanted)
    held = holders(here, name, resource)
    left = slots - sum(held.values())
    if left >= wanted:
        return ""
    if left > 0:
        return "{} of its {} {} are left, and {} are wanted".format(left, slots, resource, wanted)
    return "all {} of its {} are in use, by {}".format(slots, resource, ", ".join(sorted(held)))


def _gpu_memory(node: dict[str, Any], here: list[dict[str, Any]], host: dict[str, Any]) -> tuple[int, int]:
    """All of a discrete GPU's own memory, and what is taken of it, in MiB; 0 of a GPU without, or of a silent node.

    Only what edgectl deployed says what it takes.
    """
    if host["platform"] != "dgpu":
        return 0, 0
    whole = int(node["metadata"].get("labels", {}).get(GPU_MEMORY_OF_NODE) or 0)
    return whole, sum(int((pod["metadata"].get("annotations") or {}).get(GPU_MEMORY) or 0) for pod in here)


def _free_mib(node: dict[str, Any], here: list[dict[str, Any]], host: dict[str, Any]) -> int:
    allocatable = mib(node["status"]["allocatable"]["memory"])
    return max(0, allocatable - _system_mib(node, host) - sum(requested_mib(pod) for pod in here))


def _system_mib(node: dict[str, Any], host: dict[str, Any]) -> int:
    """On unified memory cgroups do not see what CUDA takes: what the system needs has to be left free."""
    if host["platform"] != "jetson":
        return 0
    reserved = mib(node["status"]["capacity"]["memory"]) - mib(node["status"]["allocatable"]["memory"])
    return max(0, SYSTEM_MIB - reserved)


def _left(node: dict[str, Any], here: list[dict[str, Any]], host: dict[str, Any]) -> str:
    asked = {pod["metadata"]["namespace"] + "/" + pod["metadata"]["name"]: requested_mib(pod) for pod in here}
    most = sorted((pod for pod in asked if asked[pod]), key=lambda pod: (-asked[pod], pod))[:3]
    parts = ["{} in all".format(size(mib(node["status"]["capacity"]["memory"])))]
    if _system_mib(node, host):
        parts.append("{} kept for the system".format(size(SYSTEM_MIB)))
    return ", ".join(parts + ["{} for {}".format(size(asked[pod]), pod) for pod in most])


def size(number: int) -> str:
    """MiB as people write them."""
    return "{} MiB".format(number) if number < 1024 else "{:.1f} GiB".format(number / 1024)


def choose(fits: list[dict[str, Any]], wish: dict[str, str], stays: str = "") -> dict[str, Any] | None:
    """The node to take: the one where its data is, else that with the most memory left. wish: `node`, `platform`."""
    open_to = [fit for fit in fits if not fit["why_not"] and _wished(fit, wish)]
    there = [fit for fit in open_to if fit["node"] == stays]
    if stays and not wish.get("node"):
        return there[0] if there else None
    # A GPU is wasted on what needs none.
    open_to.sort(key=lambda fit: (not fit["gpu"] and fit["platform"] != "cpu", -fit["free_mib"], fit["node"]))
    return open_to[0] if open_to else None


def _wished(fit: dict[str, Any], wish: dict[str, str]) -> bool:
    if wish.get("node") and fit["node"] != wish["node"]:
        return False
    return not wish.get("platform") or fit.get("platform") == wish["platform"]


def largest(entry: dict[str, Any], chosen: dict[str, Any], room: int) -> str:
    """The largest model of those that the catalogue knows that needs no more than this many MiB; empty: none."""
    model = entry.get("model")
    if not model:
        return ""
    known = model["known"]
    sizes = {name: sum(memory(entry, {**chosen, model["name"]: name, model["gb"]: None}).values()) for name in known}
    return max((name for name in sizes if sizes[name] <= room), key=lambda name: sizes[name], default="")
