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
FIREWALL = UNIT.with_name("edgectl-k3s-firewall.service.j2")
SAID = (
    f"[inventory_hostname, {{'config': __k3s_options, 'unit': lookup('ansible.builtin.template', '{UNIT}'), "
    f"'firewall': lookup('ansible.builtin.template', '{FIREWALL}'), 'files': __k3s_named_files, 'read': __k3s_read, "
    f"'kubelet': __k3s_kubelet_document, 'evidence': __k3s_evidence}}]"
)
GIB_IN_KIB = 1024 * 1024


def host(number: int, jetson: bool = False) -> dict[str, Any]:
    return {
        "ansible_host": f"192.0.2.{number}",
        "jetson": {"l4t": "36.4.3"} if jetson else None,
        "total_kib": (8 if jetson else 32) * GIB_IN_KIB,
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
                "__k3s_artifacts": [{"kind": "images", "path": "k3s/k3s-airgap-images-amd64.tar"}],
                "ansible_facts": {
                    "edgectl": {
                        "jetson": "{{ jetson }}",
                        "kernel": {"arch": "x86_64"},
                        "memory": {"total_kib": "{{ total_kib }}"},
                        "kubernetes": {
                            "role": None,
                            "made_by_edgectl": False,
                            "phase": None,
                            "cluster_ca_hash": None,
                            "k3s": "{{ k3s_there | default(none) }}",
                        },
                    }
                },
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


def test_ports_of_http_are_nobodys_unless_the_inventory_says_otherwise(
    usual: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    assert usual["nuc1"]["config"]["disable"] == ["servicelb", "traefik"]
    assert "disable" not in rendered(tmp_path, k3s_disable=[])["nuc1"]["config"]


def test_snapshots_are_on_unless_there_is_no_schedule(usual: dict[str, dict[str, Any]], tmp_path: Path) -> None:
    config = usual["nuc1"]["config"]
    assert (config["etcd-snapshot-schedule-cron"], config["etcd-snapshot-retention"]) == ("0 */12 * * *", 5)
    off = rendered(tmp_path, k3s_etcd_snapshot_schedule="")["nuc1"]["config"]
    assert off["etcd-disable-snapshots"] is True
    assert "etcd-snapshot-retention" not in off


def test_by_itself_k3s_has_no_registries_no_mirror_and_no_profile(usual: dict[str, dict[str, Any]]) -> None:
    for name in usual:
        assert usual[name]["files"] == {}
        config = usual[name]["config"]
        assert {"private-registry", "embedded-registry", "kube-apiserver-arg", "protect-kernel-defaults"} & set(
            config
        ) == set()
        assert "5001" not in usual[name]["firewall"]


REGISTRIES = "/etc/rancher/k3s/registries.yaml"


def test_registries_are_in_a_file_that_the_configuration_names_and_whose_change_restarts_k3s(tmp_path: Path) -> None:
    login = {"configs": {"mirror.example.org": {"auth": {"username": "edge", "password": "s3cret"}}}}
    for made in rendered(tmp_path, k3s_registries=login).values():
        assert yaml.safe_load(made["files"][REGISTRIES]) == login
        assert made["config"]["private-registry"] == REGISTRIES
        assert REGISTRIES in made["read"]
        assert {"file": REGISTRIES} in made["evidence"]
        assert "s3cret" not in str(made["config"])


@pytest.mark.parametrize(
    ("registries", "mirrors"), [({}, {"*": None}), ({"mirrors": {"docker.io": None}}, {"docker.io": None})]
)
def test_nodes_give_each_other_images_of_all_registries_or_of_those_that_are_named(
    tmp_path: Path, registries: dict[str, Any], mirrors: dict[str, Any]
) -> None:
    made = rendered(tmp_path, k3s_embedded_registry=True, k3s_registries=registries)
    assert made["nuc1"]["config"]["embedded-registry"] is True
    assert "embedded-registry" not in made["orin1"]["config"], "agents have no such option"
    for name in made:
        assert yaml.safe_load(made[name]["files"][REGISTRIES])["mirrors"] == mirrors
        assert "--destination-port 5001 ! --in-interface wg0 --jump DROP" in made[name]["firewall"]


def test_the_cis_profile_is_in_force_and_lets_the_gpus_namespaces_be(tmp_path: Path) -> None:
    made = rendered(tmp_path, k3s_cis_profile=True)
    server, agent = made["nuc1"], made["orin1"]
    for one in (server, agent):
        assert one["config"]["protect-kernel-defaults"] is True
        assert one["kubelet"]["streamingConnectionIdleTimeout"] == "5m0s"
    arguments = dict(one.split("=", 1) for one in server["config"]["kube-apiserver-arg"])
    plugin = yaml.safe_load(server["files"][arguments["admission-control-config-file"]])["plugins"][0]
    assert plugin["configuration"]["defaults"]["enforce"] == "restricted"
    assert plugin["configuration"]["exemptions"]["namespaces"] == ["kube-system", "nvidia-device-plugin", "workloads"]
    assert yaml.safe_load(server["files"][arguments["audit-policy-file"]])["rules"] == [{"level": "Metadata"}]
    assert agent["files"] == {}


def test_memory_is_kept_by_the_size_of_the_board_and_the_users_own_options_win(
    usual: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    assert usual["orin1"]["kubelet"]["kubeReserved"] == {"memory": "1465Mi"}
    own = {"maxPods": 30, "evictionHard": {"memory.available": "500Mi"}}
    kubelet = rendered(tmp_path, k3s_kubelet_config=own)["orin1"]["kubelet"]
    assert kubelet["kubeReserved"] == {"memory": "585Mi"}
    assert kubelet["evictionHard"] == {"memory.available": "500Mi", "nodefs.available": "5%", "imagefs.available": "5%"}
    assert "kubeReserved" not in rendered(tmp_path, k3s_reserved="none")["orin1"]["kubelet"]


def test_labels_taints_and_the_gpus_runtime_are_evidence(usual: dict[str, dict[str, Any]], tmp_path: Path) -> None:
    runtime = [item for item in usual["orin1"]["evidence"] if "nvidia-container-runtime" in item.get("line", "")]
    assert [item["in"] for item in runtime] == ["/var/lib/rancher/k3s/agent/etc/containerd/config.toml"]
    assert not [item for item in usual["nuc1"]["evidence"] if "line" in item]
    marks = {
        "cluster_node_labels": {"zone": "cellar"},
        "cluster_node_taints": ["battery=low:NoSchedule", "dark:NoExecute"],
    }
    [node] = [item for item in rendered(tmp_path, **marks)["nuc1"]["evidence"] if "node" in item]
    assert (node["labels"], node["taints"]) == (["zone"], ["battery:NoSchedule", "dark:NoExecute"])


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
    play = copy.deepcopy(PLAY)
    play["tasks"][0]["ansible.builtin.set_fact"]["ansible_facts"]["edgectl"]["kubernetes"] = found
    play["tasks"][1] = say("[inventory_hostname, [__k3s_founder, __k3s_through]]")
    file = tmp_path / "hosts.yml"
    file.write_text(yaml.safe_dump(inventory))
    assert dict(said(file, [play]))["orin1"] == [founder, through]


def test_a_server_that_was_there_keeps_its_tokens_its_encryption_and_its_policies(tmp_path: Path) -> None:
    config = rendered(tmp_path, k3s_there={"role": "control_plane", "network_policy": True})["nuc1"]["config"]
    assert {"agent-token-file", "token-file", "secrets-encryption", "cluster-init"} & set(config) == set()
    assert "disable-network-policy" not in config
    assert config["node-ip"] == "10.200.0.11"
