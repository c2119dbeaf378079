"""Filters over Kubernetes' Node objects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

ROLE_LABEL = "node-role.kubernetes.io/"


def platform(document: Mapping[str, Any]) -> str | None:
    """`jetson`, `dgpu` or `cpu`, from a probe document; None when the host was not probed in this run."""
    if not document:
        return None
    if document.get("jetson"):
        return "jetson"
    return "dgpu" if document.get("gpus") else "cpu"


def node_summary(node: dict[str, Any], hostvars: Mapping[str, Any]) -> dict[str, Any]:
    """What a person wants to know about a node: its roles, whether it is Ready, its address, version and system."""
    name, info, status = node["metadata"]["name"], node["status"]["nodeInfo"], node["status"]
    labels = node["metadata"].get("labels", {})
    facts = hostvars[name].get("ansible_facts", {}) if name in hostvars else {}
    return {
        "name": name,
        "roles": sorted(label[len(ROLE_LABEL) :] for label in labels if label.startswith(ROLE_LABEL)) or ["worker"],
        "ready": any(c["type"] == "Ready" and c["status"] == "True" for c in status.get("conditions", [])),
        "internal_ip": next((a["address"] for a in status.get("addresses", []) if a["type"] == "InternalIP"), None),
        "pod_cidr": node.get("spec", {}).get("podCIDR"),
        "version": info["kubeletVersion"].removeprefix("v"),
        "os": info["osImage"],
        "arch": info["architecture"],
        "platform": platform(facts.get("edgectl", {})),
    }


def control_planes(names: list[str], hostvars: Mapping[str, Any]) -> list[str]:
    """Those that run the API: in this run by their facts, else by the state file, which knows of a cluster or not."""
    return [name for name in names if _runs_the_api(hostvars[name])]


def _runs_the_api(variables: Mapping[str, Any]) -> bool:
    if variables.get("__kubeadm_new_ca_hash") or variables.get("__k3s_new_ca_hash"):
        return True  # made or joined in this very run
    facts = (variables.get("ansible_facts") or {}).get("edgectl")
    if not facts:
        return bool((variables.get("edgectl_state_cluster") or {}).get("ca_hash"))
    found = facts["kubernetes"]
    return found["role"] == "control_plane" and found["made_by_edgectl"] and found["phase"] == "joined"


class FilterModule:
    """Makes the filters known to Ansible."""

    def filters(self) -> dict[str, Any]:
        return {
            "edgectl_node_summary": node_summary,
            "edgectl_control_planes": control_planes,
            "edgectl_platform": platform,
        }
