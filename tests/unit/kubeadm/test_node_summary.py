"""What `bootstrap` tells about the nodes at its end."""

from __future__ import annotations

from typing import Any

from tests.unit.kubeadm.conftest import plugin

nodes = plugin("filter/edgectl_nodes.py")


def node(name: str, ready: str = "True", labels: dict[str, str] | None = None) -> dict[str, Any]:
    """The parts of a Node object that are read, as Kubernetes 1.35 gives them."""
    return {
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
        "spec": {"podCIDR": "10.244.1.0/24"},
        "status": {
            "addresses": [{"address": "10.200.0.2", "type": "InternalIP"}, {"address": name, "type": "Hostname"}],
            "conditions": [{"type": "MemoryPressure", "status": "False"}, {"type": "Ready", "status": ready}],
            "nodeInfo": {
                "architecture": "amd64",
                "kubeletVersion": "v1.35.4",
                "osImage": "Debian GNU/Linux 12 (bookworm)",
            },
        },
    }


def facts(**document: Any) -> dict[str, Any]:
    return {"ansible_facts": {"edgectl": document}}


def test_worker_is_told_with_address_version_and_system() -> None:
    assert nodes.node_summary(node("nuc2"), {"nuc2": facts(jetson=None, gpus=[])}) == {
        "name": "nuc2",
        "roles": ["worker"],
        "ready": True,
        "internal_ip": "10.200.0.2",
        "pod_cidr": "10.244.1.0/24",
        "version": "1.35.4",
        "os": "Debian GNU/Linux 12 (bookworm)",
        "arch": "amd64",
        "platform": "cpu",
    }


def test_control_plane_is_known_by_its_label() -> None:
    labels = {"node-role.kubernetes.io/control-plane": ""}
    assert nodes.node_summary(node("nuc1", labels=labels), {})["roles"] == ["control-plane"]


def test_unknown_is_not_ready() -> None:
    assert nodes.node_summary(node("nuc2", ready="Unknown"), {})["ready"] is False


def test_platform_comes_from_the_probe_and_is_unknown_without_it() -> None:
    assert (
        nodes.node_summary(node("orin1"), {"orin1": facts(jetson={"l4t": "36.4.3"}, gpus=[])})["platform"] == "jetson"
    )
    assert nodes.node_summary(node("nuc2"), {"nuc2": facts(jetson=None, gpus=[{"name": "RTX"}])})["platform"] == "dgpu"
    assert nodes.node_summary(node("nuc2"), {"nuc2": {}})["platform"] is None
    assert nodes.node_summary(node("elsewhere"), {})["platform"] is None
