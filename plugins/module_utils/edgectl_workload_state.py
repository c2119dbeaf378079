"""How far a workload has come, from the API's documents: ready, waiting or broken, why, and what mends it.

In what mends it, INVENTORY stands for the inventory's path.
"""

from __future__ import annotations

import calendar
import re
import time
from collections import namedtuple

from ansible.module_utils.edgectl_gpu_pods import holders, more_room
from ansible.module_utils.edgectl_workload_labels import NAME, NAMESPACE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# The node that it is meant for, all pods there, and the time (Unix), by the clock of a control plane.
Place = namedtuple("Place", ("node", "pods", "now"))
NOWHERE = Place({}, (), 0.0)

# Reasons that do not pass by themselves.
HOPELESS = frozenset(("CreateContainerConfigError", "ErrImageNeverPull", "InvalidImageName", "RunContainerError"))
CRASHES = 2
# kubelet waits twice as long each time, from 10 s on: after so many tries a registry is not just slow.
PULLS = 3
# The same of one that was never reached (Go's words for that).
DIALS = 2
_NOT_REACHED = "dial tcp"
# What a registry that answered has said of the image, in containerd's words (core/remotes/docker, resolver.go).
_REFUSED = re.compile(r": not found|no match for platform|authorization failed|insufficient_scope|\b40[13] ", re.I)
# A sandbox that could not be made so often: a runtime or an image for it that is missing does not come.
SANDBOXES = 4
# Seconds after which a node, a free slot or the end of a pod is not just late: kubelet's last word counts for 40 s,
# and a pod may take 30 s to end. (Kubernetes documentation, "Node Status", "Termination of Pods")
PATIENCE_S = 60
# What the scheduler says besides of claims and of pods that it could have ended.
_ASIDE = re.compile(r"[,.]? (?:no new claims to deallocate|preemption: )")
_LOG_LINES = 8
_WAITING = "waiting"
_BROKEN = "broken"


def judge(
    deployment: dict[str, Any], pods: list[dict[str, Any]], events: list[dict[str, Any]], place: Any = NOWHERE
) -> tuple[str, str, str]:
    """(`ready` | `waiting` | `broken`, why, what mends it). events: of pods, also of others'."""
    if not deployment:
        return _BROKEN, "its Deployment is gone", ""
    status, name = deployment.get("status", {}), deployment["metadata"]["name"]
    wanted = deployment.get("spec", {}).get("replicas", 1)
    # One that was evicted stays as a record, and is replaced.
    lost = [pod for pod in pods if pod["status"].get("phase") == "Failed"]
    living = [pod for pod in pods if pod not in lost]
    current = [pod for pod in living if not pod["metadata"].get("deletionTimestamp")]
    if (
        status.get("observedGeneration") == deployment["metadata"]["generation"]
        and status.get("updatedReplicas") == status.get("availableReplicas") == status.get("replicas") == wanted
        and len(living) == wanted
    ):
        names = ", ".join(sorted(pod["metadata"]["name"] for pod in living))
        return "ready", "{} {} Ready".format(names, "is" if wanted == 1 else "are"), ""
    silent = of_node(place)
    if silent:
        return silent
    refused = [c for c in status.get("conditions") or [] if c["type"] == "ReplicaFailure" and c["status"] == "True"]
    if refused and not current:
        return _BROKEN, "the API refuses its pods: {}".format(refused[0].get("message", "")), ""
    if len(current) < len(living):
        return _of_ending([pod for pod in living if pod not in current], place)
    if lost and (len(lost) > CRASHES or not current or _pending(current[0])):
        return of_pod(newest(lost), events, place)
    if not current:
        return _WAITING, "{} has no pod yet".format(name), ""
    # Of several, one that is not ready; the newest, for a pod of the former version may still be there.
    return of_pod(newest(current), events, place)


def newest(pods: list[dict[str, Any]]) -> dict[str, Any]:
    """The one that it waits for, of several."""
    return max(pods, key=lambda one: (not is_ready(one), one["metadata"].get("creationTimestamp", "")))


def is_ready(pod: dict[str, Any]) -> bool:
    conditions = pod["status"].get("conditions") or []
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def _pending(pod: dict[str, Any]) -> dict[str, Any]:
    """The scheduler's refusal of it; empty where it has a node."""
    conditions = pod["status"].get("conditions") or []
    return next((c for c in conditions if c["type"] == "PodScheduled" and c["status"] == "False"), {})


