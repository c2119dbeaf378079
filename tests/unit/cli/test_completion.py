"""What the shell is offered when Tab is pressed, through the protocol that the shell itself speaks."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from edgectl.lab.record import Lab, Node

from .conftest import Answer

Complete = Callable[[str], list[str]]


@pytest.fixture
def complete(
    edgectl: Callable[..., Answer], inventory: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], list[str]]:
    """The words that bash gets for a command line; one that ends with a space has an empty last word."""
    monkeypatch.chdir(inventory.parent)

    def offered(line: str) -> list[str]:
        monkeypatch.setenv("_EDGECTL_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(len(line.split(" ")) - 1))
        answer = edgectl()
        assert answer.err == ""
        return answer.out.split()

    return offered


@pytest.mark.parametrize("verb", ["bootstrap", "reset"])
def test_limit_offers_hosts_and_groups(complete: Complete, verb: str) -> None:
    everything = ["nuc1", "nuc2", "orin1", "all", "cluster", "control_plane", "workers"]
    assert complete(f"edgectl {verb} --limit ") == everything
    assert complete(f"edgectl {verb} -l n") == ["nuc1", "nuc2"]


def test_limit_goes_on_after_a_comma_and_an_exclamation_mark(complete: Complete) -> None:
    assert complete("edgectl bootstrap --limit nuc1,n") == ["nuc1,nuc2"]
    assert complete("edgectl bootstrap --limit !w") == ["!workers"]
    assert complete("edgectl bootstrap --limit workers,!n") == ["workers,!nuc1", "workers,!nuc2"]


def test_probe_offers_hosts(complete: Complete) -> None:
    assert complete("edgectl probe ") == ["nuc1", "nuc2", "orin1"]
    assert complete("edgectl probe o") == ["orin1"]


def test_the_inventory_of_the_command_line_is_read(
    complete: Complete, inventory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inventory.rename(inventory.with_name("attic"))
    assert complete("edgectl probe ") == []
    assert complete("edgectl probe -i attic o") == ["orin1"]
    assert complete("edgectl bootstrap attic --limit o") == ["orin1"]
    monkeypatch.setenv("EDGECTL_INVENTORY", "attic")
    assert complete("edgectl probe o") == ["orin1"]
    assert complete("edgectl bootstrap --limit o") == ["orin1"]


def test_a_broken_inventory_offers_nothing_and_says_nothing(complete: Complete, inventory: Path) -> None:
    (inventory / "hosts.yml").write_bytes(b"cluster:\n\t\xff: [")
    assert complete("edgectl probe ") == []
    (inventory / "hosts").write_bytes(b"\xff\xfe")
    assert complete("edgectl bootstrap --limit ") == []


def test_lab_offers_the_nodes_of_the_lab(complete: Complete) -> None:
    assert complete("edgectl lab ssh ") == []
    for name, nodes in (("lab", ("nuc1", "orin1")), ("two", ("box",))):
        Lab(name, "10.0.0.0/24", "", nodes=[Node(node, "worker", "cpu", "10.0.0.2") for node in nodes]).save()
    assert complete("edgectl lab ssh ") == ["nuc1", "orin1"]
    assert complete("edgectl lab stop o") == ["orin1"]
    assert complete("edgectl lab start --name two ") == ["box"]


def test_a_damaged_record_of_the_lab_offers_nothing_and_says_nothing(complete: Complete) -> None:
    lab = Lab("lab", "10.0.0.0/24", "")
    lab.save()
    (lab.directory / "lab.json").write_text("[]")
    assert complete("edgectl lab ssh ") == []


def test_completion_never_loads_ansible(inventory: Path) -> None:
    code = (
        "import sys, atexit; from edgectl.cli import app;"
        "atexit.register(lambda: print([n for n in ('ansible', 'paramiko', 'rich', 'jinja2') if n in sys.modules]));"
        "app(prog_name='edgectl')"
    )
    environment = {"_EDGECTL_COMPLETE": "complete_bash", "COMP_WORDS": "edgectl probe n", "COMP_CWORD": "2"}
    written = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment, "EDGECTL_INVENTORY": str(inventory)},
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert written.splitlines() == ["nuc1", "nuc2", "[]"]
