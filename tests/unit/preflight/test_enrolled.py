"""Phase enrol is skipped only where the state file says already what it would write."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.checks.conftest import sound_host
from tests.unit.preflight.conftest import load_plugin

plugin = load_plugin("action", "edgectl_preflight")

KEYS = ["SHA256:b", "SHA256:A", "SHA256:c"]
OPTIONS = {
    "cluster_lan_address": "192.168.1.11",
    "cluster_pod_cidr": "10.244.0.0/16",
    "cluster_wireguard": True,
    "wireguard_interface": "wg0",
    "wireguard_network": "10.200.0.0/24",
}
STATE = {
    "machine_id": "m1",
    "lan_address": "192.168.1.11",
    # As Ansible's own filter sorts: regardless of capitals.
    "ssh_host_keys": ["SHA256:A", "SHA256:b", "SHA256:c"],
    "wireguard_public_key": "key1",
    "wireguard_address": "10.200.0.1",
    "pod_cidr": "10.244.0.0/24",
}


def enrolled(options: dict[str, Any] | None = None, variables: dict[str, Any] | None = None, **state: Any) -> bool:
    document = sound_host("nuc1", 1)
    document["identity"]["machine_id"] = "m1"
    document["ssh_host_keys"] = [{"type": "x", "fingerprint": key} for key in KEYS]
    document["wireguard"]["interfaces"] = {"wg0": {"public_key": "key1"}}
    of_host = {"edgectl_state": {**STATE, **state}, **(variables or {})}
    found: bool = plugin.is_enrolled(document, of_host, {**OPTIONS, **(options or {})})
    return found


def test_a_host_that_is_as_the_state_file_says_is_enrolled() -> None:
    assert enrolled()
    # A hub has no pods.
    assert enrolled(pod_cidr=None)


@pytest.mark.parametrize(
    "change",
    [
        {"machine_id": "m2"},
        {"lan_address": "192.168.1.12"},
        {"ssh_host_keys": ["SHA256:A"]},
        {"wireguard_public_key": "key2"},
        {"wireguard_address": "10.99.0.1"},
        {"pod_cidr": "10.99.0.0/24"},
    ],
)
def test_any_difference_enrols_it_again(change: dict[str, Any]) -> None:
    assert not enrolled(**change)


@pytest.mark.parametrize("variables", [{"edgectl_full": True}, {"ansible_check_mode": True}, {"edgectl_state": {}}])
def test_a_full_run_a_plan_and_a_new_host_enrol(variables: dict[str, Any]) -> None:
    assert not enrolled(variables=variables)
