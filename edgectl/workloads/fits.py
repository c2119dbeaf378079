"""Which node of a cluster a workload fits, asked without starting Ansible."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from edgectl import content
from edgectl.cluster import objects
from edgectl.cluster.observe import observe
from edgectl.cluster.remote import Login
from edgectl.inventory import Inventory
from edgectl.ssh.probe import ProbeFailure
from edgectl.ssh.target import of_inventory
from edgectl.workloads.catalogue import Workload


@dataclass(frozen=True)
class Cluster:
    """Nodes and pods as the API tells them, and what decides about images on each host."""

    nodes: list[dict[str, Any]]
    pods: list[dict[str, Any]]
    hosts: Mapping[str, dict[str, Any]]


def look(inventory: Inventory, login: Login) -> Cluster:
    """Ask the control plane and probe the hosts. Raises EdgectlError where there is no cluster to ask."""
    (nodes, pods), _ = objects.get(inventory, login, ("nodes",), ("pods", "--all-namespaces"))
    answers = observe(inventory, of_inventory(inventory), login)
    known = content.filter_plugin("edgectl_workloads")
    hosts = {name: known.host(found) for name, found in answers.items() if not isinstance(found, ProbeFailure)}
    return Cluster(nodes, pods, hosts)


def assess(workload: Workload, cluster: Cluster, *, cpu: bool = False) -> list[dict[str, Any]]:
    """Each node's fit, with the defaults of the workload's parameters."""
    fit = content.module_util("edgectl_workload_fit")
    need = fit.memory(workload.data, workload.values({}))
    return [
        fit.assess(workload.data, need, node, cluster.pods, cluster.hosts.get(node["metadata"]["name"]), cpu)
        for node in cluster.nodes
    ]
