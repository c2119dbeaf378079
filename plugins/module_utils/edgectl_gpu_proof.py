"""What Kubernetes says about a node's GPU slots: who holds them, and whether a verification's pods prove them.

Pure functions over kubectl's JSON. A slot is one of the resource that NVIDIA's device plugin offers.
"""

from __future__ import annotations

import hashlib
import json

from ansible.module_utils.edgectl_gpu_pods import ENDED
from ansible.module_utils.edgectl_gpu_pods import holders as holders_of

NVIDIA_PRODUCT = "nvidia.com/gpu.product"
HOSTNAME = "kubernetes.io/hostname"
CONTAINER = "check"

# Below everything that a user runs (0), so a workload that wants the slot takes it; and nobody is made to go for it.
PRIORITY = -1000

# Reasons for which kubelet does not start a container and that do not pass by themselves in the time that we have.
STUCK = frozenset(
    (
        "CrashLoopBackOff",
        "CreateContainerConfigError",
        "CreateContainerError",
        "ErrImageNeverPull",
        "ImageInspectError",
        "ImagePullBackOff",
        "InvalidImageName",
        "RunContainerError",
        "StartError",
    )
)
IMAGE = frozenset(("ErrImageNeverPull", "ErrImagePull", "ImageInspectError", "ImagePullBackOff", "InvalidImageName"))
# kubelet's reasons for giving a pod's place to somebody else: nothing is wrong with the GPU.
DISPLACED = frozenset(("Evicted", "Preempting", "Terminated", "NodeShutdown"))
# containerd's words for a RuntimeClass whose handler is not in its configuration.
NO_RUNTIME = "no runtime for"

_LOG_LINES = 5


def names(prefix, node):
    """The namespace of a node's verification, which also names its priority class: no two nodes share anything."""
    plain = prefix + "-" + node
    name = plain.replace(".", "-")
    if name == plain and len(name) <= 63:
        return name
    return name[:54].rstrip("-") + "-" + hashlib.sha256(plain.encode()).hexdigest()[:8]


def frame(namespace, script):
    """Namespace, priority class and script, which the pods need."""
    labels = {"app.kubernetes.io/managed-by": "edgectl", "app.kubernetes.io/name": "edgectl-verify"}
    return [
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            # Not `restricted`: a Jetson's device nodes belong to root and group video, so the program runs as root,
            # as nearly every image for Jetsons does.
            "metadata": {"name": namespace, "labels": {**labels, "pod-security.kubernetes.io/enforce": "baseline"}},
        },
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": namespace, "labels": labels},
            "value": PRIORITY,
            "preemptionPolicy": "Never",
            "description": "Verification by edgectl: gives way to every workload.",
        },
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": CONTAINER, "namespace": namespace, "labels": labels},
            "data": {"gpu_check.py": script},
        },
    ]


def pod(namespace, number, node, options):
    """A pod that takes one slot, checks the GPU and keeps the slot. options: the module's."""
    seconds = options["timeout"] + 60
    hostname = node["metadata"].get("labels", {}).get(HOSTNAME, node["metadata"]["name"])
    container = {
        "name": CONTAINER,
        "image": options["image"],
        "imagePullPolicy": options["image_pull_policy"],
        "command": ["python3", "/check/gpu_check.py", "--platform", options["platform"], "--hold", str(seconds)],
        # All capabilities of the driver's that a Jetson's runtime can give (NVIDIA/nvidia-container-toolkit#795).
        "env": [{"name": "NVIDIA_DRIVER_CAPABILITIES", "value": "compute,utility"}],
        "resources": {"limits": {options["resource"]: 1}, "requests": {"cpu": "10m", "memory": "32Mi"}},
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        "volumeMounts": [{"name": CONTAINER, "mountPath": "/check", "readOnly": True}],
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "{}-{}".format(CONTAINER, number),
            "namespace": namespace,
            "labels": {"app.kubernetes.io/managed-by": "edgectl", "app.kubernetes.io/name": "edgectl-verify"},
        },
        "spec": {
            # Not nodeName: it is the scheduler that must find room, or none.
            "nodeSelector": {HOSTNAME: hostname},
            "runtimeClassName": options["runtime_class"],
            "priorityClassName": namespace,
            "tolerations": [{"operator": "Exists"}],
            "restartPolicy": "Never",
            "activeDeadlineSeconds": seconds,
            "terminationGracePeriodSeconds": 1,
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
            "containers": [container],
            "volumes": [{"name": CONTAINER, "configMap": {"name": CONTAINER}}],
        },
    }


def offered(node, resource, of="allocatable"):
    """How many slots a node offers; those of a device that is not healthy are in its capacity alone."""
    return int(node.get("status", {}).get(of, {}).get(resource, 0))


def ready(node):
    return any(c["type"] == "Ready" and c["status"] == "True" for c in node["status"].get("conditions", []))