def of_node(place: Any) -> tuple[str, str, str] | None:
    """What is wrong where nothing can be learnt of its pods, for their node is silent."""
    ready = _condition(place.node, "Ready")
    if not place.node or ready.get("status") == "True":
        return None
    name, since = place.node["metadata"]["name"], _seconds_since(ready.get("lastTransitionTime"), place.now)
    why = "{} is not Ready{}: {}".format(name, _for(since), ready.get("message") or "it never was")
    return (_BROKEN if since >= PATIENCE_S else _WAITING), why, back(name)


def back(node: str) -> str:
    """How a node that is not Ready is looked at."""
    return "see that {0} is on and in reach (edgectl probe {0} -i INVENTORY), or take another node (--node)".format(
        node
    )


def _of_ending(pods: list[dict[str, Any]], place: Any) -> tuple[str, str, str]:
    pod = pods[0]["metadata"]
    # The time by which it was to have ended.
    late = _seconds_since(pod["deletionTimestamp"], place.now)
    if late < PATIENCE_S:
        return _WAITING, "the former pod ends", ""
    node = pods[0].get("spec", {}).get("nodeName", "its node")
    why = "the former pod {} does not end{}: {} does not say that it has".format(pod["name"], _for(late), node)
    force = "edgectl kubectl -i INVENTORY -- delete pod {} -n {} --force".format(pod["name"], pod.get("namespace", ""))
    return _BROKEN, why, "{}, or, where {} is gone for good: {}".format(back(node).partition(", or")[0], node, force)


def of_pod(pod: dict[str, Any], events: list[dict[str, Any]], place: Any = NOWHERE) -> tuple[str, str, str]:
    """As `judge`, of one pod."""
    name, status = pod["metadata"]["name"], pod["status"]
    own = sorted(
        (event for event in events if event["involvedObject"]["name"] == name),
        key=lambda event: event.get("lastTimestamp") or event.get("eventTime") or "",
    )
    silent = of_node(place)
    if silent:
        return silent
    if _pending(pod):
        return _of_pending(pod, _pending(pod), place)
    if status.get("phase") == "Failed":
        why = "{} failed: {} {}".format(name, status.get("reason", ""), status.get("message", "")).strip()
        return _BROKEN, why, disk_space(pod["spec"].get("nodeName", "")) if status.get("reason") == "Evicted" else ""
    for container in status.get("containerStatuses") or []:
        state = container.get("state") or {}
        if state.get("waiting") or state.get("terminated"):
            return _of_container(pod, container, own)
    if status.get("phase") == "Running":
        probed = "".join(": " + event["message"] for event in own[-1:] if event.get("reason") == "Unhealthy")
        return _WAITING, "{} runs, and is not ready to answer yet{}".format(name, probed), ""
    return _WAITING, "{}: {}".format(status.get("phase", "Pending"), _last(own, name)), ""


def _of_container(pod: dict[str, Any], container: dict[str, Any], events: list[dict[str, Any]]) -> tuple[str, str, str]:
    """A container that does not run."""
    name, state, restarts = pod["metadata"]["name"], container.get("state") or {}, container.get("restartCount", 0)
    waiting, ended = state.get("waiting") or {}, state.get("terminated") or {}
    reason = waiting.get("reason", "it is not started")
    if reason == "CrashLoopBackOff" or (ended and restarts >= CRASHES):
        last = ended or (container.get("lastState") or {}).get("terminated") or {}
        killed = " (out of memory)" if last.get("reason") == "OOMKilled" else ""
        said = "{} ended {} times, with exit code {}{}".format(name, restarts + 1, last.get("exitCode", "?"), killed)
        fix = less_memory(pod) if killed else "{} --previous shows more of its log".format(_logs(pod))
        return (_BROKEN if restarts >= CRASHES else _WAITING), said, fix
    if reason in HOPELESS:
        return _BROKEN, "{}: {}: {}".format(name, reason, waiting.get("message", "")), ""
    if reason in ("ErrImagePull", "ImagePullBackOff"):
        return _of_image(pod, container, events)
    if waiting:
        sandboxes = [one for one in events if one.get("reason") == "FailedCreatePodSandBox"]
        if sum(one.get("count") or 1 for one in sandboxes) >= SANDBOXES:
            fix = "edgectl bootstrap INVENTORY --limit {} --full".format(pod["spec"].get("nodeName", ""))
            return _BROKEN, "{}: {}".format(name, sandboxes[-1]["message"]), fix
        return _WAITING, "{}: {}".format(reason, _last(events, name)), ""
    return _WAITING, "{} ended with exit code {} and is started again".format(name, ended.get("exitCode")), ""


