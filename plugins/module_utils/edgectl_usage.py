"""Read what a host uses at this moment, and print it as one JSON document: memory, GPUs, temperature, power.

Runs like the probe, with it, and by the same rules: standard library only, Python 3.8 upwards, read-only. What a
machine does not offer is null or empty. Sources of the facts:

- nvmap, the allocator of a Jetson's GPU memory, lists its clients in debugfs, which root reads: "user  process  PID
  sizeK" and a line "total" (NVIDIA's jetson-device-skills, jetson-diagnostic; jetson_stats, jtop/core/processes.py). A
  Thor has none; its driver answers nvidia-smi.
- nvidia-smi of an Orin answers "[N/A]" to most questions (jetson-device-skills, jetson-diagnostic).
- Thermal zones tell thousandths of a degree (Documentation/driver-api/thermal/sysfs-api.rst); "tj" is the hottest
  junction.
- ina3221 measures the rails of a board: in1..in3 in mV, curr1..curr3 in mA; in4 and above are shunts, NC is not
  connected (Documentation/hwmon/ina3221.rst; jtop/core/power.py). VDD_IN and POM_5V_IN carry the whole board.
- Load of a Jetson's GPU: devfreq `device/load` in thousandths (jtop/core/gpu.py).
"""

from __future__ import annotations

import json
import os
import re
import sys

import edgectl_probe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SCHEMA_VERSION = 1
NVMAP_CLIENTS = "/sys/kernel/debug/nvmap/iovmm/clients"
WHOLE_BOARD = ("VDD_IN", "POM_5V_IN")
# Which zone stands for the machine, where it has one of them: the hottest junction, the GPU, the processor's package.
ZONES = ("tj-thermal", "Tj", "gpu-thermal", "GPU-therm", "x86_pkg_temp", "cpu-thermal", "CPU-therm")
GPU_QUESTIONS = ("name", "memory.used", "memory.total", "utilization.gpu", "temperature.gpu", "power.draw")


def usage(root: str = "/") -> dict[str, Any]:
    """The document. `errors` has a line for each section that could not be read."""
    host = edgectl_probe.Host(root)
    host.start("nvidia-smi", "nvidia-smi", "--query-gpu=" + ",".join(GPU_QUESTIONS), "--format=csv,noheader,nounits")
    sections = {
        "simulated": edgectl_probe.simulated,
        "platform": platform,
        "memory": edgectl_probe.memory,
        "nvmap": nvmap,
        "gpus": gpus,
        "gpu_load_percent": gpu_load,
        "temperatures": temperatures,
        "rails": rails,
    }  # type: dict[str, Callable[[Any], Any]]
    document = {"schema_version": SCHEMA_VERSION}  # type: dict[str, Any]
    for name, read in sections.items():
        try:
            document[name] = read(host)
        except Exception as error:
            document[name] = None
            host.errors.append("{}: {}: {}".format(name, type(error).__name__, error))
    document["temperature_c"] = temperature(document)
    document["power_w"], document["power_of"] = power(document)
    document["errors"] = host.errors
    return document


def platform(host: Any) -> str:
    if edgectl_probe.jetson(host):
        return "jetson"
    return "dgpu" if edgectl_probe.gpus(host) else "cpu"


def nvmap(host: Any) -> dict[str, Any] | None:
    """GPU memory by process, in KiB; None where there is no nvmap or it may not be read."""
    text = host.read(NVMAP_CLIENTS)
    if text is None:
        return None
    found, total = [], None
    for line in text.splitlines():
        row = re.match(r"\s*\w+\s+(\S.*?)\s+(\d+)\s+(\d+)([KM])\s*$", line)
        whole = re.match(r"\s*total\s+(\d+)([KM])", line)
        if whole:
            total = _kib(whole.group(1), whole.group(2))
        elif row:
            size = _kib(row.group(3), row.group(4))
            found.append({"process": row.group(1), "pid": int(row.group(2)), "kib": size})
    found.sort(key=lambda one: -one["kib"])
    return {"total_kib": sum(one["kib"] for one in found) if total is None else total, "processes": found}


