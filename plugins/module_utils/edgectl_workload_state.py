"""How far a workload has come, from the API's documents: ready, waiting for something, or broken, and why."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Reasons that do not pass by themselves.
HOPELESS = frozenset(("CreateContainerConfigError", "ErrImageNeverPull", "InvalidImageName", "RunContainerError"))
CRASHES = 2
# kubelet waits twice as long each time: after so many tries two minutes are over, and a registry is not just slow.
PULLS = 4
_LOG_LINES = 8


def judge(deployment: dict[str, Any], pods: list[dict[str, Any]], events: list[dict[str, Any]]) -> tuple[str, str]:
    """(`ready` | `waiting` | `broken`, why). events: of the pods."""
    if not deployment:
        return "broken", "its Deployment is gone"
    status, name = deployment.get("status", {}), deployment["metadata"]["name"]
    wanted = deployment.get("spec", {}).get("replicas", 1)
    current = [pod for pod in pods if not pod["metadata"].get("deletionTimestamp")]
    if (
        status.get("observedGeneration") == deployment["metadata"]["generation"]
        and status.get("updatedReplicas") == status.get("availableReplicas") == status.get("replicas") == wanted
        and len(pods) == wanted
    ):
        names = ", ".join(sorted(pod["metadata"]["name"] for pod in pods))
        return "ready", "{} {} Ready".format(names, "is" if wanted == 1 else "are")
    refused = [c for c in status.get("conditions") or [] if c["type"] == "ReplicaFailure" and c["status"] == "True"]
    if refused and not current:
        return "broken", "the API refuses its pods: {}".format(refused[0].get("message", ""))
    if len(current) < len(pods) or not current:
        return "waiting", "the former pod ends" if pods else "{} has no pod yet".format(name)
    # Of several, one that is not ready; the newest, for a pod of the former version may still be there.
    pod = max(current, key=lambda one: (not _is_ready(one), one["metadata"].get("creationTimestamp", "")))
    return of_pod(pod, events)


def _is_ready(pod: dict[str, Any]) -> bool:
    conditions = pod["status"].get("conditions") or []
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def of_pod(pod: dict[str, Any], events: list[dict[str, Any]]) -> tuple[str, str]:
    name, status = pod["metadata"]["name"], pod["status"]
    for condition in status.get("conditions") or []:
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            return "waiting", "{} is Pending: {}".format(name, condition.get("message", "no node was found yet"))
    if status.get("phase") == "Failed":
        return "broken", "{} failed: {} {}".format(name, status.get("reason", ""), status.get("message", "")).strip()
    for container in status.get("containerStatuses") or []:
        state, restarts = container.get("state") or {}, container.get("restartCount", 0)
        waiting, ended = state.get("waiting") or {}, state.get("terminated") or {}
        if waiting.get("reason") == "CrashLoopBackOff" or (ended and restarts >= CRASHES):
            last = ended or (container.get("lastState") or {}).get("terminated") or {}
            why = " (out of memory)" if last.get("reason") == "OOMKilled" else ""
            said = "{} ended {} times, with exit code {}{}".format(name, restarts + 1, last.get("exitCode", "?"), why)
            return ("broken" if restarts >= CRASHES else "waiting"), said
        if waiting.get("reason") in HOPELESS:
            return "broken", "{}: {}: {}".format(name, waiting["reason"], waiting.get("message", ""))
        if waiting.get("reason") in ("ErrImagePull", "ImagePullBackOff"):
            tries, said = _image_trouble(waiting, events)
            return ("broken" if tries >= PULLS else "waiting"), "its image can't be fetched: {}".format(said)
        if waiting:
            return "waiting", "{}: {}".format(waiting.get("reason", "it is not started"), _last_event(name, events))
        if ended:
            return "waiting", "{} ended with exit code {} and is started again".format(name, ended.get("exitCode"))
    if status.get("phase") == "Running":
        return "waiting", "{} runs, and is not ready to answer yet".format(name)
    return "waiting", "{}: {}".format(status.get("phase", "Pending"), _last_event(name, events))


def _image_trouble(waiting: dict[str, Any], events: list[dict[str, Any]]) -> tuple[int, str]:
    """How often it was tried, and what the last try said."""
    failed = [one for one in _in_order(events) if one.get("reason") == "Failed" and "pull" in one["message"]]
    if not failed:
        return 0, str(waiting.get("message", ""))
    return sum(one.get("count") or 1 for one in failed), str(failed[-1]["message"])


def _last_event(pod: str, events: list[dict[str, Any]]) -> str:
    said = [event["message"] for event in _in_order(events) if event["involvedObject"]["name"] == pod]
    return said[-1] if said else "nothing is said about {} yet".format(pod)


def _in_order(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(events, key=lambda event: event.get("lastTimestamp") or event.get("eventTime") or "")


def last_lines(log: list[str]) -> str:
    return "\n".join([line for line in log if line.strip()][-_LOG_LINES:])
