"""Whom a host has for peers and what it forwards: as one of a mesh, as a spoke, as a hub."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

# Writes down what it is given, and knows of no chain.
IPTABLES = '#!/bin/sh\ncase $* in *-C* | *-S*) exit 1 ;; esac\necho "iptables $*" >>"$OUT"\n'
RESTORE = '#!/bin/sh\ncat >>"$OUT"\n'


def view(directory: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((directory / f"{name}.json").read_text())
    return found


def names(entries: list[dict[str, Any]]) -> list[str]:
    return [entry["name"] for entry in entries]


def rules(directory: Path, name: str) -> list[str]:
    """The rules that a host's guard loads, and the commands that hang them up."""
    stubs = directory / "bin"
    stubs.mkdir(exist_ok=True)
    for program, text in (("iptables", IPTABLES), ("iptables-restore", RESTORE)):
        (stubs / program).write_text(text)
        (stubs / program).chmod(0o755)
    out = directory / f"{name}.rules"
    out.unlink(missing_ok=True)
    subprocess.run(
        [str(directory / f"{name}.guard"), "up", "wg0"],
        env={"PATH": f"{stubs}:{os.environ['PATH']}", "OUT": str(out)},
        check=True,
        capture_output=True,
    )
    return out.read_text().splitlines()


def test_in_a_mesh_everybody_has_everybody_for_a_peer(mesh: Path) -> None:
    seen = view(mesh, "nuc2")
    assert (names(seen["peers"]), seen["beyond"]) == (["nuc1", "nuc3"], [])
    assert names(seen["outside"]) == ["laptop"]
    assert [entry["endpoint"] for entry in seen["peers"]] == ["192.168.1.11:51871", "192.168.1.13:51871"]


def test_a_spoke_has_its_hub_for_its_only_peer_and_reaches_the_others_through_it(outside: Path) -> None:
    seen = view(outside, "nuc2")
    [hub] = seen["peers"]
    assert (hub["name"], hub["allowed_ips"]) == ("relay", ["10.200.0.0/24", "10.244.0.0/16"])
    assert hub["endpoint"] == "203.0.113.10:51871"
    assert [(entry["name"], entry["via"]) for entry in seen["beyond"]] == [("nuc1", "relay"), ("nuc3", "relay")]
    # Entries of a former mesh go, and a laptop is the hub's business.
    assert (seen["known"], seen["outside"]) == (["relay"], [])


def test_the_hub_has_everybody_for_a_peer_laptops_too(outside: Path) -> None:
    seen = view(outside, "relay")
    assert (names(seen["peers"]), seen["beyond"]) == (["nuc1", "nuc2", "nuc3"], [])
    assert names(seen["outside"]) == ["laptop"]
    assert {entry["endpoint"] for entry in seen["peers"]} == {""}


def test_a_node_can_be_the_hub(inside: Path) -> None:
    assert names(view(inside, "nuc1")["peers"]) == ["nuc2", "nuc3"]
    assert names(view(inside, "nuc3")["peers"]) == ["nuc1"]
    assert names(view(inside, "nuc3")["beyond"]) == ["nuc2"]


PASSED_ON = [
    f"-A CHAIN -s {source} -d {target} -i wg0 -o wg0 -j TARGET"
    for source in ("10.200.0.0/24", "10.244.0.0/16")
    for target in ("10.200.0.0/24", "10.244.0.0/16")
]


def test_a_hub_outside_the_cluster_forwards_between_spokes_and_nothing_else(outside: Path) -> None:
    between = [rule.replace("CHAIN", "EDGECTL-GUARD").replace("TARGET", "RETURN") for rule in PASSED_ON]
    accepted = [rule.replace("CHAIN", "EDGECTL-HUB").replace("TARGET", "ACCEPT") for rule in PASSED_ON]
    closed = ["-A EDGECTL-GUARD -i wg0 -j DROP", "-A EDGECTL-GUARD -o wg0 -j DROP"]
    assert rules(outside, "relay") == [
        *("*mangle", ":EDGECTL-GUARD - [0:0]", *between, *closed, "COMMIT"),
        "iptables -w 10 -t mangle -I FORWARD -j EDGECTL-GUARD",
        *("*filter", ":EDGECTL-HUB - [0:0]", *accepted, "COMMIT"),
        "iptables -w 10 -t filter -I FORWARD -j EDGECTL-HUB",
    ]


def test_a_hub_that_is_a_node_lets_its_pods_through_too(inside: Path) -> None:
    written = rules(inside, "nuc1")
    assert "-A EDGECTL-GUARD -i wg0 -o cni0 -j RETURN" in written
    assert sum("-i wg0 -o wg0" in rule for rule in written) == 8


@pytest.mark.parametrize("topology", ["mesh", "outside", "inside"])
def test_no_other_host_passes_packets_on(topology: str, request: pytest.FixtureRequest) -> None:
    written = rules(request.getfixturevalue(topology), "nuc2")
    assert not [rule for rule in written if "-o wg0" in rule and "-i wg0" in rule]
    assert "-A EDGECTL-GUARD -i wg0 -j DROP" in written
    assert not any("EDGECTL-HUB" in rule for rule in written)
