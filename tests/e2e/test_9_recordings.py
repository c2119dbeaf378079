"""A node that boots from a recording is that board to the probe; and a lab node can be recorded itself.

Has a lab of its own with one node, and no cluster: it runs in any order and beside other labs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.e2e.cluster import edgectl, lab_status

LAB = "rec"
NODE = "nano1"
RECORDING = "orin-nano-jp5.1"


@pytest.fixture(scope="module")
def inventory() -> Iterator[str]:
    """One node that pretends to be an Orin Nano."""
    edgectl("lab", "down", "--name", LAB)
    nodes = f"{NODE}:control_plane:recording={RECORDING}"
    edgectl("lab", "up", "--name", LAB, "--nodes", nodes, "--no-artifacts", timeout=1800)
    yield str(lab_status(LAB)["inventory"])
    edgectl("lab", "down", "--name", LAB)


def test_the_node_shows_the_recorded_board_and_says_that_it_is_simulated(inventory: str) -> None:
    document = json.loads(edgectl("probe", "-i", inventory, "--json").stdout)["hosts"][NODE]
    assert document["jetson"]["l4t"] == "35.4.1"
    assert document["jetson"]["model"] == "NVIDIA Orin Nano Developer Kit"
    assert document["os"]["version_id"] == "20.04"
    assert document["kernel"]["release"] == "5.10.120-tegra"
    assert "CONFIG_WIREGUARD" not in document["kernel"]["config"]
    assert document["packages"]["nvidia-l4t-core"] == "35.4.1-20230801124926"
    assert document["memory"]["total_kib"] == 7340032
    assert document["simulated"] == "lab"
    assert {"device-tree", "kernel", "memory", "operating-system"} <= set(document["lab"]["simulated"])


def test_what_roles_act_on_is_the_nodes_own(inventory: str) -> None:
    document = json.loads(edgectl("probe", "-i", inventory, "--json").stdout)["hosts"][NODE]
    address = next(node["address"] for node in lab_status(LAB)["nodes"] if node["name"] == NODE)
    assert document["network"]["default_address"] == address
    assert document["identity"]["hostname"] == NODE
    assert document["units"]["edgectl-lab-first-boot.service"]["active"] == "active"
    assert not any(swap["zram"] and swap["size_kib"] == 611669 for swap in document["swap"])


def test_the_lab_remembers_what_the_node_pretends_to_be(inventory: str) -> None:
    assert [node["recording"] for node in lab_status(LAB)["nodes"]] == [RECORDING]
    again = edgectl("lab", "up", "--name", LAB, "--nodes", f"{NODE}:control_plane", "--no-artifacts", check=False)
    assert again.returncode == 2
    assert RECORDING in again.stderr


def test_a_host_is_recorded_over_ssh_without_its_name_and_addresses_of_its_hardware(
    inventory: str, tmp_path: Path
) -> None:
    file = tmp_path / "board.yml"
    done = edgectl("probe", NODE, "-i", inventory, "--record", str(file))
    assert "taken out  host name" in done.stderr
    recording = yaml.safe_load(file.read_text())
    live = json.loads(edgectl("probe", NODE, "-i", inventory, "--json").stdout)["hosts"][NODE]
    assert recording["kind"] == "captured"
    assert recording["document"]["jetson"] == live["jetson"]
    assert recording["document"]["packages"] == live["packages"]
    assert recording["document"]["simulated"] == "lab"
    default = live["network"]["default_interface"]
    mac = next(link["mac"] for link in live["network"]["interfaces"] if link["name"] == default)
    private = [NODE, mac, live["identity"]["machine_id"], live["identity"]["boot_id"]]
    assert [word for word in private if word in file.read_text()] == []
