"""One lab of four machines, with k3s on three of them; `outside` is a LAN host first and a new agent later.

Where k3s' release can't be fetched, it is the lab's stand-in (docs/lab.md). Most tests are those of tests/e2e, on this
lab. The files run in the order of their numbers.
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


def pytest_collection_modifyitems(items: list[pytest.Function]) -> None:
    """Tests that a file has from another one run first, in the order that they have there."""
    items.sort(
        key=lambda item: (item.path.name, item.function.__code__.co_filename, item.function.__code__.co_firstlineno)
    )


LAB = os.environ.get("EDGECTL_E2E_LAB", "e2ek3s")
# For work on the tests: `EDGECTL_E2E_KEEP=1` leaves the lab standing and takes it up again.
KEEP = "EDGECTL_E2E_KEEP" in os.environ
KEPT = Path(tempfile.gettempdir()) / f"edgectl-{LAB}-kept" / "inventory"
NODES = "nuc1:control_plane,nuc2,orin1:jetson,nuc3"


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Four machines, fresh from the image, none of them touched by edgectl yet."""
    if not (KEEP and KEPT.exists()):
        edgectl("lab", "down", "--name", LAB)
        edgectl("lab", "up", "--name", LAB, "--nodes", NODES, "--distribution", "k3s", timeout=3000)
    inventory = KEPT if KEEP else tmp_path_factory.mktemp("e2e") / "inventory"
    if not inventory.exists():
        shutil.copytree(lab_status(LAB)["inventory"], inventory)
        take_out_worker(inventory, "nuc3")
    yield Cluster(LAB, inventory, "k3s", outside="nuc3")
    if not KEEP:
        edgectl("lab", "down", "--name", LAB)


@pytest.fixture(scope="session")
def room() -> None:
    """The lab of the files before is gone: a machine's inotify limit has room for six nodes."""
    if not KEEP:
        edgectl("lab", "down", "--name", LAB)


@pytest.fixture(scope="session")
def nodes_before(lab: Cluster) -> dict[str, machine.NodeState]:
    """What each node looked like before bootstrap."""
    return {node: machine.node_state(lab, node) for node in ("nuc1", "nuc2", "orin1", "nuc3")}


@pytest.fixture(scope="session")
def cluster(lab: Cluster, nodes_before: dict[str, machine.NodeState]) -> Cluster:
    """The lab after `edgectl bootstrap`."""
    if not (lab.inventory / "edgectl.state.yml").exists():
        lab.bootstrap()
    return lab
