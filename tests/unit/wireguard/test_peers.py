"""Who is whose peer follows from inventory and state file."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.wireguard.content import load

peers = load("plugins/filter/edgectl_peers.py")


def host(number: int, **variables: Any) -> dict[str, Any]:
    state = {
        "wireguard_public_key": f"key{number}",
        "wireguard_address": f"10.200.0.{number}",
        "pod_cidr": f"10.244.{number}.0/24",
    }
    return {"ansible_host": f"192.168.1.{number}", "edgectl_state": state, **variables}


STATE = host(1)["edgectl_state"]
HOSTS = {"nuc1": host(1), "nuc2": host(2), "vps": host(3, wireguard_endpoint="vps.example.net:51871")}


def entries(hostvars: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    found = peers.wireguard_peers(list(hostvars), hostvars, ["nuc1", "nuc2"], 51871)
    return {entry["name"]: entry for entry in found}


def test_a_node_is_reached_by_its_own_address_and_its_own_pods_and_nothing_more() -> None:
    assert entries(HOSTS)["nuc1"]["allowed_ips"] == ["10.200.0.1/32", "10.244.1.0/24"]


def test_a_hub_without_pods_is_reached_by_its_address_alone() -> None:
    assert entries(HOSTS)["vps"]["allowed_ips"] == ["10.200.0.3/32"]


BEHIND = ["10.200.0.0/24", "10.244.0.0/16"]


def through(hub: str, **more: dict[str, Any]) -> dict[str, dict[str, Any]]:
    hostvars = {**HOSTS, **more}
    found = peers.wireguard_peers(list(hostvars), hostvars, ["nuc1", "nuc2"], 51871, [hub], BEHIND)
    return {entry["name"]: entry for entry in found}


def test_spokes_reach_everything_through_the_hub() -> None:
    assert through("vps")["vps"]["allowed_ips"] == BEHIND
    assert through("vps")["vps"]["endpoint"] == "vps.example.net:51871"
    assert "keepalive" not in through("vps")["vps"]
    # A node can be the hub as well.
    assert through("nuc1")["nuc1"]["allowed_ips"] == BEHIND


def test_the_hub_knows_a_spoke_by_its_own_networks_and_waits_for_its_call() -> None:
    spoke = through("vps")["nuc2"]
    assert spoke["allowed_ips"] == ["10.200.0.2/32", "10.244.2.0/24"]
    assert (spoke["endpoint"], spoke["keepalive"]) == ("", 0)


def test_the_hub_calls_a_spoke_only_where_the_inventory_says_it_can() -> None:
    open_one = host(4, wireguard_endpoint="198.51.100.4:51871")
    assert through("vps", nuc4=open_one)["nuc4"]["endpoint"] == "198.51.100.4:51871"


def test_a_host_that_was_never_enrolled_is_no_peer() -> None:
    assert set(entries({**HOSTS, "new": {"ansible_host": "192.168.1.9"}})) == set(HOSTS)


def test_peers_need_no_facts_of_hosts_outside_the_run() -> None:
    assert all("ansible_facts" not in variables for variables in HOSTS.values())
    assert entries(HOSTS)["nuc2"]["endpoint"] == "192.168.1.2:51871"


@pytest.mark.parametrize(
    ("variables", "endpoint"),
    [
        ({"wireguard_endpoint": "vps.example.net:51871"}, "vps.example.net:51871"),
        ({"wireguard_endpoint": ""}, ""),
        ({"cluster_lan_address": "192.168.7.7"}, "192.168.7.7:51871"),
        ({"wireguard_port": 4500}, "192.168.1.1:4500"),
        ({"ansible_host": "fd00::1"}, "[fd00::1]:51871"),
        ({"ansible_host": "nuc1.local"}, ""),
        ({"ansible_host": "127.0.0.1"}, ""),
        (
            {"ansible_host": "nuc1.local", "edgectl_state": {**STATE, "lan_address": "10.1.1.1"}},
            "10.1.1.1:51871",
        ),
    ],
)
def test_a_peer_is_called_where_its_variables_say(variables: dict[str, Any], endpoint: str) -> None:
    assert peers.endpoint(host(1, **variables), 51871) == endpoint


def test_without_the_tunnel_the_neighbours_pods_are_reached_over_the_lan() -> None:
    assert peers.pod_neighbours(["nuc2"], HOSTS) == [
        {"name": "nuc2", "lan_address": "192.168.1.2", "pod_cidr": "10.244.2.0/24"}
    ]


def test_a_machine_outside_the_inventory_is_reached_by_its_own_address_alone_and_never_called() -> None:
    laptop = {"wireguard_public_key": "key9", "wireguard_address": "10.200.0.9"}
    [entry] = peers.outside_peers({"laptop": laptop})
    assert entry["allowed_ips"] == ["10.200.0.9/32"]
    assert (entry["endpoint"], entry["keepalive"]) == ("", 0)
