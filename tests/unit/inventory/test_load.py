"""An inventory directory becomes hosts in order, with their options."""

import subprocess
import sys

import pytest

from edgectl import content
from edgectl.errors import EdgectlError, UsageError
from edgectl.inventory import load, needs_password, read

STATE = """\
all:
  vars:
    edgectl_state_cluster: {name: edgectl, ca_hash: "sha256:aa"}
  hosts:
    orin1:
      edgectl_state: {machine_id: "01", wireguard_address: 10.200.0.3, pod_cidr: 10.244.2.0/24}
    gone:
      edgectl_state: {machine_id: "09", wireguard_address: 10.200.0.9}
"""


def names(hosts):
    return [host.name for host in hosts]


def test_the_sample_inventory_is_valid_and_has_two_nucs_and_a_jetson():
    inventory = load(content.root() / "inventory")
    assert names(inventory.control_plane) == ["nuc1"]
    assert names(inventory.workers) == ["nuc2", "orin1"]


def test_hosts_come_in_the_order_of_the_inventory_with_the_control_plane_first(inventory_directory):
    hub = "hub:\n  hosts:\n    relay: {ansible_host: 203.0.113.10}\n"
    inventory = load(inventory_directory({"a-hub.yml": hub, "group_vars/all.yml": "wireguard_topology: hub\n"}))
    assert names(inventory.hosts) == ["nuc1", "nuc2", "orin1", "relay"]
    assert names(inventory.hub) == ["relay"]


def test_the_state_file_neither_adds_hosts_nor_changes_their_order(inventory_directory):
    inventory = load(inventory_directory({"edgectl.state.yml": STATE}))
    assert names(inventory.hosts) == ["nuc1", "nuc2", "orin1"]


def test_the_state_file_is_read_with_types(inventory_directory):
    state = load(inventory_directory({"edgectl.state.yml": STATE})).state
    assert state.cluster.ca_hash == "sha256:aa"
    assert state.hosts["orin1"].wireguard_address == "10.200.0.3"
    assert state.hosts["orin1"].wireguard_public_key is None


def test_before_the_first_bootstrap_the_state_is_empty(inventory_directory):
    assert load(inventory_directory()).state.hosts == {}


def test_an_option_that_nobody_sets_has_its_role_default_with_templates_evaluated(inventory_directory):
    inventory = load(inventory_directory({"group_vars/all.yml": "cluster_name: homelab\n"}))
    assert inventory.option("cluster_pod_cidr") == "10.244.0.0/16"
    assert inventory.option("cluster_endpoint") == "api.homelab.internal"


def test_the_users_value_wins_over_the_role_default(inventory_directory):
    inventory = load(inventory_directory({"group_vars/all.yml": "cluster_pod_cidr: 10.42.0.0/16\n"}))
    assert inventory.option("cluster_pod_cidr") == "10.42.0.0/16"


def test_host_variables_win_over_group_variables(inventory_directory):
    files = {"group_vars/workers.yml": "ansible_port: 2222\n", "host_vars/orin1.yml": "ansible_port: 2244\n"}
    inventory = load(inventory_directory(files))
    assert [host.option("ansible_port", 22) for host in inventory.hosts] == [22, 2222, 2244]


def test_the_lan_address_is_ansible_host_when_that_is_an_address(inventory_directory):
    inventory = load(inventory_directory())
    assert inventory.host("nuc1").option("cluster_lan_address") == "192.168.1.11"
    assert inventory.host("orin1").option("cluster_lan_address") == ""


def test_values_are_plain_python_so_that_they_can_be_written_anywhere(inventory_directory):
    variables = "lab: {ports: [22, 80], name: 'a{{ 1 + 1 }}', enabled: true}\n"
    lab = load(inventory_directory({"group_vars/all.yml": variables})).vars("nuc1")["lab"]
    assert lab == {"ports": [22, 80], "name": "a2", "enabled": True}
    assert type(lab["name"]) is str
    assert type(lab["ports"][0]) is int


