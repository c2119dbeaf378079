"""What inventory and facts become in k3s' config.yaml and in its unit."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from edgectl import content
from edgectl.lab import k3s as stand_in
from tests.unit.ansible_playbook import said, say

UNIT = content.root() / "roles" / "k3s" / "templates" / "k3s.service.j2"
SAID = f"[inventory_hostname, {{'config': __k3s_options, 'unit': lookup('ansible.builtin.template', '{UNIT}')}}]"


def host(number: int, jetson: bool = False) -> dict[str, Any]:
    return {
        "ansible_host": f"192.0.2.{number}",
        "jetson": {"l4t": "36.4.3"} if jetson else None,
        "edgectl_state": {"lan_address": f"192.0.2.{number}", "wireguard_address": f"10.200.0.{number}"},
    }


INVENTORY: dict[str, Any] = {
    "all": {
        "vars": {"cluster_name": "homelab", "cluster_distribution": "k3s", "k3s_tls_sans": ["k8s.example.org"]},
        "children": {
            "cluster": {
                "children": {
                    "control_plane": {"hosts": {"nuc1": host(11)}},
                    "workers": {"hosts": {"orin1": host(12, jetson=True)}},
                }
            }
        },
    }
}
PLAY: dict[str, Any] = {
    "hosts": "all",
    "gather_facts": False,
    # Their options are visible; the tasks of role k3s do not run.
    "roles": [{"role": "cluster"}, {"role": "k3s", "when": False}],
    "tasks": [
        {
            "name": "Facts",
            "ansible.builtin.set_fact": {
                "ansible_facts": {"edgectl": {"jetson": "{{ jetson }}", "kernel": {"arch": "x86_64"}}}
            },
        },
        say(SAID),
    ],
}


def rendered(tmp_path: Path, **options: Any) -> dict[str, dict[str, Any]]:
    inventory = copy.deepcopy(INVENTORY)
    inventory["all"]["vars"].update(options)
    file = tmp_path / "hosts.yml"
    file.write_text(yaml.safe_dump(inventory))
    return dict(said(file, [PLAY]))


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    return rendered(tmp_path_factory.mktemp("usual"))


def test_every_key_is_an_option_of_k3s(usual: dict[str, dict[str, Any]]) -> None:
    keys = yaml.safe_load((stand_in.source() / "keys.yml").read_text())
    of_agent = set(keys["agent"].split())
    assert set(usual["orin1"]["config"]) <= of_agent
    assert set(usual["nuc1"]["config"]) <= of_agent | set(keys["server"].split())


def test_nodes_and_pods_speak_through_the_tunnel(usual: dict[str, dict[str, Any]]) -> None:
    for name, address in (("nuc1", "10.200.0.11"), ("orin1", "10.200.0.12")):
        config = usual[name]["config"]
        assert (config["node-ip"], config["flannel-iface"]) == (address, "wg0")
        assert "wg-quick@wg0.service" in usual[name]["unit"]
    assert usual["nuc1"]["config"]["advertise-address"] == "10.200.0.11"
    assert usual["orin1"]["config"]["server"] == "https://10.200.0.11:6443"


def test_without_the_tunnel_they_speak_over_the_lan(tmp_path: Path) -> None:
    made = rendered(tmp_path, cluster_wireguard=False)["orin1"]
    assert made["config"]["server"] == "https://192.0.2.11:6443"
    assert made["config"]["node-ip"] == "192.0.2.12"
    assert "flannel-iface" not in made["config"]
    assert "wg-quick" not in made["unit"]


def test_no_secret_stands_in_a_configuration(usual: dict[str, dict[str, Any]]) -> None:
    for name in usual:
        assert {"token", "agent-token"} & set(usual[name]["config"]) == set()
    assert usual["orin1"]["config"]["token-file"] == "/etc/rancher/k3s/agent-token"


def test_the_certificate_has_the_stable_name_the_addresses_and_those_that_were_asked_for(
    usual: dict[str, dict[str, Any]],
) -> None:
    names = usual["nuc1"]["config"]["tls-san"]
    assert names == ["api.homelab.internal", "nuc1", "192.0.2.11", "10.200.0.11", "k8s.example.org"]


def test_policies_are_off_where_a_jetson_is_among_the_hosts(usual: dict[str, dict[str, Any]]) -> None:
    assert usual["nuc1"]["config"]["disable-network-policy"] is True


@pytest.mark.parametrize(
    ("options", "off"),
    [
        ({"k3s_network_policy": "enabled"}, False),
        ({"k3s_network_policy": "disabled"}, True),
        # What was decided when the cluster was made stays, whichever hosts a run sees.
        ({"edgectl_state_cluster": {"network_policy": True}}, False),
        ({"k3s_network_policy": "disabled", "edgectl_state_cluster": {"network_policy": True}}, True),
    ],
)
def test_policies_are_off_where_the_inventory_or_the_state_file_says_so(
    tmp_path: Path, options: dict[str, Any], off: bool
) -> None:
    assert ("disable-network-policy" in rendered(tmp_path, **options)["nuc1"]["config"]) is off


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """The configuration of three servers and an agent."""
    inventory = copy.deepcopy(INVENTORY)
    servers = inventory["all"]["children"]["cluster"]["children"]["control_plane"]["hosts"]
    servers.update({"nuc2": host(13), "nuc3": host(14)})
    file = tmp_path_factory.mktemp("three") / "hosts.yml"
    file.write_text(yaml.safe_dump(inventory))
    return dict(said(file, [PLAY]))


def test_a_lone_server_stays_without_etcd(usual: dict[str, dict[str, Any]]) -> None:
    assert {"cluster-init", "server", "token-file"} & set(usual["nuc1"]["config"]) == set()


def test_the_first_of_several_servers_makes_etcd_and_the_others_join_it_with_the_servers_token(
    three: dict[str, dict[str, Any]],
) -> None:
    assert three["nuc1"]["config"]["cluster-init"] is True
    assert {"server", "token-file"} & set(three["nuc1"]["config"]) == set()
    for name in ("nuc2", "nuc3"):
        config = three[name]["config"]
        assert "cluster-init" not in config
        assert config["server"] == "https://10.200.0.11:6443"
        assert config["token-file"] == "/etc/rancher/k3s/server-token"
        assert config["agent-token-file"] == three["nuc1"]["config"]["agent-token-file"]
    assert three["orin1"]["config"]["token-file"] == "/etc/rancher/k3s/agent-token"


def test_servers_agree_on_what_k3s_wants_to_be_the_same_on_all(three: dict[str, dict[str, Any]]) -> None:
    own = {"advertise-address", "cluster-init", "node-ip", "node-name", "server", "tls-san", "token-file"}
    configs = [three[name]["config"] for name in ("nuc1", "nuc2", "nuc3")]
    shared = [{key: value for key, value in config.items() if key not in own} for config in configs]
    assert shared[0] == shared[1] == shared[2]
    assert shared[0]["secrets-encryption"] is True


@pytest.mark.parametrize(
    ("made", "lost", "founder", "through"),
    [
        ((), (), "nuc1", ""),  # nobody has a cluster yet
        (("nuc1",), (), "nuc1", "nuc1"),
        (("nuc2", "nuc3"), (), "nuc2", "nuc2"),  # the first server lost its data
        (("nuc1", "nuc2", "nuc3"), ("nuc1",), "nuc2", "nuc2"),  # the first server is out of reach
    ],
)
def test_who_joins_asks_a_server_that_lives(
    tmp_path: Path, made: tuple[str, ...], lost: tuple[str, ...], founder: str, through: str
) -> None:
    inventory = copy.deepcopy(INVENTORY)
    children = inventory["all"]["children"]["cluster"]["children"]
    children["control_plane"]["hosts"].update({"nuc2": host(13), "nuc3": host(14)})
    for name, server in children["control_plane"]["hosts"].items():
        server["runs"] = "control_plane" if name in made else None
    inventory["all"]["vars"]["edgectl_unreachable_hosts"] = list(lost)
    found = {"role": "{{ runs | default(none) }}", "made_by_edgectl": True, "phase": "joined"}
    facts = {"edgectl": {"jetson": "{{ jetson }}", "kernel": {"arch": "x86_64"}, "kubernetes": found}}
    play = copy.deepcopy(PLAY)
    play["tasks"][0]["ansible.builtin.set_fact"]["ansible_facts"] = facts
    play["tasks"][1] = say("[inventory_hostname, [__k3s_founder, __k3s_through]]")
    file = tmp_path / "hosts.yml"
    file.write_text(yaml.safe_dump(inventory))
    assert dict(said(file, [play]))["orin1"] == [founder, through]
