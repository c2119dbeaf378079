"""One lab of four machines for all end-to-end tests; the files run in the order of their numbers.

Three machines form the cluster. The fourth (`gpu1`), a PC with a discrete GPU and no driver for it, is first a LAN host
outside of it and later a new worker.
The state file is written, so the tests work on a copy of the lab's inventory.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e import machine
from tests.e2e.cluster import Cluster, edgectl, lab_status, take_out_worker

LAB = os.environ.get("EDGECTL_E2E_LAB", "e2e")
# For work on the tests: `EDGECTL_E2E_KEEP=1` leaves the lab standing and takes it up again.
KEEP = "EDGECTL_E2E_KEEP" in os.environ
KEPT = Path(tempfile.gettempdir()) / "edgectl-e2e-kept" / "inventory"
NODES = "nuc1:control_plane,nuc2,orin1:jetson,gpu1:dgpu"


@pytest.fixture(scope="session")
def machine_before() -> machine.State:
    """What the machine under the lab looked like before any lab was started."""
    return machine.state()


@pytest.fixture(scope="session")
def lab(machine_before: machine.State, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Four machines, fresh from the image, none of them touched by edgectl yet."""
    if not (KEEP and KEPT.exists()):
        edgectl("lab", "down", "--name", LAB)
        edgectl("lab", "up", "--name", LAB, "--nodes", NODES, "--workloads", "all", timeout=3000)
    inventory = KEPT if KEEP else tmp_path_factory.mktemp("e2e") / "inventory"
    if not inventory.exists():
        shutil.copytree(lab_status(LAB)["inventory"], inventory)
        take_out_worker(inventory, "gpu1")
    yield Cluster(LAB, inventory)
    if not KEEP:
        edgectl("lab", "down", "--name", LAB)


@pytest.fixture(scope="session")
def nodes_before(lab: Cluster) -> dict[str, machine.NodeState]:
    """What each node looked like before bootstrap."""
    return {node: machine.node_state(lab, node) for node in ("nuc1", "nuc2", "orin1", "gpu1")}


@pytest.fixture(scope="session")
def cluster(lab: Cluster, nodes_before: dict[str, machine.NodeState]) -> Cluster:
    """The lab after `edgectl bootstrap`."""
    if not (lab.inventory / "edgectl.state.yml").exists():
        lab.bootstrap()
    return lab
