"""Addresses are given out once, in order, and never taken back or moved."""

import itertools

import pytest

EMPTY = {"cluster": {}, "peers": {}, "hosts": {}}
LAB = {
    "all_hosts": ["nuc1", "nuc2", "orin1"],
    "wireguard_network": "10.200.0.0/24",
    "pod_cidr": "10.244.0.0/16",
    "cluster": {"name": "edgectl"},
}


def report(*names):
    return {name: {"machine_id": f"id-{name}", "wireguard_public_key": f"key-{name}"} for name in names}


@pytest.fixture
def update(allocate):
    return lambda state, **request: allocate.update(state, {**LAB, **request})


def addresses(state):
    return {name: entry["wireguard_address"] for name, entry in state["hosts"].items()}


def test_hosts_get_the_first_addresses_in_the_order_of_the_inventory(update):
    state = update(EMPTY, hosts=report("orin1", "nuc2", "nuc1"))
    assert addresses(state) == {"nuc1": "10.200.0.1", "nuc2": "10.200.0.2", "orin1": "10.200.0.3"}
    assert state["hosts"]["orin1"]["pod_cidr"] == "10.244.2.0/24"


def test_a_second_run_changes_nothing(update):
    first = update(EMPTY, hosts=report("nuc1", "nuc2", "orin1"))
    assert update(first, hosts=report("nuc1", "nuc2", "orin1")) == first


def test_the_order_in_which_hosts_come_decides_nothing_once_they_have_addresses(update):
    for order in itertools.permutations(["nuc1", "nuc2", "orin1"]):
        state = EMPTY
        for name in order:
            before = addresses(state)
            state = update(state, hosts=report(name))
            assert before.items() <= addresses(state).items()
        assert len(set(addresses(state).values())) == 3


def test_a_limited_run_keeps_the_other_hosts(update):
    first = update(EMPTY, hosts=report("nuc1", "nuc2", "orin1"))
    assert update(first, hosts=report("orin1"))["hosts"] == first["hosts"]


def test_a_host_that_was_never_reached_has_no_entry(update):
    assert list(update(EMPTY, hosts=report("nuc1"))["hosts"]) == ["nuc1"]


def test_a_host_that_left_the_inventory_keeps_its_address(update):
    first = update(EMPTY, hosts=report("nuc1", "nuc2", "orin1"))
    state = update(first, all_hosts=["nuc1", "orin1", "nuc3"], hosts=report("nuc1", "orin1", "nuc3"))
    assert addresses(state)["nuc2"] == "10.200.0.2"
    assert addresses(state)["nuc3"] == "10.200.0.4"


def test_a_forgotten_hosts_addresses_are_free_again(update):
    first = update(EMPTY, hosts=report("nuc1", "nuc2", "orin1"))
    state = update(update(first, hosts={}, forget=["nuc2"]), hosts=report("nuc3"), all_hosts=["nuc1", "orin1", "nuc3"])
    assert addresses(state)["nuc3"] == "10.200.0.2"
    assert state["hosts"]["nuc3"]["pod_cidr"] == "10.244.1.0/24"


def test_a_changed_public_key_replaces_the_old_one(update):
    first = update(EMPTY, hosts=report("nuc1"))
    state = update(first, hosts={"nuc1": {"machine_id": "id-nuc1", "wireguard_public_key": "new"}})
    assert state["hosts"]["nuc1"]["wireguard_public_key"] == "new"
    assert addresses(state) == addresses(first)


def test_a_host_that_reports_nothing_new_keeps_what_is_known(update):
    first = update(EMPTY, hosts=report("nuc1"))
    state = update(first, hosts={"nuc1": {"wireguard_public_key": "", "machine_id": None}})
    assert state == first


def test_a_hub_gets_a_tunnel_address_and_no_pod_network(update):
    state = update(EMPTY, hosts=report("nuc1", "relay"), all_hosts=["nuc1", "relay"], hub=["relay"])
    assert "pod_cidr" not in state["hosts"]["relay"]
    assert addresses(state)["relay"] == "10.200.0.2"


def test_without_tunnels_hosts_still_get_pod_networks(update):
    entry = update(EMPTY, hosts=report("nuc1"), wireguard_network="")["hosts"]["nuc1"]
    assert entry["pod_cidr"] == "10.244.0.0/24"
    assert "wireguard_address" not in entry


def test_one_machine_under_two_names_is_refused_with_both_names(update, allocate):
    with pytest.raises(allocate.AllocationError, match="nuc1 and nuc2 have the same machine-id"):
        update(EMPTY, hosts={"nuc1": {"machine_id": "same"}, "nuc2": {"machine_id": "same"}})


def test_a_renamed_host_is_recognised_as_such(update, allocate):
    first = update(EMPTY, hosts=report("nuc1"))
    with pytest.raises(allocate.AllocationError, match="nuc1 is no longer in the inventory: if it was renamed"):
        update(first, hosts={"nuc9": {"machine_id": "id-nuc1"}}, all_hosts=["nuc9"])


def test_a_reinstalled_machine_keeps_its_name_and_addresses(update):
    first = update(EMPTY, hosts=report("nuc1"))
    state = update(first, hosts={"nuc1": {"machine_id": "fresh", "wireguard_public_key": "fresh"}})
    assert addresses(state) == addresses(first)
    assert state["hosts"]["nuc1"]["machine_id"] == "fresh"