def test_a_variable_that_needs_facts_is_left_out_and_is_no_problem(inventory_directory):
    variables = 'cluster_lan_address: "{{ ansible_facts.edgectl.network.default_address }}"\n'
    inventory = load(inventory_directory({"group_vars/all.yml": variables}))
    assert "cluster_lan_address" not in inventory.vars("nuc1")
    assert inventory.host("nuc1").option("cluster_lan_address", "unknown") == "unknown"


def test_an_option_without_a_value_is_named(inventory_directory):
    with pytest.raises(UsageError, match="nonsense of host nuc1"):
        load(inventory_directory()).option("nonsense")


def test_a_host_that_is_not_there_is_answered_with_those_that_are(inventory_directory):
    with pytest.raises(UsageError) as refused:
        load(inventory_directory()).host("nuc7")
    assert "nuc1, nuc2, orin1" in refused.value.why
    with pytest.raises(UsageError) as refused:
        load(inventory_directory()).host("orin")
    assert refused.value.fix == "did you mean orin1?"


def test_hosts_behind_different_jump_hosts_may_share_an_address(inventory_directory):
    jump = "ansible_host: 192.168.1.11\nansible_ssh_common_args: -J relay.example.net\n"
    load(inventory_directory({"host_vars/orin1.yml": jump}))


def test_ini_sources_are_read_too(inventory_directory):
    directory = inventory_directory({"more.ini": "[workers]\nnuc3 ansible_host=192.168.1.13\n"})
    assert "nuc3" in names(load(directory).hosts)


def test_an_unknown_option_in_an_ini_source_is_found(inventory_directory):
    directory = inventory_directory({"more": "[workers]\nnuc3 ansible_host=192.168.1.13 cluster_pod_cird=x\n"})
    with pytest.raises(EdgectlError, match="cluster_pod_cird"):
        load(directory)


def test_reading_without_the_rules_serves_a_half_right_inventory(inventory_directory):
    inventory = read(inventory_directory({"group_vars/all.yml": "cluster_distribution: k3s\n"}))
    assert names(inventory.hosts) == ["nuc1", "nuc2", "orin1"]


def test_nothing_is_printed_while_an_inventory_is_read(inventory_directory, capfd):
    directory = inventory_directory({"group_vars/all.yml": "my-odd_name: 1\n", "host_vars/nuc1.yml": ""})
    load(directory)
    assert capfd.readouterr() == ("", "")


def test_numbers_as_names_of_variables_harm_nobody(inventory_directory):
    assert 1 not in load(inventory_directory({"group_vars/all.yml": "1: 2\n"})).host("nuc1").variables


@pytest.mark.parametrize("option", ["ansible_port", "cluster_endpoint_port", "cluster_pod_prefix"])
def test_a_digit_that_is_no_number_is_a_problem_and_no_crash(inventory_directory, option):
    with pytest.raises(EdgectlError, match=option):
        load(inventory_directory({"group_vars/all.yml": f"{option}: ²\n"}))


def test_a_second_look_at_a_broken_inventory_says_as_much_as_the_first(inventory_directory):
    directory = inventory_directory({"more": "a: [b\n"})
    told = []
    for _ in range(2):
        with pytest.raises(EdgectlError) as refused:
            load(directory)
        told.append(refused.value.why)
    assert "did not find expected ',' or ']'" in told[0]
    assert told[1] == told[0]


def test_ansible_sees_the_same_hosts_and_options(inventory_directory):
    directory = inventory_directory({"edgectl.state.yml": STATE})
    shown = subprocess.run(
        [sys.executable, "-m", "ansible", "inventory", "-i", str(directory), "--host", "orin1"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert '"wireguard_address": "10.200.0.3"' in shown.stdout


def test_importing_the_package_does_not_import_ansible():
    probe = "import sys, edgectl.inventory; sys.exit('ansible' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", probe], check=False).returncode == 0


def test_an_inventory_without_vault_needs_no_password(inventory_directory):
    assert needs_password(inventory_directory()) == []
