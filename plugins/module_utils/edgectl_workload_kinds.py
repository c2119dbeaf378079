"""Workloads that are no service: a pod that stays, a job, a job by a schedule, a pod with a terminal.

What their objects are, made of a Deployment's, and how far they have come. Pure functions; standard library only,
Python 3.8 upwards.
"""

from __future__ import annotations

from ansible.module_utils.edgectl_workload_state import NOWHERE, less_memory, of_node, of_pod

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Which object is looked at, of each kind.
OBJECTS = {"service": "deployment", "pod": "deployment", "job": "job", "cronjob": "cronjob", "shell": "pod"}
# For how long a pod that nobody calls must stay up to count as one that runs.
_STAYS_SECONDS = 5


def of_kind(entry: dict[str, Any], deployment: dict[str, Any], service: dict[str, Any]) -> list[dict[str, Any]]:
    """The objects of an entry: the Deployment and its Service, or what stands for them."""
    kind = entry.get("kind", "service")
    if kind == "service":
        return [deployment, service]
    if kind == "pod":
        deployment["spec"]["minReadySeconds"] = _STAYS_SECONDS
        return [deployment]
    metadata, template = deployment["metadata"], deployment["spec"]["template"]
    if kind == "shell":
        template["spec"]["containers"][0].update(stdin=True, tty=True)
        # Whoever ends the shell has ended the pod; a terminal that broke off may come back.
        template["spec"]["restartPolicy"] = "Never"
        own = {**metadata, "annotations": template["metadata"]["annotations"]}
        return [{"apiVersion": "v1", "kind": "Pod", "metadata": own, "spec": template["spec"]}]
    template["spec"]["restartPolicy"] = "Never"
    # Tried once: what failed is told, and its log is not covered by that of another try.
    job: dict[str, Any] = {"backoffLimit": 0, "template": template}
    if "keep_seconds" in entry:
        job["ttlSecondsAfterFinished"] = entry["keep_seconds"]
    if kind == "job":
        job["activeDeadlineSeconds"] = entry["readiness"]["seconds"]
        return [{"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": job}]
    spec = {"schedule": entry["schedule"], "concurrencyPolicy": "Forbid", "jobTemplate": {"spec": job}}
    return [{"apiVersion": "batch/v1", "kind": "CronJob", "metadata": metadata, "spec": spec}]


def judge(
    kind: str,
    found: dict[str, Any],
    pods: list[dict[str, Any]],
    events: list[dict[str, Any]],
    place: Any = NOWHERE,
) -> tuple[str, str, str, int | None]:
    """(`ready` | `waiting` | `broken`, why, what mends it, the exit code of what has ended) of what is no service.

    A job is `ready` when it has ended well.
    """
    if not found:
        return "broken", "its {} is gone".format({"job": "Job", "cronjob": "CronJob"}.get(kind, "Pod")), "", None
    if kind == "cronjob":
        return "ready", "it runs by its schedule, {}".format(found["spec"]["schedule"]), "", None
    if kind == "shell":
        return _of_shell(found, events, place)
    uid = found["metadata"].get("uid", "")
    # Pods of a former Job of this name may still be there.
    own = [pod for pod in pods if uid in [owner.get("uid", "") for owner in pod["metadata"].get("ownerReferences", [])]]
    code = _exit_code(own[-1]) if own else None
    conditions = {
        one["type"]: one for one in found.get("status", {}).get("conditions") or [] if one["status"] == "True"
    }
    if "Complete" in conditions:
        return "ready", "{} ended with exit code 0".format(found["metadata"]["name"]), "", 0
    if "Failed" in conditions:
        return ("broken", *_failed(found, own, conditions["Failed"], code), code)
    if not own:
        return "waiting", "{} has no pod yet".format(found["metadata"]["name"]), "", None
    if own[-1]["status"].get("phase") in ("Succeeded", "Failed"):
        return "waiting", "{} has ended".format(own[-1]["metadata"]["name"]), "", code
    if _runs(own[-1]) and not of_node(place):
        return "waiting", "{} runs".format(own[-1]["metadata"]["name"]), "", None
    return (*of_pod(own[-1], events, place), None)


def _failed(
    job: dict[str, Any], pods: list[dict[str, Any]], condition: dict[str, Any], code: int | None
) -> tuple[str, str]:
    """Why, and what mends it."""
    name = job["metadata"]["name"]
    if condition.get("reason") == "DeadlineExceeded":
        return "{} did not end within {} s".format(name, job["spec"].get("activeDeadlineSeconds", "?")), ""
    if code is None:
        return "{} failed: {}".format(name, condition.get("message", "")), ""
    killed = "OOMKilled" in [_ended(status).get("reason") for pod in pods for status in _statuses(pod)]
    why = "{} ended with exit code {}{}".format(name, code, " (out of memory)" if killed else "")
    return why, less_memory(pods[-1]) if killed else ""


def _of_shell(pod: dict[str, Any], events: list[dict[str, Any]], place: Any) -> tuple[str, str, str, int | None]:
    name, phase = pod["metadata"]["name"], pod.get("status", {}).get("phase")
    if phase in ("Succeeded", "Failed"):
        code = _exit_code(pod)
        return "ready", "{} ended with exit code {}".format(name, "?" if code is None else code), "", code
    if _runs(pod):
        return "ready", "{} runs".format(name), "", None
    return (*of_pod(pod, events, place), None)


def _runs(pod: dict[str, Any]) -> bool:
    return any((status.get("state") or {}).get("running") is not None for status in _statuses(pod))


def _statuses(pod: dict[str, Any]) -> list[dict[str, Any]]:
    return pod.get("status", {}).get("containerStatuses") or []


def _ended(status: dict[str, Any]) -> dict[str, Any]:
    return (status.get("state") or {}).get("terminated") or {}


def _exit_code(pod: dict[str, Any]) -> int | None:
    codes = [_ended(status)["exitCode"] for status in _statuses(pod) if _ended(status)]
    return int(codes[0]) if codes else None
