"""What a host uses, read from trees as boards have them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.unit.recording.conftest import TREES

# isort: split
import edgectl_usage

from edgectl.recording import capture

JETSON = {
    "/proc/device-tree/compatible": "nvidia,p3768-0000+p3767-0000\0nvidia,tegra234\0",
    "/proc/meminfo": "MemTotal:       16000000 kB\nMemAvailable:   12000000 kB\n",
    # The form of jetson_stats' own test data.
    "/sys/kernel/debug/nvmap/iovmm/clients": (
        "CLIENT                        PROCESS      PID        SIZE\n"
        "user                          gnome-shell      2000     20480K\n"
        "user                          ollama      4711     1048576K\n"
        "total                                                 1069056K\n"
    ),
    "/sys/class/devfreq/17000000.gpu/device/load": "345",
    "/sys/class/thermal/thermal_zone0/type": "cpu-thermal",
    "/sys/class/thermal/thermal_zone0/temp": "48125",
    "/sys/class/thermal/thermal_zone8/type": "tj-thermal",
    "/sys/class/thermal/thermal_zone8/temp": "51250",
    "/sys/class/thermal/thermal_zone9/type": "cv0-thermal",
    "/sys/class/thermal/thermal_zone9/temp": "-256000",
    "/sys/class/thermal/cooling_device0/type": "pwm-fan",
    "/sys/class/hwmon/hwmon3/name": "ina3221",
    "/sys/class/hwmon/hwmon3/in1_label": "VDD_IN",
    "/sys/class/hwmon/hwmon3/in1_input": "5000",
    "/sys/class/hwmon/hwmon3/curr1_input": "1500",
    "/sys/class/hwmon/hwmon3/in2_label": "VDD_SOC",
    "/sys/class/hwmon/hwmon3/in2_input": "5000",
    "/sys/class/hwmon/hwmon3/curr2_input": "300",
    "/sys/class/hwmon/hwmon3/in3_label": "NC",
    "/sys/class/hwmon/hwmon3/in7_label": "sum of shunt voltages",
    "/sys/class/hwmon/hwmon0/name": "nvme",
}
SMI = {
    "/sys/bus/pci/devices/0000:01:00.0/vendor": "0x10de",
    "/sys/bus/pci/devices/0000:01:00.0/class": "0x030000",
    "/proc/meminfo": JETSON["/proc/meminfo"],
}


def tree(root: Path, files: dict[str, str]) -> dict[str, Any]:
    for path, content in files.items():
        file = root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    found: dict[str, Any] = edgectl_usage.usage(str(root))
    return found


def test_a_jetson_tells_gpu_memory_by_process_and_its_own_sensors(tmp_path: Path) -> None:
    found = tree(tmp_path, JETSON)
    assert found["errors"] == []
    assert (found["platform"], found["simulated"]) == ("jetson", None)
    assert found["nvmap"]["total_kib"] == 1069056
    assert found["nvmap"]["processes"][0] == {"process": "ollama", "pid": 4711, "kib": 1048576}
    assert found["temperatures"] == {"cpu-thermal": 48.125, "tj-thermal": 51.25}
    assert found["temperature_c"] == 51.25
    assert found["rails"] == {"VDD_IN": 7.5, "VDD_SOC": 1.5}
    assert (found["power_w"], found["power_of"]) == (7.5, "board")
    assert found["gpu_load_percent"] == 34.5
    assert found["gpus"] == []


def test_without_a_rail_for_the_whole_board_the_rails_are_added(tmp_path: Path) -> None:
    files = {**JETSON, "/sys/class/hwmon/hwmon3/in1_label": "VDD_GPU_SOC"}
    found = tree(tmp_path, files)
    assert (found["power_w"], found["power_of"]) == (9.0, "rails")


def test_a_discrete_gpu_is_asked_through_nvidia_smi(tmp_path: Path) -> None:
    said = "NVIDIA RTX A2000 12GB, 3111, 12282, 42, 61, 38.21\n"
    found = tree(tmp_path, {**SMI, "/.commands/nvidia-smi": said})
    assert found["platform"] == "dgpu"
    (card,) = found["gpus"]
    assert (card["used_mib"], card["total_mib"], card["load_percent"]) == (3111, 12282, 42)
    assert (found["temperature_c"], found["power_w"], found["power_of"]) == (61, 38.21, "gpus")


@pytest.mark.parametrize("said", ["Orin (nvgpu), [N/A], [N/A], [N/A], [N/A], [N/A]\n", "No devices were found\n", ""])
def test_what_nvidia_smi_does_not_say_is_not_made_up(tmp_path: Path, said: str) -> None:
    found = tree(tmp_path, {**JETSON, "/.commands/nvidia-smi": said})
    assert found["gpus"] == []
    assert found["errors"] == []


def test_a_machine_that_offers_nothing_still_tells_its_memory(tmp_path: Path) -> None:
    found = tree(tmp_path, {"/proc/meminfo": JETSON["/proc/meminfo"]})
    assert found["memory"] == {"total_kib": 16000000, "available_kib": 12000000}
    assert (found["platform"], found["nvmap"], found["temperature_c"], found["power_w"]) == ("cpu", None, None, None)
    assert found["power_of"] == ""


def test_a_node_of_the_lab_does_not_show_the_sensors_of_the_machine_below(tmp_path: Path) -> None:
    found = tree(tmp_path, {**JETSON, "/etc/edgectl-lab": "{}"})
    assert found["simulated"] == "lab"
    assert (found["temperatures"], found["rails"]) == ({}, {})
    own = {f"/etc/edgectl-lab.d/root{path}": content for path, content in JETSON.items() if "thermal" in path}
    assert tree(tmp_path, own)["temperature_c"] == 51.25


def test_sections_that_cannot_be_read_are_errors_and_not_the_end(tmp_path: Path) -> None:
    found = tree(tmp_path, {"/proc/meminfo": "nothing"})
    assert found["memory"] is None
    assert "memory: KeyError" in found["errors"][0]


def test_it_runs_as_one_text_on_a_host(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-", str(TREES / "jetson_r36")], input=capture.piped("edgectl_usage"), text=True,
        capture_output=True, check=True,
    )  # fmt: skip
    assert json.loads(done.stdout)["platform"] == "jetson"
