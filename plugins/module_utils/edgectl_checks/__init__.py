"""Checks: pure functions from the probe's documents to findings, one file a layer.

Preflight, error reports and the doctor all ask the same checks, so they all say the same thing. Standard library
only; no input, no output.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any, Optional

# Importing a layer enters its checks into the registry.
from . import cluster, gpu, identity, machine, network, runtime  # noqa: F401
from .model import REGISTRY, Finding, HostState, examine

__all__ = ["OPTIONS", "REGISTRY", "Finding", "HostState", "run_checks"]

# What the checks want to know about a host besides its document.
OPTIONS = (
    "cluster_distribution",
    "cluster_domain",
    "cluster_endpoint",
    "cluster_endpoint_port",
    "cluster_gpu",
    "cluster_lan_address",
    "cluster_pod_cidr",
    "cluster_pod_prefix",
    "cluster_service_cidr",
    "cluster_version",
    "cluster_wireguard",
    "containerd_enable_cri",
    "device_plugin_sharing",
    "device_plugin_taint",
    "edgectl_state",
    "edgectl_state_cluster",
    "group_names",
    "k3s_adopt",
    "k3s_kubelet_config",
    "k3s_network_policy",
    "kubeadm_kubelet_config",
    "machine_data_directory",
    "machine_reboot",
    "machine_swap",
    "machine_time_sync",
    "machine_ufw",
    "nvidia_driver_cuda",
    "nvidia_driver_install",
    "wireguard_interface",
    "wireguard_network",
    "wireguard_port",
    "wireguard_topology",
)


def run_checks(
    states: Mapping[str, Mapping[str, Any]],
    options: Mapping[str, Mapping[str, Any]],
    now: Optional[float] = None,
) -> list[Finding]:
    """Findings on all hosts of `states`.

    states: host -> its document. options: host -> its options (see OPTIONS); a host that is only in here is not
    examined, but others may not share its machine-id. now: the controller's clock (Unix time), one more opinion
    on what time it is.
    """
    hosts = [HostState(name, states.get(name, {}), options.get(name, {})) for name in {**states, **options}]
    reference = reference_time([host.clock.now for host in hosts if host.clock.now], now)
    findings = []
    for host in hosts:
        host.others = [other for other in hosts if other is not host]
        host.reference_time = reference
        if host.name in states:
            findings += examine(host)
    return findings


def reference_time(clocks: list[float], now: Optional[float]) -> Optional[float]:
    """What time it probably is: the median of all clocks, but our own against a single host's."""
    if len(clocks) < 2:
        return now
    return statistics.median([*clocks, now] if now is not None else clocks)
