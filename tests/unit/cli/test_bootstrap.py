"""`edgectl bootstrap` where it ends before Ansible is started."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from .conftest import WORKS, Answer

Edgectl = Callable[..., Answer]
Write = Callable[[str], None]


def test_a_wrong_inventory_touches_nothing(edgectl: Edgectl, inventory: Path, playbook: Write, tmp_path: Path) -> None:
    playbook(WORKS)
    text = (inventory / "hosts.yml").read_text()
    (inventory / "hosts.yml").write_text(text.replace("cluster_name: attic", "cluster_distribution: kubedam"))
    answer = edgectl("bootstrap", inventory)
    assert answer.code == 2
    assert "kubedam" in answer.err
    assert not (tmp_path / "state").exists()


def test_a_limit_that_names_nobody_says_so(edgectl: Edgectl, inventory: Path, playbook: Write) -> None:
    playbook(WORKS)
    answer = edgectl("bootstrap", inventory, "--limit", "orin2")
    assert answer.code == 2
    assert "did you mean orin1?" in answer.err
