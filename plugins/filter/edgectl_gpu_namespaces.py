"""What namespaces get by role device_plugin: how many GPUs their pods may hold, and the key of NVIDIA's registry."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping
from typing import Any

LABELS = {"app.kubernetes.io/managed-by": "edgectl", "app.kubernetes.io/part-of": "edgectl-device-plugin"}
QUOTA = "edgectl-gpu"
SECRET = "edgectl-ngc"
# A GPU that is shared may be offered by another name (rename_by_default), to which the same number applies.
RESOURCES = ("requests.nvidia.com/gpu", "requests.nvidia.com/gpu.shared")
# Its user is the same for everybody; the key tells who it is (docs.nvidia.com/ngc, "Generating API Keys").
REGISTRY, USER = "nvcr.io", "$oauthtoken"


def namespaces(names: Iterable[str]) -> list[dict[str, Any]]:
    """Namespaces to make where they are missing."""
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": LABELS}}
        for name in sorted(set(names))
    ]


def quotas(limits: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A ResourceQuota for each namespace of option device_plugin_quotas."""
    return [
        _named("ResourceQuota", QUOTA, namespace) | {"spec": {"hard": dict.fromkeys(RESOURCES, str(limit))}}
        for namespace, limit in sorted(limits.items())
    ]


def pull_secrets(names: Iterable[str], key: str) -> list[dict[str, Any]]:
    """A Secret for each namespace, by which pods pull images from nvcr.io."""
    login = {"username": USER, "password": key, "auth": _base64(f"{USER}:{key}")}
    data = {".dockerconfigjson": _base64(json.dumps({"auths": {REGISTRY: login}}, sort_keys=True))}
    return [
        _named("Secret", SECRET, namespace) | {"type": "kubernetes.io/dockerconfigjson", "data": data}
        for namespace in sorted(set(names))
    ]


def _named(kind: str, name: str, namespace: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace, "labels": dict(LABELS)},
    }


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


class FilterModule:
    """Makes the filters known to Ansible."""

    def filters(self) -> dict[str, Any]:
        return {
            "edgectl_namespaces": namespaces,
            "edgectl_gpu_quotas": quotas,
            "edgectl_ngc_secrets": pull_secrets,
        }