def ended(pod):
    """Whether it holds nothing any more."""
    return pod["status"].get("phase") in ENDED


def holders(on_node, node, resource, namespace):
    """Other people's pods that hold slots: namespace/name -> slots."""
    others = (pod for pod in on_node if pod["metadata"]["namespace"] != namespace)
    return holders_of(others, node, resource)


def kept_back(pod):
    """The scheduler's reason why a pod waits; empty while it has not said one."""
    for condition in pod["status"].get("conditions") or []:
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            return condition.get("message") or condition.get("reason") or ""
    return ""


def answer_in(log):
    """The check's answer in what a pod printed; None where it is not there yet."""
    for line in reversed(log.splitlines()):
        if line.startswith("{"):
            try:
                answer = json.loads(line)
            except ValueError:
                continue
            if isinstance(answer, dict) and "ok" in answer:
                return answer
    return None


def last_lines(log):
    return [line for line in log.splitlines() if line.strip()][-_LOG_LINES:]


def displaced(pod):
    """Whether somebody else was given its place."""
    conditions = pod["status"].get("conditions") or []
    return pod["status"].get("reason") in DISPLACED or any(
        c["type"] == "DisruptionTarget" and c["status"] == "True" for c in conditions
    )


def container_state(pod):
    """(state, details) of the pod's only container: waiting, running, terminated; empty before there is one."""
    for status in pod["status"].get("containerStatuses") or []:
        for state, details in (status.get("state") or {}).items():
            return state, details or {}
    return "", {}


def describe(pod):
    """A pod's state in one line."""
    state, details = container_state(pod)
    said = [pod["status"].get("phase", "Unknown")]
    said += [pod["status"]["reason"]] if pod["status"].get("reason") else []
    if pod["status"].get("message"):
        said.append(pod["status"]["message"])
    elif kept_back(pod):
        said.append(kept_back(pod))
    elif details.get("reason") and state != "running":
        code = details.get("exitCode")
        said.append(details["reason"] + ("" if code is None else ", exit code {}".format(code)))
        said += [details["message"].strip()] if details.get("message") else []
    return "{}: {}".format(pod["metadata"]["name"], ": ".join(said))


def stuck(pod, events):
    """Why a pod will not get to an answer, as (kind, what is wrong); None while it may."""
    name = pod["metadata"]["name"]
    state, details = container_state(pod)
    reason = details.get("reason", "")
    if state == "waiting" and reason in STUCK:
        return ("image", "its image can't be had") if reason in IMAGE else ("start", "its container can't be started")
    if pod["status"].get("phase") == "Failed" and not displaced(pod):
        if state == "terminated" and reason not in STUCK:
            return "ended", "it ended without an answer"
        return "start", "its container can't be started"
    for event in events:
        if event["involvedObject"].get("name") == name and NO_RUNTIME in (event.get("message") or ""):
            return "runtime", "containerd has no such runtime"
    return None


def events_of(pod, events, kinds=("Warning",)):
    """The events about a pod, oldest first, each once."""
    name = pod["metadata"]["name"]
    own = [e for e in events if e["involvedObject"].get("name") == name and e.get("type") in kinds]
    own.sort(key=lambda e: e.get("lastTimestamp") or e.get("eventTime") or "")
    return list(dict.fromkeys("{}: {}".format(e.get("reason"), (e.get("message") or "").strip()) for e in own))


class Scene:
    """All that was seen at one moment.

    on_node: every pod on the node, from one list. own: the verification's pods. answers: name -> the check's answer.
    logs: name -> what it printed, of those without an answer.
    """

    def __init__(self, node, on_node, own, answers, logs=None, events=()):
        self.node, self.on_node, self.own, self.answers = node, on_node, own, answers
        self.logs, self.events = logs or {}, list(events)


def judge(scene, resource, namespace):
    """What a moment proves.

    Gives `room`, the slots that nobody else holds; `ran`, our pods whose check went well; `waiting`, our pods that the
    scheduler keeps back for want of a slot; `missing`, how many more pods it takes to fill the room and leave one over;
    `problems`; and `proved`, whether every slot of the room was used and one pod more had to wait. Others may come and
    go meanwhile: what counts is what is so now.
    """
    held = holders(scene.on_node, scene.node["metadata"]["name"], resource, namespace)
    room = max(0, offered(scene.node, resource) - sum(held.values()))
    placed = [p for p in scene.on_node if p["metadata"]["namespace"] == namespace and not ended(p)]
    unplaced = [p for p in scene.own if not p["spec"].get("nodeName") and not ended(p)]
    wanting = "Insufficient " + resource
    waiting = [p for p in unplaced if wanting in kept_back(p)]
    ran = [p for p in placed if scene.answers.get(p["metadata"]["name"], {}).get("ok")]
    problems = found(scene)
    return {
        "room": room,
        "held": held,
        "ran": len(ran),
        "waiting": len(waiting),
        "missing": max(0, room + 1 - len(placed) - len(unplaced)),
        "proved": not problems and len(ran) == len(placed) == room and len(waiting) == len(unplaced) > 0,
        "problems": problems,
    }


