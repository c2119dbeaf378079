"""What role wireguard makes of three topologies: `mesh`, hub `outside` the cluster, hub `inside` it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from edgectl import content
from tests.unit.ansible_playbook import said, say

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
TEMPLATES = content.root() / "roles" / "wireguard" / "templates"
SEEN = {
    "peers": "__wireguard_peers",
    "beyond": "__wireguard_beyond",
    "known": "__wireguard_neighbours",
    "outside": "__wireguard_outside_peers",
    **{
        script: f"lookup('ansible.builtin.template', '{TEMPLATES}/wireguard-{script}.j2')"
        for script in ("guard", "watch")
    },
}
PLAY = {
    "hosts": "cluster:hub",
    "gather_facts": False,
    "roles": [{"role": "cluster"}],
    "tasks": [
        # Its variables are visible, its tasks do not run.
        {
            "ansible.builtin.import_role": {"name": "wireguard", "tasks_from": "peers.yml", "public": True},
            "when": "false",
        },
        say("[inventory_hostname, {" + ", ".join(f"'{name}': {value}" for name, value in SEEN.items()) + "}]"),
    ],
}


@pytest.fixture(scope="session")
def role(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Works out the role's variables and scripts for every host; gives the directory with the results."""

    def run(topology: str, hub: list[str]) -> Path:
        directory = tmp_path_factory.mktemp(topology)
        inventory = directory / "inventory"
        inventory.mkdir()
        groups: dict[str, Any] = {"children": {"cluster": {"children": CLUSTER}}}
        if hub:
            groups["children"]["hub"] = {"hosts": {name: {} for name in hub}}
        groups["vars"] = {**LOCAL, "wireguard_topology": topology}
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
        for host, seen in said(inventory, [PLAY]):
            for script in ("guard", "watch"):
                file = directory / f"{host}.{script}"
                file.write_text(seen.pop(script))
                file.chmod(0o755)
            (directory / f"{host}.json").write_text(json.dumps(seen))
        return directory

    return run


@pytest.fixture(scope="session")
def mesh(role: Callable[..., Path]) -> Path:
    return role("mesh", [])


@pytest.fixture(scope="session")
def outside(role: Callable[..., Path]) -> Path:
    """The hub is no node."""
    return role("hub", ["relay"])


@pytest.fixture(scope="session")
def inside(role: Callable[..., Path]) -> Path:
    """The hub is the control plane."""
    return role("hub", ["nuc1"])
