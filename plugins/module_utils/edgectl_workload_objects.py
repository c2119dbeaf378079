"""The Kubernetes objects of a workload: pure functions from an entry and a plan to documents."""

from __future__ import annotations

import hashlib
import json
import re

from ansible.module_utils.edgectl_workload_entry import filled
from ansible.module_utils.edgectl_workload_fit import GPU_MEMORY, HOSTNAME, reference
from ansible.module_utils.edgectl_workload_kinds import of_kind
from ansible.module_utils.edgectl_workload_labels import MANAGED, identity, labels

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Our own note on a pod: which files it was started with.
FILES = "edgectl.io/files"


def namespace(name: str) -> dict[str, Any]:
    """A namespace of ours. Its pods keep their data in directories of the node, which `privileged` alone allows."""
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name, "labels": {**MANAGED, "pod-security.kubernetes.io/enforce": "privileged"}},
    }


def objects(name: str, entry: dict[str, Any], chosen: dict[str, Any], plan: dict[str, Any]) -> list[dict[str, Any]]:
    """Deployment, Service, claims, and an Ingress where it is exposed by one.

    plan: namespace, hostname, node, platform, gpu (whether it takes one), resource, runtime_class, request_mib,
    needs_mib, image (an entry's), data_directory, storage_class, replicas (1), expose (as in `exposure`),
    ingress_class.
    """
    way, domain = exposure(plan.get("expose", ""))
    found: list[dict[str, Any]] = []
    if plan["storage_class"]:
        found += [_claim(name, volume, plan) for volume in entry.get("volumes", [])]
    metadata = {"name": name, "namespace": plan["namespace"], "labels": labels(name)}
    selector = identity(name)
    annotations = {}
    if plan["gpu"] and plan["platform"] == "dgpu":
        annotations[GPU_MEMORY] = str(plan["needs_mib"])
    if entry.get("files"):
        # Another text must start another pod: files by subPath are never renewed in one that runs.
        text = json.dumps(entry["files"], sort_keys=True)
        annotations[FILES] = hashlib.sha256(text.encode()).hexdigest()[:16]
    template: dict[str, Any] = {
        "metadata": {"labels": labels(name), "annotations": annotations},
        "spec": _pod(name, entry, chosen, plan),
    }
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata,
        "spec": {
            "replicas": plan.get("replicas", 1),
            "selector": {"matchLabels": selector},
            # Two pods would want two GPUs, and write into the same data.
            "strategy": {"type": "Recreate"},
            "progressDeadlineSeconds": entry["readiness"]["seconds"],
            "template": template,
        },
    }
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata,
        "spec": {
            "type": "NodePort" if way == "nodeport" else "ClusterIP",
            "selector": selector,
            "ports": [{"name": "main", "port": entry.get("port", 0), "targetPort": "main", "protocol": "TCP"}],
        },
    }
    found += [_files(name, entry, plan)] if entry.get("files") else []
    found += of_kind(entry, deployment, service)
    return [*found, _ingress(metadata, domain, plan["ingress_class"])] if way == "ingress" else found


def exposure(text: str) -> tuple[str, str]:
    """How it is reached from outside, and the name under which: ("", ""), ("nodeport", "") or ("ingress", HOST).

    Raises ValueError for anything else.
    """
    if text in ("", "nodeport"):
        return text, ""
    way, _, domain = text.partition("=")
    if way != "ingress" or not re.match(
        r"([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$", domain
    ):
        raise ValueError("{} is neither nodeport nor ingress=HOST, with a name in small letters".format(text))
    return way, domain


def exposed(name: str, place: str) -> dict[str, str]:
    """By which an Ingress of ours is found: of this workload, in this namespace."""
    return {"edgectl.io/exposes": "{}.{}".format(place, name)}


def _ingress(metadata: dict[str, Any], domain: str, ingress_class: str) -> dict[str, Any]:
    own = {**metadata["labels"], **exposed(metadata["name"], metadata["namespace"])}
    backend = {"service": {"name": metadata["name"], "port": {"name": "main"}}}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {**metadata, "labels": own},
        "spec": {
            "ingressClassName": ingress_class,
            "rules": [
                {"host": domain, "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}},
            ],
        },
    }


