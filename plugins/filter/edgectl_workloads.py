"""What the roles need to know for workloads of the catalogue."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "module_utils"))

from edgectl_gguf import problem as no_model

# Words in the model's name, what the board is called, and from how many GiB on it is one of how many GB.
_BOARDS = (
    (("orin", "nano"), "Orin Nano", ((6.5, 8), (3, 4))),
    (("orin", "nx"), "Orin NX", ((13.5, 16), (6.5, 8))),
    (("agx", "orin"), "AGX Orin", ((56, 64), (28, 32))),
    (("thor",), "AGX Thor", ((96, 128),)),
)
_FOREIGN = frozenset(
    ("attempts", "changed", "deprecations", "exception", "failed", "invocation", "msg", "objects", "warnings",
     "failed_when_result", "verdict")
)  # fmt: skip


def hosts(hostvars: Mapping[str, Any], names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """What decides which image runs on a host, by its name; hosts that were not probed in this run are left out."""
    documents = {name: (hostvars[name].get("ansible_facts") or {}).get("edgectl") for name in names}
    return {name: host(document) for name, document in documents.items() if document}


def host(document: Mapping[str, Any]) -> dict[str, Any]:
    """platform (jetson, dgpu, cpu), l4t, board, driver, simulated, from a probe's document."""
    jetson, gpus = document.get("jetson"), document.get("gpus") or []
    drivers = [gpu["driver_version"] for gpu in gpus if gpu.get("driver_version")]
    return {
        "platform": "jetson" if jetson else "dgpu" if gpus else "cpu",
        "l4t": (jetson or {}).get("l4t"),
        "board": board((jetson or {}).get("model"), document),
        "driver": drivers[0] if drivers else None,
        "simulated": document.get("simulated"),
    }


def board(model: str | None, document: Mapping[str, Any]) -> str:
    """Which board it is, by the words of NVIDIA's benchmarks, such as `Orin NX 16 GB`; empty for one that is not known.

    Its family by the device tree's model, its memory by what the system has of it, as NVIDIA's own script tells them
    (jetson-device-skills, detect_jetson.sh).
    """
    text, gib = (model or "").lower(), ((document.get("memory") or {}).get("total_kib") or 0) / (1 << 20)
    for words, name, sizes in _BOARDS:
        if all(word in text for word in words):
            size = next((str(size) for least, size in sizes if gib >= least), "")
            return f"{name} {size} GB" if size else ""
    return ""


def archive(manifest: Mapping[str, Any], image: str, arch: str) -> dict[str, Any]:
    """The archive of an artifacts directory that has an image for an architecture; empty where there is none."""
    files = (dict(file) for file in manifest.get("files", []) if file["kind"] == "images" and file["arch"] == arch)
    return next((file for file in files if image in file["images"]), {})


def images(manifest: Mapping[str, Any]) -> dict[str, list[str]]:
    """The images that an artifacts directory has, and for which architectures."""
    found: dict[str, list[str]] = {}
    for file in manifest.get("files", []):
        for image in file["images"] if file["kind"] == "images" else ():
            found.setdefault(image, []).append(file["arch"])
    return found


def model(manifest: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The file of an artifacts directory that is this model; empty where there is none."""
    files = (dict(file) for file in manifest.get("files", []) if file["kind"] == "model")
    return next((file for file in files if file["name"] == name), {})


def names(catalogue: str) -> list[str]:
    """The entries of a directory on the controller."""
    return sorted(file.parent.name for file in Path(catalogue).glob("*/workload.yml"))


def parameters_of(parameters: Mapping[str, Any], entry: Mapping[str, Any]) -> dict[str, Any]:
    """Those that an entry has, of values that are meant for several entries."""
    return {key: value for key, value in parameters.items() if key in entry.get("parameters", {})}


def file_size(path: str) -> int:
    """Size of a file on the controller, in bytes."""
    return Path(path).expanduser().stat().st_size


def free_bytes(hostvars: Mapping[str, Any], path: str) -> int:
    """What was free where a directory of a host is, when the run began; -1 where that was not measured."""
    disks = ((hostvars.get("ansible_facts") or {}).get("edgectl") or {}).get("disks") or []
    above = [disk for disk in disks if Path(path).is_relative_to(disk["path"])]
    return int(max(above, key=lambda disk: len(disk["path"]))["free_bytes"]) if above else -1


def filled(value: Any, chosen: Mapping[str, Any]) -> Any:
    """Data with each text that is a `{parameter}` replaced by its value."""
    if isinstance(value, dict):
        return {key: filled(item, chosen) for key, item in value.items()}
    if isinstance(value, list):
        return [filled(item, chosen) for item in value]
    if isinstance(value, str) and value.startswith("{") and value.endswith("}"):
        return chosen.get(value[1:-1], value)
    return value


def told(answer: Mapping[str, Any]) -> dict[str, Any]:
    """A module's answer for a reader: without what Ansible adds to it, and without whole objects."""
    return {key: value for key, value in answer.items() if key not in _FOREIGN and not key.startswith("_")}


class FilterModule:
    """Makes the filters known to Ansible."""

    def filters(self) -> dict[str, Any]:
        return {
            "edgectl_workload_hosts": hosts,
            "edgectl_archive_of": archive,
            "edgectl_images_of": images,
            "edgectl_model_of": model,
            "edgectl_workload_names": names,
            "edgectl_parameters_of": parameters_of,
            "edgectl_file_size": file_size,
            "edgectl_free_bytes": free_bytes,
            "edgectl_no_model": no_model,
            "edgectl_filled": filled,
            "edgectl_told": told,
        }
