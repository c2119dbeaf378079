"""What the role's options become in the files of kubeadm, kubelet and the API proxy."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from edgectl import content
from tests.unit.ansible_playbook import said, say

Rendered = dict[str, dict[str, str]]

INVENTORY: dict[str, Any] = {
    "all": {
        "vars": {
            "cluster_name": "homelab",
            "kubeadm_cert_sans": ["k8s.example.org"],
            "kubeadm_kubelet_config": {
                "maxPods": 50,
                "failCgroupV1": False,
                "featureGates": {"KubeletInUserNamespace": True},
            },
            "kubeadm_kube_proxy_config": {"conntrack": {"min": 0}},
            "kubeadm_ignore_preflight_errors": ["SystemVerification"],
            "edgectl_state_cluster": {"name": "homelab", "ca_hash": "sha256:1234"},
        },
        "children": {
            "cluster": {
                "children": {
                    "control_plane": {
                        "hosts": {
                            "nuc1": {
                                "ansible_host": "192.0.2.11",
                                "edgectl_state": {
                                    "lan_address": "192.0.2.11",
                                    "wireguard_address": "10.200.0.1",
                                    "pod_cidr": "10.244.0.0/24",
                                },
                            }
                        }
                    },
                    "workers": {
                        "hosts": {
                            "nuc2": {
                                "ansible_host": "192.0.2.12",
                                "edgectl_state": {
                                    "lan_address": "192.0.2.12",
                                    "wireguard_address": "10.200.0.2",
                                    "pod_cidr": "10.244.1.0/24",
                                },
                            }
                        }
                    },
                }
            }
        },
    }
}


TEMPLATES = sorted((content.root() / "roles" / "kubeadm" / "templates").glob("*.j2"))
TEXTS = ", ".join(f"'{path.name}': lookup('ansible.builtin.template', '{path}')" for path in TEMPLATES)
PLAY: dict[str, Any] = {
    "hosts": "all",
    "gather_facts": False,
    # Their options are visible; the tasks of role kubeadm do not run.
    "roles": [{"role": "cluster"}, {"role": "kubeadm", "when": False}],
    "vars": {
        "__kubeadm_resolved": {"stat": {"exists": True}},
        "__kubeadm_token": {"stdout": "abcdef.0123456789abcdef"},
        "__kubeadm_certificate_key": {"stdout": "abc123"},
        "ansible_facts": {
            "edgectl": {
                "identity": {"hostname": "{{ inventory_hostname }}"},
                "network": {"default_address": "192.0.2.1"},
            }
        },
    },
    "tasks": [say(f"[inventory_hostname, {{ {TEXTS} }}]")],
}


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Rendered:
    """The text of every template of the role, by host and template."""
    inventory = tmp_path_factory.mktemp("rendered") / "hosts.yml"
    inventory.write_text(yaml.safe_dump(INVENTORY))
    return dict(said(inventory, [PLAY]))


def documents(text: str) -> dict[str, dict[str, Any]]:
    return {document["kind"]: document for document in yaml.safe_load_all(text)}


def test_api_server_is_known_by_a_stable_name_and_by_its_addresses(rendered: Rendered) -> None:
    cluster = documents(rendered["nuc1"]["init.yml.j2"])["ClusterConfiguration"]
    assert cluster["controlPlaneEndpoint"] == "api.homelab.internal:6444"
    wanted = {"api.homelab.internal", "nuc1", "192.0.2.11", "10.200.0.1", "k8s.example.org"}
    assert wanted <= set(cluster["apiServer"]["certSANs"])


def test_node_and_api_server_use_the_tunnel_address(rendered: Rendered) -> None:
    init = documents(rendered["nuc1"]["init.yml.j2"])["InitConfiguration"]
    assert init["localAPIEndpoint"]["advertiseAddress"] == "10.200.0.1"
    assert init["nodeRegistration"]["kubeletExtraArgs"] == [{"name": "node-ip", "value": "10.200.0.1"}]
    assert init["nodeRegistration"]["ignorePreflightErrors"] == ["SystemVerification"]


def test_controller_manager_does_not_hand_out_pod_cidrs(rendered: Rendered) -> None:
    cluster = documents(rendered["nuc1"]["init.yml.j2"])["ClusterConfiguration"]
    assert "podSubnet" not in cluster["networking"]
    assert documents(rendered["nuc1"]["init.yml.j2"])["KubeProxyConfiguration"]["clusterCIDR"] == "10.244.0.0/16"


def test_options_of_the_user_are_laid_over_ours(rendered: Rendered) -> None:
    kubelet = documents(rendered["nuc2"]["kubelet-config.conf.j2"])["KubeletConfiguration"]
    assert kubelet["maxPods"] == 50
    assert kubelet["featureGates"] == {"KubeletInUserNamespace": True}
    assert documents(rendered["nuc1"]["init.yml.j2"])["KubeProxyConfiguration"]["conntrack"] == {"min": 0}


def test_kubelet_listens_on_its_node_address_alone_and_tolerates_swap(rendered: Rendered) -> None:
    kubelet = documents(rendered["nuc2"]["kubelet-config.conf.j2"])["KubeletConfiguration"]
    assert kubelet["address"] == "10.200.0.2"
    assert kubelet["failSwapOn"] is False
    assert kubelet["resolvConf"] == "/run/systemd/resolve/resolv.conf"


def test_what_can_change_later_is_not_frozen_into_the_cluster(rendered: Rendered) -> None:
    shared = documents(rendered["nuc1"]["init.yml.j2"])["KubeletConfiguration"]
    assert set(shared) == {"apiVersion", "kind", "cgroupDriver", "failSwapOn", "failCgroupV1"}


def test_only_a_control_plane_gets_the_key_of_the_shared_certificates(rendered: Rendered) -> None:
    join = {host: yaml.safe_load(rendered[host]["join.yml.j2"]) for host in ("nuc1", "nuc2")}
    assert join["nuc1"]["controlPlane"]["certificateKey"] == "abc123"
    assert join["nuc1"]["controlPlane"]["localAPIEndpoint"]["advertiseAddress"] == "10.200.0.1"
    assert "controlPlane" not in join["nuc2"]


def test_worker_joins_by_a_token_and_the_hash_of_the_ca(rendered: Rendered) -> None:
    join = documents(rendered["nuc2"]["join.yml.j2"])["JoinConfiguration"]
    assert join["discovery"]["bootstrapToken"] == {
        "apiServerEndpoint": "api.homelab.internal:6444",
        "token": "abcdef.0123456789abcdef",
        "caCertHashes": ["sha256:1234"],
    }
    assert "unsafeSkipCAVerification" not in str(join)


def test_proxy_listens_locally_and_leads_to_the_control_plane_through_the_tunnel(rendered: Rendered) -> None:
    proxy = rendered["nuc2"]["api-proxy.cfg.j2"]
    assert "bind 127.0.0.1:6444\n" in proxy
    assert [line.split() for line in proxy.splitlines() if "    server " in line] == [
        ["server", "nuc1", "10.200.0.1:6443"]
    ]


def test_kubelet_starts_after_the_tunnel_and_a_true_clock(rendered: Rendered) -> None:
    unit = rendered["nuc2"]["kubelet-edgectl.conf.j2"]
    assert "After=time-sync.target containerd.service wg-quick@wg0.service\n" in unit
    assert "Wants=time-sync.target wg-quick@wg0.service\n" in unit
