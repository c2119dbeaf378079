"""The checks as a plain package, and a sound host to break."""

from __future__ import annotations

import copy
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "plugins" / "module_utils"))

GIB_IN_KIB = 1024 * 1024

SOUND = {
    "identity": {"hostname": "nuc1", "machine_id": "a" * 32, "root": True},
    "os": {"id": "debian", "id_like": [], "version_id": "12", "name": "Debian GNU/Linux 12", "python": "3.11.2"},
    "kernel": {
        "release": "6.1.0-30-amd64",
        "arch": "x86_64",
        "config": {},
        "module_available": {"wireguard": True, "br_netfilter": True, "overlay": True, "vxlan": True},
        "tun": True,
    },
    "cgroup": {"version": 2, "controllers": ["cpuset", "cpu", "io", "memory", "pids"]},
    "swap": [],
    "clock": {"synchronized": True, "service": "systemd-timesyncd"},
    "memory": {"total_kib": 8 * GIB_IN_KIB, "available_kib": 7 * GIB_IN_KIB},
    "disks": [
        {"path": "/", "mount": "/", "device": "/dev/sda1", "free_bytes": 50 * 10**9},
        {"path": "/var/lib", "mount": "/", "device": "/dev/sda1", "free_bytes": 50 * 10**9},
    ],
    "network": {
        "default_interface": "eth0",
        "default_address": "192.168.1.10",
        "interfaces": [
            {"name": "lo", "addresses": ["127.0.0.1/8", "::1/128"]},
            {"name": "eth0", "addresses": ["192.168.1.10/24", "fe80::1/64"]},
            {"name": "wg0", "addresses": ["10.200.0.1/32"]},
            {"name": "cni0", "addresses": ["10.244.0.1/24"]},
        ],
        "routes": [
            {"dst": "default", "dev": "eth0", "via": "192.168.1.1"},
            {"dst": "192.168.1.0/24", "dev": "eth0", "via": None},
            {"dst": "10.244.1.0/24", "dev": "wg0", "via": None},
            {"dst": "10.200.0.2", "dev": "wg0", "via": None},
        ],
        "listening": [
            {"protocol": "tcp", "port": 22, "local": False, "process": "sshd"},
            {"protocol": "tcp", "port": 6443, "local": False, "process": "kube-apiserver"},
            {"protocol": "tcp", "port": 10257, "local": True, "process": "kube-controller"},
            {"protocol": "tcp", "port": 6444, "local": True, "process": "haproxy"},
            {"protocol": "udp", "port": 51871, "local": False, "process": None},
        ],
    },
    "firewall": {"iptables_backend": "nft", "ufw_active": False, "ufw_rules": [], "forward_policy": "ACCEPT"},
    "packages": {},
    "units": {"containerd.service": {"active": "active"}},
    "containerd": {
        "present": True,
        "version": "1.7.28",
        "package": "containerd.io",
        "config_path": "/etc/containerd/config.toml",
        "disabled_plugins": [],
        "docker_owned": False,
    },
    "apt": {"lock_holder": None},
    "jetson": None,
    "wireguard": {"interfaces": {"wg0": {"listen_port": 51871, "public_key": "K1", "peers": []}}},
    "kubernetes": {
        "role": "control_plane",
        "cluster_ca_hash": "sha256:" + "1" * 64,
        "k3s_present": False,
        "made_by_edgectl": True,
        "leftovers": [],
    },
    "reboot": {"required": False, "packages": []},
    "simulated": None,
}

OPTIONS = {
    "group_names": ["cluster", "control_plane"],
    "cluster_distribution": "kubeadm",
    "cluster_version": "1.35.4",
    "cluster_pod_cidr": "10.244.0.0/16",
    "cluster_service_cidr": "10.96.0.0/16",
    "cluster_endpoint": "api.edgectl.internal",
    "cluster_endpoint_port": 6444,
    "cluster_wireguard": True,
    "wireguard_interface": "wg0",
    "wireguard_port": 51871,
    "wireguard_network": "10.200.0.0/24",
    "machine_swap": "auto",
    "machine_time_sync": "require",
    "machine_ufw": "allow",
    "containerd_enable_cri": "refuse",
    "kubeadm_kubelet_config": {},
    "edgectl_state_cluster": {"name": "edgectl", "ca_hash": "sha256:" + "1" * 64},
}


def sound_host(name: str, number: int) -> dict:
    """The document of a host with nothing wrong, with an identity of its own."""
    document = copy.deepcopy(SOUND)
    document["identity"].update(hostname=name, machine_id=f"{number:032x}")
    document["clock"]["now"] = time.time()
    document["network"]["default_address"] = f"192.168.1.{10 + number}"
    document["wireguard"]["interfaces"]["wg0"]["public_key"] = f"K{number}"
    return document


@pytest.fixture
def states():
    """Documents of three sound hosts."""
    return {name: sound_host(name, number) for number, name in enumerate(("nuc1", "nuc2", "orin1"), 1)}


@pytest.fixture
def options(states):
    """The options of those three hosts, which the state file knows."""
    found = {name: copy.deepcopy(OPTIONS) for name in states}
    for name, document in states.items():
        found[name]["edgectl_state"] = {
            "machine_id": document["identity"]["machine_id"],
            "wireguard_public_key": document["wireguard"]["interfaces"]["wg0"]["public_key"],
        }
    return found
