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
                "ansible_facts": {
                    "edgectl": {
                        "jetson": "{{ jetson }}",
                        "kernel": {"arch": "x86_64"},
                        "memory": {"total_kib": 8 * 1024 * 1024},
                        "kubernetes": {"role": None, "k3s": "{{ k3s_there | default(none) }}"},
                    }
                }
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


def test_a_server_that_was_there_keeps_its_tokens_its_encryption_and_its_policies(tmp_path: Path) -> None:
    config = rendered(tmp_path, k3s_there={"role": "control_plane", "network_policy": True})["nuc1"]["config"]
    assert {"agent-token-file", "token-file", "secrets-encryption", "cluster-init"} & set(config) == set()
    assert "disable-network-policy" not in config
    assert config["node-ip"] == "10.200.0.11"
