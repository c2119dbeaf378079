"""`edgectl compat`: pages that fit their terminal, documents, and hosts of which one does not answer."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from edgectl.compat import tables
from edgectl.compat.verdict import verdicts
from edgectl.output import compat as output
from edgectl.recording import catalogue
from edgectl.ssh.probe import ProbeFailure
from edgectl.ssh.result import Trouble
from tests.unit.cli.conftest import Answer, edgectl, inventory  # noqa: F401

from .conftest import board

Edgectl = Callable[..., Answer]
COLOUR = re.compile(r"\033\[\d+m")
UNREACHABLE = "            far1: {ansible_connection: ssh, ansible_host: 127.0.0.1, ansible_port: 1}\n"


def hosts() -> dict[str, object]:
    """All recorded boards, one without kernel options, one with a GPU, and a host that was not reached."""
    card = {"kind": "pci", "bus": "0000:01:00.0", "name": "NVIDIA GeForce RTX 4070 Ti SUPER", "driver": True}
    containerd = {"present": True, "version": "1.7.24"}
    found: dict[str, object] = {name: verdicts(board(name)) for name in catalogue.names()}
    found["gpu1"] = verdicts(board("nuc-ubuntu24.04") | {"gpus": [card], "containerd": containerd})
    found["unknown1"] = verdicts({"jetson": {"l4t": "40.1.0", "model": "NVIDIA Jetson"}, "kernel": {}})
    found["far1"] = ProbeFailure("far1", Trouble.TIMEOUT, "no answer from 192.168.1.77 port 22 within 10 seconds")
    return found


@pytest.mark.parametrize("width", [80, 140])
def test_no_line_is_longer_than_the_terminal(width: int) -> None:
    for lines in (list(output.lines(tables.shipped(), width=width)), list(output.host_lines(hosts(), width=width))):
        assert len(lines) > 20
        assert [line for line in lines if len(line) > width] == []


@pytest.mark.parametrize("width", [80, 140])
def test_the_command_itself_keeps_to_the_width(
    edgectl: Edgectl,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
    width: int,
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    answer = edgectl("compat")
    assert answer.code == 0
    lines = answer.out.splitlines()
    assert max(map(len, lines)) <= width
    assert max(map(len, lines)) > width * 0.9
    assert "\033" not in answer.out


def test_colours_add_nothing_but_colour() -> None:
    for plain, coloured in (
        (output.lines(tables.shipped(), width=80), output.lines(tables.shipped(), width=80, colour=True)),
        (output.host_lines(hosts(), width=80), output.host_lines(hosts(), width=80, colour=True)),
    ):
        text = "\n".join(coloured)
        assert len(COLOUR.findall(text)) > 10
        assert COLOUR.sub("", text) == "\n".join(plain)


def test_a_host_is_told_what_it_can_run_and_for_want_of_what_it_cannot() -> None:
    text = "\n".join(output.host_lines({"orin1": verdicts(board("orin-nx-jp6.2"))}, width=140))
    assert text.startswith("orin1: supported\n")
    assert re.search(r"^  Release +JetPack 6\.2, L4T 36\.4\.3, CUDA 12\.6$", text, re.MULTILINE)
    assert re.search(r"^  Possible .*edgectl's pod network.*flannel vxlan", text, re.MULTILINE)
    assert "kernel WireGuard, flannel wireguard-native: lacks WIREGUARD" in text
    assert "judged by its own options" in text


def test_a_host_whose_kernel_is_silent_is_told_that_the_table_was_asked() -> None:
    document = board("orin-nx-jp6.2") | {"kernel": {"release": "5.15.148-tegra", "arch": "aarch64"}}
    text = " ".join("\n".join(output.host_lines({"orin1": verdicts(document)}, width=140)).split())
    assert "it does not tell its options: judged by NVIDIA's R36.4 kernels" in text


def test_the_tables_are_one_document_with_sources(edgectl: Edgectl) -> None:  # noqa: F811
    document = json.loads(edgectl("compat", "--json").out)
    assert (document["schema_version"], document["kind"]) == (1, "compat")
    for table in document["tables"].values():
        named = {
            source for rows in table.values() if isinstance(rows, list) for row in rows for source in row["sources"]
        }
        assert named
        assert named <= set(table["sources"])


def test_the_hosts_of_an_inventory_are_one_document(edgectl: Edgectl, inventory: Path) -> None:  # noqa: F811
    answer = edgectl("compat", inventory, "--json")
    assert answer.code == 0, answer.err
    document = json.loads(answer.out)
    assert list(document["hosts"]) == ["nuc1", "nuc2", "orin1"]
    features = {feature.id for feature in tables.shipped().kernel.features}
    for host in document["hosts"].values():
        assert set(host["features"]) == features
        assert host["level"] in ("supported", "best effort", "refused", "unknown")


def test_a_host_that_does_not_answer_is_named_and_stops_no_other(edgectl: Edgectl, inventory: Path) -> None:  # noqa: F811
    file = inventory / "hosts.yml"
    file.write_text(file.read_text() + UNREACHABLE)
    answer = edgectl("compat", inventory)
    assert answer.code == 4, answer.err
    assert "\nfar1: not known\n" in answer.out
    assert re.search(r"^nuc1: (supported|best effort|refused|unknown)$", answer.out, re.MULTILINE)


@pytest.mark.parametrize("colour", [False, True])
def test_levels_stand_below_each_other(colour: bool) -> None:
    lines = [COLOUR.sub("", line) for line in output.lines(tables.shipped(), width=80, colour=colour)]
    column = lines[1].index("LEVEL")
    assert {line[column:] for line in lines[2:20]} == {"supported", "best effort"}
