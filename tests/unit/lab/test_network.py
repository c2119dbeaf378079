"""Subnets, addresses and names of a lab's network."""

from ipaddress import IPv4Network

import pytest

from edgectl.errors import EdgectlError
from edgectl.lab.network import (
    POOL,
    bridge_name,
    choose_subnet,
    mac_address,
    node_addresses,
    parse_routes,
)


def test_the_same_name_gets_the_same_subnet():
    assert choose_subnet("lab", []) == choose_subnet("lab", [])


def test_a_subnet_that_something_else_uses_is_passed_over():
    first = choose_subnet("lab", [])
    inside = IPv4Network((first.network_address + 128, 25))
    second = choose_subnet("lab", [inside])
    assert not second.overlaps(first)


def test_the_last_free_subnet_is_found():
    everything = list(POOL.subnets(new_prefix=24))
    free = everything.pop(7)
    assert choose_subnet("lab", everything) == free


def test_a_machine_whose_routes_cover_the_pool_gets_an_error_and_not_a_clash():
    with pytest.raises(EdgectlError, match="no free network"):
        choose_subnet("lab", [IPv4Network("10.0.0.0/8")])


@pytest.mark.parametrize("ours", ["10.96.0.0/16", "10.200.0.0/24", "10.244.0.0/16", "10.88.0.0/16", "10.89.0.0/16"])
def test_the_pool_is_clear_of_edgectls_and_podmans_own_networks(ours):
    assert not POOL.overlaps(IPv4Network(ours))


def test_routes_of_this_machine_are_read_but_for_the_default_route():
    routes = [
        {"dst": "default", "gateway": "192.0.2.1"},
        {"dst": "10.213.17.0/24", "dev": "edl-1"},
        {"dst": "192.0.2.7", "type": "local"},
    ]
    assert parse_routes(routes) == [IPv4Network("10.213.17.0/24"), IPv4Network("192.0.2.7/32")]


def test_a_node_added_at_the_end_changes_nobodys_address():
    subnet = IPv4Network("10.213.1.0/24")
    before = node_addresses(subnet, ["a", "b"])
    after = node_addresses(subnet, ["a", "b", "c"])
    assert before.items() <= after.items()
    assert len(set(after.values())) == 3


def test_mac_addresses_are_stable_local_and_different():
    assert mac_address("lab", "a") == mac_address("lab", "a")
    assert mac_address("lab", "a") != mac_address("lab", "b")
    assert int(mac_address("lab", "a").split(":")[0], 16) & 3 == 2


def test_a_bridge_name_fits_the_kernels_fifteen_characters():
    assert len(bridge_name("a" * 20)) <= 15