def _kib(number: str, unit: str) -> int:
    return int(number) * (1024 if unit == "M" else 1)


def gpus(host: Any) -> list[dict[str, Any]]:
    """What nvidia-smi says of each GPU; a question that it does not answer is null, one with no answer is left out."""
    found = []
    for line in (host.output("nvidia-smi", may_fail=True) or "").splitlines():
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) != len(GPU_QUESTIONS):
            continue
        used, total, load, degrees, watts = (_number(cell) for cell in cells[1:])
        one = {"name": cells[0], "used_mib": used, "total_mib": total, "load_percent": load}
        one.update(temperature_c=degrees, power_w=watts)
        if any(value is not None for key, value in one.items() if key != "name"):
            found.append(one)
    return found


def gpu_load(host: Any) -> float | None:
    for name in host.names("/sys/class/devfreq"):
        load = _number(host.read("/sys/class/devfreq/{}/device/load".format(name)))
        if load is not None and re.search(r"gpu|gv11b|ga10b|gp10b", name):
            return load / 10
    return None


def temperatures(host: Any) -> dict[str, float]:
    """Thermal zones by type, in degrees Celsius; sensors that are off say nothing or less than nothing."""
    found = {}  # type: dict[str, float]
    for name in own_names(host, "/sys/class/thermal"):
        kind = host.read("/sys/class/thermal/{}/type".format(name))
        degrees = _number(_quietly(host, "/sys/class/thermal/{}/temp".format(name)))
        if name.startswith("thermal_zone") and kind and degrees is not None and degrees > 0:
            found[kind if kind not in found else kind + "-" + name[len("thermal_zone") :]] = degrees / 1000
    return found


def rails(host: Any) -> dict[str, float]:
    """Rails of the board by their label, in watts."""
    found = {}
    for name in own_names(host, "/sys/class/hwmon"):
        directory = "/sys/class/hwmon/" + name
        if host.read(directory + "/name") != "ina3221":
            continue
        for number in (1, 2, 3):
            label = host.read("{}/in{}_label".format(directory, number))
            volts = _number(_quietly(host, "{}/in{}_input".format(directory, number)))
            amperes = _number(_quietly(host, "{}/curr{}_input".format(directory, number)))
            if label and label != "NC" and volts is not None and amperes is not None:
                found[label] = round(volts * amperes / 1e6, 3)
    return found


def temperature(document: dict[str, Any]) -> float | None:
    """The one that stands for the machine."""
    zones = document["temperatures"] or {}
    named = [zones[kind] for kind in ZONES if kind in zones]
    cards = [gpu["temperature_c"] for gpu in document["gpus"] or () if gpu["temperature_c"] is not None]
    return max(cards) if cards else named[0] if named else max(zones.values(), default=None)


def power(document: dict[str, Any]) -> tuple[float | None, str]:
    """Watts, and of what: `board`, `rails` (their sum, where no rail carries the whole board), `gpus`."""
    found = document["rails"] or {}
    for label in WHOLE_BOARD:
        if label in found:
            return found[label], "board"
    if found:
        return round(sum(found.values()), 3), "rails"
    cards = [gpu["power_w"] for gpu in document["gpus"] or () if gpu["power_w"] is not None]
    return (sum(cards), "gpus") if cards else (None, "")


def own_names(host: Any, directory: str) -> list[str]:
    """Names in a directory of sysfs; on a node of the lab only what it shows itself: the rest is the machine below."""
    if host.is_lab and not host.path(directory).startswith(host.overlay + os.sep):
        return []
    return host.names(directory)


def _quietly(host: Any, path: str) -> str | None:
    """A sensor that is switched off answers with an error, which is no news."""
    known = len(host.errors)
    text = host.read(path)
    del host.errors[known:]
    return text


def _number(text: str | None) -> float | None:
    try:
        return float(text or "")
    except ValueError:
        return None


def main() -> None:
    json.dump(usage(sys.argv[1] if len(sys.argv) > 1 else "/"), sys.stdout)
    print()
