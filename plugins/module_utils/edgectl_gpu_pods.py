"""Who uses the GPUs of a node, from the API's documents. Standard library only, Python 3.8 upwards."""

from __future__ import annotations

from ansible.module_utils.edgectl_workload_labels import NAME, NAMESPACE, PART_OF, WORKLOADS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Iterable

ENDED = ("Succeeded", "Failed")


def requested(pod: dict[str, Any], resource: str) -> int:
    """How many of a resource a pod holds."""
    return effective(pod, lambda container: _limit(container, resource))


def effective(pod: dict[str, Any], of_container: Callable[[dict[str, Any]], int]) -> int:
    """What is counted for a pod: its containers' sum, or more where one init container needs more.

    An init container that goes on (restartPolicy Always) holds its share beside the others. (Kubernetes documentation,
    "Resource sharing within containers" of init and sidecar containers.)
    """
    spec = pod.get("spec", {})
    side, most = 0, 0
    for container in spec.get("initContainers") or []:
        own = of_container(container)
        if container.get("restartPolicy") == "Always":
            side += own
            most = max(most, side)
        else:
            most = max(most, side + own)
    return max(most, side + sum(of_container(container) for container in spec.get("containers") or []))


def _limit(container: dict[str, Any], resource: str) -> int:
    resources = container.get("resources") or {}
    return int((resources.get("limits") or {}).get(resource) or (resources.get("requests") or {}).get(resource) or 0)


def living(pods: Iterable[dict[str, Any]], node: str) -> list[dict[str, Any]]:
    """Those on a node that have not ended."""
    return [
        pod
        for pod in pods
        if pod.get("spec", {}).get("nodeName") == node and pod.get("status", {}).get("phase") not in ENDED
    ]


def holders(pods: Iterable[dict[str, Any]], node: str, resource: str) -> dict[str, int]:
    """`namespace/name` of pods on a node that hold some of a resource -> how many; those that have ended hold none."""
    found = {}
    for pod in living(pods, node):
        held = requested(pod, resource)
        if held:
            found["{}/{}".format(pod["metadata"]["namespace"], pod["metadata"]["name"])] = held
    return found


def more_room(pods: Iterable[dict[str, Any]], node: str, resource: str) -> str:
    """What gets one more share of a node's GPU."""
    ours = []
    for pod in living(pods, node):
        labels, metadata = pod["metadata"].get("labels") or {}, pod["metadata"]
        if requested(pod, resource) and labels.get(PART_OF) == WORKLOADS:
            there = "" if metadata["namespace"] == NAMESPACE else " --namespace " + metadata["namespace"]
            ours.append("edgectl undeploy {} INVENTORY{}".format(labels[NAME], there))
    ways = [*sorted(set(ours))[:3], "raise device_plugin_sharing of {} and edgectl bootstrap INVENTORY".format(node)]
    return ", or ".join(ways)