def found(scene):
    """What went wrong in our pods, the same in several of them told once."""
    same = {}
    for pod in scene.own:
        name = pod["metadata"]["name"]
        answer = scene.answers.get(name)
        if answer is not None:
            for problem in answer.get("problems") or []:
                same.setdefault(("check", problem["what"]), []).append((name, problem.get("evidence") or ""))
            continue
        trouble = stuck(pod, scene.events)
        if trouble:
            evidence = [describe(pod), *events_of(pod, scene.events), *last_lines(scene.logs.get(name, ""))]
            same.setdefault(trouble, []).append((name, "\n".join(evidence)))
    return [
        {"kind": kind, "what": "{}: {}".format(told(pods), what), "evidence": pods[0][1]}
        for (kind, what), pods in same.items()
    ]


def told(pods):
    """`check-0`, or `check-0 and 3 more`."""
    return pods[0][0] + (" and {} more".format(len(pods) - 1) if len(pods) > 1 else "")


def unproved(scene, verdict, resource, seconds):
    """The problems of a verification whose time is over."""
    problems = []
    silent = [
        p
        for p in scene.own
        if p["spec"].get("nodeName") and not ended(p) and p["metadata"]["name"] not in scene.answers
    ]
    if silent:
        first = silent[0]
        runs = container_state(first)[0] == "running"
        lines = [describe(first), *events_of(first, scene.events, ("Warning",) if runs else ("Normal", "Warning"))]
        lines += last_lines(scene.logs.get(first["metadata"]["name"], ""))
        who = told([(p["metadata"]["name"], "") for p in silent])
        what = "{}: {} within {} s".format(who, "no answer" if runs else "not started", seconds)
        problems.append({"kind": "slow" if runs else "starting", "what": what, "evidence": "\n".join(lines)})
    unplaced = [p for p in scene.own if not p["spec"].get("nodeName") and not ended(p)]
    other = [p for p in unplaced if "Insufficient " + resource not in kept_back(p)]
    if other:
        problems.append(
            {
                "kind": "place",
                "what": "{}: it waits, and not for want of {}".format(other[0]["metadata"]["name"], resource),
                "evidence": describe(other[0]) if kept_back(other[0]) else "the scheduler has said nothing about it",
            }
        )
    if not problems:
        problems.append(
            {
                "kind": "count",
                "what": "{} pods got a slot where there was room for {}".format(verdict["ran"], verdict["room"]),
                "evidence": "\n".join(describe(p) for p in scene.own) or "there are no pods any more",
            }
        )
    return problems


def short_of(node, expected, resource):
    """The problem of a node that does not offer what it should; None where it does.

    expected: None where any number from 1 on will do.
    """
    allocatable, capacity = offered(node, resource), offered(node, resource, "capacity")
    if allocatable == expected or (expected is None and allocatable > 0):
        return None
    name, wanted = node["metadata"]["name"], "one or more" if expected is None else expected
    evidence = "allocatable {}, capacity {}".format(allocatable, capacity)
    if resource not in node["status"].get("capacity", {}):
        evidence = "no device plugin has ever offered it there"
    elif capacity > allocatable:
        evidence += ": the device plugin calls {} of them unhealthy".format(capacity - allocatable)
    if not ready(node):
        evidence += "; the node is not Ready"
    return {
        "kind": "offer",
        "what": "{} offers {} of {} where {} should be".format(name, allocatable, resource, wanted),
        "evidence": evidence,
    }


def fix(kind, node, options):
    """What to do about a problem."""
    again = "edgectl bootstrap INVENTORY --limit {} --full".format(node)
    return {
        "offer": "look at the device plugin's pod on {}; {} sets it up again".format(node, again),
        "image": "see that {} reaches the registry of {}, or name another image in device_plugin_check_image".format(
            node, options["image"]
        ),
        "runtime": "{} puts the runtime {} into containerd's configuration again".format(
            again, options["runtime_class"]
        ),
        "start": "{} sets NVIDIA's container runtime up again".format(again),
        "place": "make room on {} for a pod of 10m CPU and 32Mi memory, then verify again".format(node),
        "slow": "the line `step:` above tells where it stopped; `dmesg` on {} has the driver's own words".format(node),
        "starting": "where its image is still on its way, verify again when it has come; else the line above tells",
        "count": "look at the device plugin's pod on {}: does it restart?".format(node),
        "check": "see that NVIDIA's driver works on {} itself (`dmesg` has its words); {}".format(node, again),
        "refused": "{} makes what the API misses".format(again),
        "api": "see that the control plane is up, then verify again",
    }.get(kind, "look at the pods with the command below")
