"""The role's view of its peers and its firewall, run by Ansible: as one host of a mesh, as a spoke, as a hub."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from edgectl import content

LOCAL = {
    "ansible_connection": "local",
    "ansible_python_interpreter": sys.executable,
    "wireguard_interface": "wg-edgectl-test",
}
CLUSTER = {
    "control_plane": {"hosts": {"nuc1": {"ansible_host": "192.168.1.11"}}},
    "workers": {"hosts": {"nuc2": {"ansible_host": "192.168.1.12"}, "nuc3": {"ansible_host": "192.168.1.13"}}},
}
PUBLIC_KEYS = {"nuc1": "bnVjMQ==", "nuc2": "bnVjMg==", "nuc3": "bnVjMw==", "relay": "cmVsYXk="}
PLAY = [
    {
        "hosts": "cluster:hub",
        "gather_facts": False,
        "roles": [{"role": "cluster"}],
        "tasks": [
            {
                "ansible.builtin.import_role": {"name": "wireguard", "tasks_from": "peers.yml", "public": True},
                "when": "false",
            },
            {
                "ansible.builtin.copy": {
                    "dest": "{{ out }}/{{ inventory_hostname }}.json",
                    "mode": "0600",
                    "content": "{{ {'peers': __wireguard_peers, 'beyond': __wireguard_beyond, "
                    "'known': __wireguard_neighbours, 'outside': __wireguard_outside_peers} | to_json }}",
                }
            },
            {
                "ansible.builtin.template": {
                    "src": "{{ guard }}",
                    "dest": "{{ out }}/{{ inventory_hostname }}.guard",
                    "mode": "0755",
                }
            },
        ],
    }
]
# Writes down what it is given, and knows of no chain.
IPTABLES = '#!/bin/sh\ncase $* in *-C* | *-S*) exit 1 ;; esac\necho "iptables $*" >>"$OUT"\n'
RESTORE = '#!/bin/sh\ncat >>"$OUT"\n'


@pytest.fixture(scope="module")
def role(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Runs the role's variables and guard for every host of an inventory, and gives the directory with the results."""

    def run(topology: str, hub: list[str]) -> Path:
        directory = tmp_path_factory.mktemp(topology)
        inventory = directory / "inventory"
        inventory.mkdir()
        groups: dict[str, Any] = {"children": {"cluster": {"children": CLUSTER}}}
        if hub:
            groups["children"]["hub"] = {"hosts": {name: {} for name in hub}}
        groups["vars"] = {**LOCAL, "wireguard_topology": topology, "out": str(directory)}
        groups["vars"]["guard"] = str(content.root() / "roles" / "wireguard" / "templates" / "wireguard-guard.j2")
        hosts = {
            name: {
                "edgectl_state": {
                    "wireguard_public_key": key,
                    "wireguard_address": f"10.200.0.{number}",
                    **({"pod_cidr": f"10.244.{number}.0/24"} if name != "relay" else {"lan_address": "203.0.113.10"}),
                }
            }
            for number, (name, key) in enumerate(PUBLIC_KEYS.items(), start=1)
            if name in hub or name != "relay"
        }
        laptop = {"laptop": {"wireguard_public_key": "bGFwdG9w", "wireguard_address": "10.200.0.9"}}
        state = {"all": {"vars": {"edgectl_state_peers": laptop}, "hosts": hosts}}
        (inventory / "hosts.yml").write_text(yaml.safe_dump({"all": groups}))
        (inventory / "edgectl.state.yml").write_text(yaml.safe_dump(state))
        (directory / "play.yml").write_text(yaml.safe_dump(PLAY))
        done = subprocess.run(
            [sys.executable, "-m", "ansible", "playbook", "-i", str(inventory), str(directory / "play.yml")],
            env={**os.environ, **content.ansible_environment(), "ANSIBLE_NOCOLOR": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return directory

    return run


@pytest.fixture(scope="module")
def mesh(role: Callable[..., Path]) -> Path:
    return role("mesh", [])


@pytest.fixture(scope="module")
def outside(role: Callable[..., Path]) -> Path:
    """The hub is no node."""
    return role("hub", ["relay"])


@pytest.fixture(scope="module")
def inside(role: Callable[..., Path]) -> Path:
    """The hub is the control plane."""
    return role("hub", ["nuc1"])


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
