"""What `edgectl probe` prints of the documents: a table of 80 columns, one host in detail, JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest

from edgectl.output import hosts
from edgectl.ssh.probe import ProbeFailure
from edgectl.ssh.result import Trouble

GIB_IN_KIB = 1024 * 1024


def node(**changes: Any) -> dict[str, Any]:
    """The parts of a document that are shown."""
    return {
        "identity": {"hostname": "nuc1", "machine_id": "0123456789abcdef0123456789abcdef", "root": True},
        "os": {"id": "debian", "version_id": "12", "name": "Debian GNU/Linux 12 (bookworm)"},
        "kernel": {
            "release": "6.1.0-30-amd64", "arch": "x86_64",
            "module_available": {"wireguard": True, "br_netfilter": False},
        },
        "cgroup": {"version": 2},
        "memory": {"total_kib": 8 * GIB_IN_KIB, "available_kib": 5 * GIB_IN_KIB},
        "swap": [],
        "disks": [{"path": "/var/lib", "mount": "/", "size_bytes": 100 * 10**9, "free_bytes": 61 * 10**9}],
        "clock": {"synchronized": True, "service": "systemd-timesyncd"},
        "network": {"default_address": "192.168.1.10", "default_interface": "eth0"},
        "firewall": {"iptables_backend": "nft", "ufw_active": True},
        "wireguard": {
            "interfaces": {
                "wg0": {
                    "listen_port": 51871, "userspace": True,
                    "peers": [
                        peer("key-of-nuc2", 12), peer("key-of-orin1", 4000), peer("key-of-nobody", None),
                    ],
                }
            }
        },
        "containerd": {"present": True, "version": "1.7.28", "package": "containerd.io", "systemd_cgroup": True},
        "kubernetes": {"role": "control_plane", "kubelet_version": "1.35.4"},
        "units": {"kubelet.service": {"load": "loaded", "active": "active"}},
        "errors": [],
        **changes,
    }  # fmt: skip


def peer(key: str, age: int | None) -> dict[str, Any]:
    return {"public_key": key, "handshake_age_s": age, "endpoint": None, "allowed_ips": ["10.200.0.2/32"]}


JETSON = {"jetpack": "6.2", "l4t": "36.4.3", "model": "NVIDIA Jetson Orin NX Developer Kit", "power_mode": "MAXN_SUPER"}


def test_a_host_is_one_line_of_what_matters() -> None:
    header, line = hosts.overview({"nuc1": node()})
    assert header == "  HOST  SYSTEM     MEMORY   DISK FREE  TUNNELS  KUBERNETES"
    assert line == "  nuc1  Debian 12  8.0 GiB  61 GB      1/3 up   control plane 1.35.4"


@pytest.mark.parametrize("name", ["nuc1", "a-host-with-a-very-long-name.home.arpa"])
def test_nothing_is_wider_than_80_columns(name: str) -> None:
    document = node(jetson=JETSON, reboot={"required": True}, errors=["/etc/ufw/user.rules: Permission denied"] * 3)
    for line in [*hosts.overview({name: document}), *hosts.details(name, document, {})]:
        assert len(line) <= hosts.WIDTH, line


def test_a_jetson_is_called_by_its_jetpack() -> None:
    assert "JetPack 6.2" in list(hosts.overview({"orin1": node(jetson=JETSON)}))[1]


def test_peers_are_called_by_their_hosts_and_show_their_handshake() -> None:
    text = "\n".join(hosts.details("nuc1", node(), {"key-of-nuc2": "nuc2", "key-of-orin1": "orin1"}))
    assert "wg0 (wireguard-go), port 51871, 1/3 up" in text
    assert "nuc2 at no endpoint, handshake 12 s ago" in text
    assert "unknown key-of-n…" in text
    assert "no handshake yet" in text


def test_what_is_missing_is_said() -> None:
    text = "\n".join(hosts.details("nuc1", node(), {}))
    assert "without br_netfilter" in text
    assert "ufw active" in text


def test_a_document_of_nulls_can_be_shown() -> None:
    empty = dict.fromkeys(node()) | {"errors": ["memory: KeyError: 'MemTotal'"]}
    assert any("KeyError" in line for line in hosts.details("nuc1", empty, {}))
    assert len(list(hosts.overview({"nuc1": empty}))) == 2


def test_what_asks_for_attention_stands_below_the_table() -> None:
    document = node(
        identity={"root": False},
        lock={"owner": "ana@laptop", "pid": 4711},
        apt={"lock_holder": {"pid": 42, "command": "unattended-upgrade"}},
        units={"kubelet.service": {"load": "loaded", "active": "failed"}},
    )
    notes = list(hosts.overview({"nuc1": document}))[3:]
    assert notes == [
        "  nuc1: seen without root rights, so some of it is not known",
        "  nuc1: locked by a run of ana@laptop, process 4711",
        "  nuc1: installing packages: process 42, unattended-upgrade",
        "  nuc1: 1 unit failed: kubelet.service",
    ]


def test_a_host_that_gave_no_answer_is_named_with_the_reason() -> None:
    answers = {"nuc1": node(), "nuc2": ProbeFailure("nuc2", Trouble.UNREACHABLE, "no route to host")}
    assert "  nuc2: no route to host" in list(hosts.overview(answers))
    document = json.loads(json.dumps(hosts.document(answers)))
    assert document["schema_version"] == 1
    assert document["hosts"]["nuc2"] == {"error": "no route to host", "trouble": "unreachable"}
    assert document["hosts"]["nuc1"]["kubernetes"]["role"] == "control_plane"
