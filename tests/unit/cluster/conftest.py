"""The command line of tests/unit/cli, for verbs on the cluster, and hosts that were enrolled."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.unit.cli.conftest import edgectl, inventory, playbook
from tests.unit.cluster.enrolled import host, network_play

__all__ = ["edgectl", "inventory", "lab", "playbook"]


@pytest.fixture
def lab(inventory: Path, playbook: Callable[[str], None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An inventory of three hosts that were enrolled; the current directory is empty."""
    playbook(network_play())
    hosts = {name: host(number) for number, name in enumerate(("nuc1", "nuc2", "orin1"), start=1)}
    document = {"all": {"vars": {"edgectl_state_cluster": {"name": "attic"}}, "hosts": hosts}}
    (inventory / "edgectl.state.yml").write_text(yaml.safe_dump(document))
    # No interface of this machine has that name.
    (inventory / "group_vars").mkdir()
    (inventory / "group_vars" / "all.yml").write_text("wireguard_interface: wg-edgectl-test\n")
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    return inventory
