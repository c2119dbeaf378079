"""`edgectl peer`: what is refused before Ansible is asked, and what a peer is told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from edgectl.cluster import peer_file
from edgectl.cluster.peers import handshake_ages
from edgectl.errors import EdgectlError
from tests.unit.cli.conftest import Answer

Edgectl = Callable[..., Answer]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["Laptop"], "cannot be the name of a peer"),
        (["nuc2"], "nuc2 is a host of"),
        (["a-name-that-is-too-long"], "cannot be the name of a WireGuard configuration"),
        (["laptop", "-o", "there.conf"], "there.conf exists, and edgectl overwrites no private key"),
        (["laptop", "-o", "no/where.conf"], "is no directory of yours"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_written(
    edgectl: Edgectl, lab: Path, arguments: list[str], said: str
) -> None:
    Path("there.conf").write_text("precious")
    before = (lab / "edgectl.state.yml").read_text()
    answer = edgectl("peer", "add", *arguments, "-i", lab)
    assert answer.code == 2
    assert said in answer.err
    assert (lab / "edgectl.state.yml").read_text() == before
    assert [path.name for path in Path().iterdir()] == ["there.conf"]
    assert Path("there.conf").read_text() == "precious"


def test_before_the_first_bootstrap_there_is_nothing_to_be_let_into(edgectl: Edgectl, lab: Path) -> None:
    (lab / "edgectl.state.yml").unlink()
    answer = edgectl("peer", "add", "laptop", "-i", lab)
    assert answer.code == 2
    assert f"edgectl bootstrap {lab}" in answer.err


def test_ages_are_counted_by_the_hosts_own_clock() -> None:
    assert handshake_ages(["1000", "a=\t990", "b=\t0", "c=\t1003"]) == {"a=": 10, "c=": 0}


def test_a_qr_code_holds_the_configuration_without_its_comments() -> None:
    text = "[Interface]\nPrivateKey = x\n"
    assert peer_file.qr_code(f"{text}\n# nuc1\n") == peer_file.qr_code(text)
    assert peer_file.qr_code(text) != peer_file.qr_code(text.replace("x", "y"))
    with pytest.raises(EdgectlError, match="too long for a QR code"):
        peer_file.qr_code("x" * 3000)
