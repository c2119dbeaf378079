"""NVIDIA's Helm chart for role device_plugin: its files, its values, and who takes part in it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from edgectl_gpu import CONFIG_LABEL

# On nodes that have the chart's plugin: by it the DaemonSets of the other way of installing keep away.
LABEL = {"edgectl.io/device-plugin": "chart"}
PROFILES = "nvidia-device-plugin-profiles"
_HELM, _CHART = "helm", "nvidia-device-plugin-chart"


def files(
    artifacts: Iterable[Mapping[str, Any]], directory: str, helm: Mapping[str, str], chart: Mapping[str, str]
) -> list[dict[str, str]]:
    """The chart and helm, for module edgectl_helm_release.

    artifacts: entries of the manifest in a directory. helm, chart: options device_plugin_helm and device_plugin_chart,
    `path` and `sha256` together, which go before; a helm that is named by the option is for any architecture.
    """
    found = {}
    for artifact in artifacts:
        name = {_HELM: f"helm-{artifact['arch']}", _CHART: "chart"}.get(artifact["name"])
        if name:
            found[name] = {"src": f"{directory}/{artifact['path']}", "sha256": artifact["sha256"]}
    if helm.get("path") and helm.get("sha256"):
        found |= {f"helm-{arch}": {"src": helm["path"], "sha256": helm["sha256"]} for arch in ("amd64", "arm64")}
    if chart.get("path") and chart.get("sha256"):
        found["chart"] = {"src": chart["path"], "sha256": chart["sha256"]}
    return [{"name": name, **file} for name, file in sorted(found.items())]


def values(image: str, runtime_class: str, discovery: bool) -> dict[str, Any]:
    """What differs from the chart's own values. (values.yaml of the chart, v0.19.0.)

    Nothing of it depends on how a node shares its GPU: its label names one of the profiles.
    """
    repository, _, tag = image.rpartition(":")
    [(label, value)] = LABEL.items()
    term = {"matchExpressions": [{"key": label, "operator": "In", "values": [value]}]}
    return {
        "image": {"repository": repository, "tag": tag},
        "runtimeClassName": runtime_class,
        "config": {"name": PROFILES},
        "gfd": {"enabled": discovery},
        "nfd": {"enabled": discovery},
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}},
        "tolerations": [
            {"key": "CriticalAddonsOnly", "operator": "Exists"},
            {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
            {"key": "node-role.kubernetes.io/control-plane", "operator": "Exists", "effect": "NoSchedule"},
        ],
    }


def labels(profiled: Mapping[str, str], mode: str, discovery: bool) -> dict[str, str]:
    """A node's labels under the chart. profiled: those that the profile has without it; mode: of sharing.

    Where NVIDIA's gpu-feature-discovery runs, it describes the GPU.
    """
    own = {name: value for name, value in profiled.items() if name in ("nvidia.com/gpu.present", CONFIG_LABEL)}
    # The chart's daemon for MPS goes to nodes of this label.
    capable = {"nvidia.com/mps.capable": "true"} if mode == "mps" else {}
    return {**(own if discovery else {**profiled, **capable}), **LABEL}


def asked(nodes: Iterable[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Names of the profiles that nodes ask for: of a DaemonSet of their own (`manifests`) or of the chart (`chart`)."""
    found: dict[str, list[str]] = {"manifests": [], "chart": []}
    for node in nodes:
        own = node["metadata"].get("labels", {})
        if own.get(CONFIG_LABEL):
            chart = all(own.get(label) == value for label, value in LABEL.items())
            found["chart" if chart else "manifests"].append(own[CONFIG_LABEL])
    return found


class FilterModule:
    """Makes the filters known to Ansible."""

    def filters(self) -> dict[str, Any]:
        return {
            "edgectl_chart_files": files,
            "edgectl_chart_values": values,
            "edgectl_chart_labels": labels,
            "edgectl_gpu_profiles_asked": asked,
        }