def _pod(name: str, entry: dict[str, Any], chosen: dict[str, Any], plan: dict[str, Any]) -> dict[str, Any]:
    resources: dict[str, Any] = {"requests": {"cpu": "100m", "memory": "{}Mi".format(plan["request_mib"])}}
    if plan["gpu"]:
        count = str(entry["needs"].get("gpus", 1))
        resources["requests"][plan["resource"]] = count
        resources["limits"] = {plan["resource"]: count}
    probe = {"path": entry["readiness"]["path"], "port": "main"} if entry["readiness"].get("path") else None
    check = {"httpGet": probe} if probe else {"tcpSocket": {"port": "main"}}
    volumes = [_volume(name, volume, plan) for volume in entry.get("volumes", [])]
    mounts = [{"name": volume["name"], "mountPath": volume["path"]} for volume in entry.get("volumes", [])]
    if entry["needs"].get("shm_mib"):
        limit = "{}Mi".format(entry["needs"]["shm_mib"])
        volumes.append({"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": limit}})
        mounts.append({"name": "shm", "mountPath": "/dev/shm"})  # noqa: S108 - in the container
    for number, path in enumerate(sorted(entry.get("files", {}))):
        mounts.append({"name": "files", "mountPath": path, "subPath": str(number), "readOnly": True})
    volumes += [{"name": "files", "configMap": {"name": files_name(name)}}] if entry.get("files") else []
    container = {
        "name": name,
        "image": reference(plan["image"], plan.get("brought", ())),
        "imagePullPolicy": "IfNotPresent",
        **{key: [_text(word, entry, chosen) for word in entry[key]] for key in ("command", "args") if key in entry},
        "env": _environment(name, entry, chosen, plan),
        "resources": resources,
        "securityContext": {
            "allowPrivilegeEscalation": False,
            **({"runAsUser": entry["user"]} if "user" in entry else {}),
        },
        "volumeMounts": mounts,
    }
    if "port" in entry:
        container["ports"] = [{"name": "main", "containerPort": entry["port"], "protocol": "TCP"}]
        container["readinessProbe"] = {**check, "periodSeconds": 2, "timeoutSeconds": 5, "failureThreshold": 3}
    return {
        "nodeSelector": {HOSTNAME: plan["hostname"]},
        **({"runtimeClassName": plan["runtime_class"]} if plan["gpu"] else {}),
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
        "automountServiceAccountToken": False,
        # Variables such as OLLAMA_PORT would be taken for the program's own options.
        "enableServiceLinks": False,
        "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [container],
        "volumes": volumes,
    }


def _environment(
    name: str, entry: dict[str, Any], chosen: dict[str, Any], plan: dict[str, Any]
) -> list[dict[str, Any]]:
    texts = {**entry.get("environment", {}), **plan["image"].get("environment", {})}
    if plan["gpu"]:
        # All capabilities of the driver's that a Jetson's runtime can give (NVIDIA/nvidia-container-toolkit#795).
        texts.setdefault("NVIDIA_DRIVER_CAPABILITIES", "compute,utility")
        # By this a program tells whether there must be a GPU for it, and whether it can compute.
        texts.setdefault("EDGECTL_GPU", "simulated" if plan.get("simulated") else "real")
    found = [{"name": key, "value": _text(text, entry, chosen)} for key, text in sorted(texts.items())]
    for key in entry.get("secrets", []):
        found.append({"name": key, "valueFrom": {"secretKeyRef": {"name": secret_name(name), "key": key}}})
    for key in entry.get("user_secrets", []):
        theirs = {"name": name + "-user", "key": key, "optional": True}
        found.append({"name": key, "valueFrom": {"secretKeyRef": theirs}})
    return found


def _text(text: str, entry: dict[str, Any], chosen: dict[str, Any]) -> str:
    return text if entry.get("literal") else filled(text, chosen)


def files_name(name: str) -> str:
    return name + "-files"


def _files(name: str, entry: dict[str, Any], plan: dict[str, Any]) -> dict[str, Any]:
    """The entry's files by number, in the order of their paths: a key of a ConfigMap can't be a path."""
    texts = (entry["files"][path] for path in sorted(entry["files"]))
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": files_name(name), "namespace": plan["namespace"], "labels": labels(name)},
        "data": {str(number): text for number, text in enumerate(texts)},
    }


def secret_name(name: str) -> str:
    return name + "-generated"


def _volume(name: str, volume: dict[str, Any], plan: dict[str, Any]) -> dict[str, Any]:
    if plan["storage_class"]:
        claim = {"claimName": "{}-{}".format(name, volume["name"])}
        return {"name": volume["name"], "persistentVolumeClaim": claim}
    path = "{}/{}".format(plan["data_directory"], volume["name"])
    return {"name": volume["name"], "hostPath": {"path": path, "type": "DirectoryOrCreate"}}


def _claim(name: str, volume: dict[str, Any], plan: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": "{}-{}".format(name, volume["name"]),
            "namespace": plan["namespace"],
            "labels": labels(name),
        },
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": plan["storage_class"],
            "resources": {"requests": {"storage": "{}Gi".format(plan["storage_gib"])}},
        },
    }