def _of_pending(pod: dict[str, Any], refusal: dict[str, Any], place: Any) -> tuple[str, str, str]:
    """One that the scheduler finds no node for."""
    said = _ASIDE.split(refusal.get("message", "no node was found yet"))[0]
    why = "{} is Pending: {}".format(pod["metadata"]["name"], said)
    fix, node = "", place.node.get("metadata", {}).get("name", "")
    if place.node.get("spec", {}).get("unschedulable"):
        why, fix = "{}; {} is cordoned".format(why, node), uncordon(node)
    elif _condition(place.node, "DiskPressure").get("status") == "True":
        why, fix = "{}; the disk of {} is nearly full".format(why, node), disk_space(node)
    short = re.search(r"Insufficient (nvidia\.com/[\w.-]+)", why)
    if short:
        held = holders(place.pods, node, short.group(1))
        told = ", ".join("{} ({})".format(one, count) for one, count in sorted(held.items()))
        others = [one for one in place.pods if one["metadata"].get("labels") != pod["metadata"].get("labels", {})]
        why, fix = "{}; held by {}".format(why, told) if told else why, more_room(others, node, short.group(1))
    # A volume may take its time to be made.
    waited = 0 if "PersistentVolumeClaim" in why else _seconds_since(refusal.get("lastTransitionTime"), place.now)
    return (_BROKEN if waited >= PATIENCE_S else _WAITING), why, fix


def _of_image(pod: dict[str, Any], container: dict[str, Any], events: list[dict[str, Any]]) -> tuple[str, str, str]:
    """One whose image kubelet can't get: how often it tried, and what the last try said."""
    failed = [one for one in events if one.get("reason") == "Failed" and "pull" in one["message"]]
    said = str(failed[-1]["message"] if failed else container["state"]["waiting"].get("message", ""))
    tries, node = sum(one.get("count") or 1 for one in failed), pod["spec"].get("nodeName", "its node")
    registry = str(container.get("image", "")).partition("/")[0]
    if _REFUSED.search(said):
        enough, fix = 0, "see that {} has this image, for this platform and without a login".format(registry)
    else:
        enough = DIALS if _NOT_REACHED in said else PULLS
        fix = "see that {} reaches {}; without internet: bring it, cluster_artifacts_dir".format(node, registry)
    if tries < enough:
        # The end of a chain of causes, for one line.
        return _WAITING, "its image can't be fetched yet: {}".format(": ".join(said.split(": ")[-2:])), fix
    return _BROKEN, "its image can't be fetched: {}".format(said), fix


def _logs(pod: dict[str, Any]) -> str:
    metadata = pod["metadata"]
    name, place = (metadata.get("labels") or {}).get(NAME, metadata["name"]), metadata.get("namespace", NAMESPACE)
    return "edgectl logs {} INVENTORY{}".format(name, "" if place == NAMESPACE else " --namespace " + place)


def uncordon(node: str) -> str:
    return "edgectl kubectl -i INVENTORY -- uncordon {}".format(node)


def less_memory(pod: dict[str, Any]) -> str:
    """What helps where memory ran out."""
    limits = (pod["spec"]["containers"][0].get("resources") or {}).get("limits") or {}
    if "memory" in limits:
        return "it may take {}: raise the limit that namespace {} sets (kubectl get limitranges)".format(
            limits["memory"], pod["metadata"].get("namespace", "")
        )
    return "a smaller model, a shorter context, or fewer pods on {} (edgectl top INVENTORY)".format(
        pod["spec"].get("nodeName", "its node")
    )


def disk_space(node: str) -> str:
    """How room is made on the disk of a node; kubelet has already deleted the images that nobody uses."""
    purge = "edgectl undeploy NAME INVENTORY --purge deletes a workload's data"
    return "make room on {}: `sudo du -xhd2 /var/lib` there shows what takes it, and {}".format(node, purge)


def _condition(node: dict[str, Any], kind: str) -> dict[str, Any]:
    return next((one for one in node.get("status", {}).get("conditions") or [] if one["type"] == kind), {})


def _seconds_since(stamp: str | None, now: float) -> float:
    """Since a time as the API writes it; 0 where one of them is not known."""
    if not stamp or not now:
        return 0.0
    return max(0.0, now - calendar.timegm(time.strptime(stamp, "%Y-%m-%dT%H:%M:%SZ")))


def _for(seconds: float) -> str:
    return " for {} s".format(round(seconds)) if seconds >= 1 else ""


def _last(events: list[dict[str, Any]], pod: str) -> str:
    return str(events[-1]["message"]) if events else "nothing is said about {} yet".format(pod)


def last_lines(log: list[str]) -> str:
    return "\n".join([line for line in log if line.strip()][-_LOG_LINES:])