def test_a_full_tunnel_network_is_refused(update, allocate):
    with pytest.raises(allocate.AllocationError, match="no tunnel address is left for orin1"):
        update(EMPTY, hosts=report("nuc1", "nuc2", "orin1"), wireguard_network="10.200.0.0/30")


def test_a_full_pod_network_is_refused(update, allocate):
    with pytest.raises(allocate.AllocationError, match="no pod network is left for orin1"):
        update(EMPTY, hosts=report("nuc1", "nuc2", "orin1"), pod_cidr="10.244.0.0/23")


def test_a_network_that_no_longer_holds_a_given_address_is_refused(update, allocate):
    first = update(EMPTY, hosts=report("nuc1"))
    with pytest.raises(allocate.AllocationError, match=r"nuc1 has the tunnel address 10\.200\.0\.1, outside"):
        update(first, hosts=report("nuc1"), wireguard_network="10.201.0.0/24")
    with pytest.raises(allocate.AllocationError, match=r"nuc1 has the pod network 10\.244\.0\.0/24, outside"):
        update(first, hosts=report("nuc1"), pod_cidr="10.245.0.0/16")


def test_two_hosts_with_one_address_in_the_file_are_refused(update, allocate):
    broken = {"cluster": {}, "hosts": {name: {"wireguard_address": "10.200.0.1"} for name in ("nuc1", "nuc2")}}
    with pytest.raises(allocate.AllocationError, match="nuc1 and nuc2 both have the tunnel address"):
        update(broken, hosts=report("nuc1"))


def test_a_given_network_of_another_size_is_kept_and_never_overlapped(update):
    large = {"cluster": {}, "hosts": {"nuc1": {"pod_cidr": "10.244.0.0/23"}}}
    state = update(large, hosts=report("nuc1", "nuc2"))
    assert state["hosts"]["nuc1"]["pod_cidr"] == "10.244.0.0/23"
    assert state["hosts"]["nuc2"]["pod_cidr"] == "10.244.2.0/24"


def test_what_is_known_of_the_cluster_is_merged_and_null_removes(update):
    first = update(EMPTY, hosts=report("nuc1"), cluster={"name": "edgectl", "ca_hash": "sha256:aa"})
    assert update(first, hosts={}, cluster={"ca_hash": None})["cluster"] == {"name": "edgectl"}


def test_with_its_last_host_the_cluster_is_forgotten_too(update):
    first = update(EMPTY, hosts=report("nuc1"), cluster={"ca_hash": "sha256:aa"})
    assert update(first, hosts={}, cluster={}, forget=["nuc1"]) == EMPTY


def test_the_document_and_the_state_are_two_forms_of_the_same(update, allocate):
    state = update(EMPTY, hosts=report("nuc1", "orin1"))
    assert allocate.from_document(allocate.to_document(state)) == state


def test_a_peer_gets_the_next_tunnel_address_and_no_pods(update):
    state = update(EMPTY, hosts=report("nuc1", "nuc2"), peers={"laptop": "k"})
    assert state["peers"] == {"laptop": {"wireguard_public_key": "k", "wireguard_address": "10.200.0.3"}}


def test_a_new_host_is_never_given_the_address_of_a_peer(update):
    first = update(EMPTY, hosts=report("nuc1"), peers={"laptop": "k"})
    state = update(first, hosts=report("nuc2"))
    assert state["hosts"]["nuc2"]["wireguard_address"] == "10.200.0.3"
    assert state["peers"] == first["peers"]


def test_a_limited_run_and_a_reset_of_one_host_keep_the_peers_and_the_last_host_takes_them_along(update):
    first = update(EMPTY, hosts=report("nuc1", "nuc2"), peers={"laptop": "k"})
    assert update(first, hosts=report("nuc2"))["peers"] == first["peers"]
    second = update(first, hosts={}, forget=["nuc2"])
    assert second["peers"] == first["peers"]
    assert update(second, hosts={}, cluster={}, forget=["nuc1"]) == EMPTY


def test_a_forgotten_peers_address_is_free_again(update):
    first = update(EMPTY, hosts=report("nuc1"), peers={"laptop": "k"})
    state = update(first, hosts={}, forget_peers=["laptop"])
    assert state["peers"] == {}
    assert addresses(update(state, hosts=report("nuc2")))["nuc2"] == "10.200.0.2"


def test_a_peer_that_is_let_in_again_with_the_same_key_stays_and_another_key_is_refused(update, allocate):
    request = {"hosts": {}, "peers": {"laptop": "k"}}
    first = update(update(EMPTY, hosts=report("nuc1")), **request)
    assert update(first, **request) == first
    with pytest.raises(allocate.AllocationError, match="edgectl peer remove laptop"):
        update(first, hosts={}, peers={"laptop": "other"})


def test_a_name_is_a_hosts_or_a_peers_never_both(update, allocate):
    with pytest.raises(allocate.AllocationError, match="orin1 is the name of a host and of a peer"):
        update(EMPTY, hosts=report("nuc1"), peers={"orin1": "k"})
    first = update(EMPTY, hosts=report("nuc1"), peers={"laptop": "k"})
    with pytest.raises(allocate.AllocationError, match="laptop is the name of a host and of a peer"):
        update(first, hosts=report("laptop"), all_hosts=["nuc1", "laptop"])


def test_the_document_keeps_peers_where_ansible_reads_a_variable(update, allocate):
    state = update(EMPTY, hosts=report("nuc1"), peers={"laptop": "k"})
    document = allocate.to_document(state)
    assert document["all"]["vars"]["edgectl_state_peers"] == state["peers"]
    assert allocate.from_document(document) == state
