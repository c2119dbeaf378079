"""Which node of a cluster a workload fits, asked without starting Ansible."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from edgectl import content
from edgectl.cluster.kubectl import KUBECONFIGS
from edgectl.cluster.observe import observe
from edgectl.cluster.remote import Login, control_plane, run_as_root
from edgectl.errors import EdgectlError
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
    target = control_plane(inventory)
    distribution = str(inventory.option("cluster_distribution", "kubeadm"))
    kubectl = shlex.join(["kubectl", "--kubeconfig", KUBECONFIGS.get(distribution, KUBECONFIGS["kubeadm"])])
    # One connection for both; each answer is one line.
    command = " && echo && ".join(f"{kubectl} get {what} -o json | tr -d '\\n'" for what in ("nodes", "pods -A"))
    answer = run_as_root(inventory, [target], command, login)[target.name]
    try:
        nodes, pods = (json.loads(line)["items"] for line in answer.stdout.splitlines() if line.strip())
    except (ValueError, KeyError) as error:
        said = (answer.stderr.strip() or answer.reason or "it gave no answer").splitlines()[-1]
        raise EdgectlError(
            f"{target.name} does not tell of a cluster, so nothing is known to fit",
            said,
            f"edgectl bootstrap {shlex.quote(str(inventory.path))}",
        ) from error
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
