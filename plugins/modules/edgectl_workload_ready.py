#!/usr/bin/python
"""Say how far a workload has come, and why it is not ready."""

from __future__ import annotations

import time

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.edgectl_kubectl import Kubectl, KubectlError
from ansible.module_utils.edgectl_workload_fit import HOSTNAME
from ansible.module_utils.edgectl_workload_kinds import OBJECTS
from ansible.module_utils.edgectl_workload_kinds import judge as judge_other
from ansible.module_utils.edgectl_workload_labels import selector
from ansible.module_utils.edgectl_workload_state import NOWHERE, Place, judge, last_lines, newest

DOCUMENTATION = r"""
module: edgectl_workload_ready
short_description: Says how far a workload has come
description:
  - Looks for some seconds, or until there is something new, on a host that has kubectl.
  - Meant for C(until), so that each try tells what is waited for.
  - Changes nothing.
options:
  kubectl: {type: list, elements: str, required: true, description: "kubectl, with its options before the verb."}
  name: {type: str, required: true, description: Name of the Deployment and the Service.}
  namespace: {type: str, required: true, description: Where they are.}
  kind:
    description: "A workload's kind. A C(job) is ready when it has ended well; its log is told."
    type: str
    choices: [service, pod, job, cronjob, shell]
    default: service
  pulls: {type: bool, default: false, description: Whether a pull is told apart from other waiting.}
attributes:
  check_mode: {support: full}
author: edgectl
"""

EXAMPLES = r"""
- name: Ollama is ready
  edgectl_workload_ready:
    kubectl: [kubectl, --kubeconfig, /etc/kubernetes/admin.conf]
    name: ollama
    namespace: workloads
  register: look
  until: look.verdict != 'waiting'
  failed_when: look.verdict != 'ready'
  retries: 100
  delay: 2
"""

RETURN = r"""
verdict:
  description: "C(ready), C(waiting), C(broken), or, with O(pulls), C(pulling) while kubelet gets its image."
  type: str
  returned: always
msg: {description: What it waits for or what is wrong., type: str, returned: always}
pod: {description: Name of its pod., type: str, returned: always}
address: {description: Address of its Service within the cluster; empty until it is ready., type: str, returned: always}
port: {description: Port of its Service; 0 until it is ready., type: int, returned: always}
node_port: {description: "Port of the nodes that leads to it; 0 where there is none.", type: int, returned: always}
exit_code: {description: Of a job or a shell that has ended., type: int, returned: always}
log: {description: The last lines of what has ended., type: str, returned: always}
"""

NOTHING = {"pod": "", "address": "", "port": 0, "node_port": 0, "exit_code": None, "log": ""}
LOG_LINES = 20
# One try looks so long, so often, until there is something new: each try is a connection, and a line of the display.
SECONDS, PAUSE = 3.0, 0.3
# kubelet's event. (pkg/kubelet/images, image_manager.go)
PULLING = ': Pulling image "'


def look(kubectl, name, namespace, kind="service"):
    if kind not in ("service", "pod"):
        return look_at_other(kubectl, name, namespace, kind)
    inside = ("--namespace", namespace)
    deployment = kubectl.get("deployment", name, *inside)
    pods = kubectl.items("pods", *inside, "--selector", selector(name))
    verdict, why, fix = judge(deployment, pods, [])
    pod = pods[-1]["metadata"]["name"] if pods else ""
    if verdict != "ready":
        place = place_of(kubectl, deployment.get("spec", {}).get("template", {}))
        verdict, why, fix = judge(deployment, pods, kubectl.items("events", *inside), place)
    lines = kubectl.last_lines(newest(pods), LOG_LINES) if verdict == "broken" and pods else []
    spec = kubectl.get("service", name, *inside).get("spec", {}) if verdict == "ready" else {}
    ports = (spec.get("ports") or [{}])[0]
    return {
        **NOTHING,
        "verdict": verdict,
        "msg": told(verdict, why, fix, lines),
        "pod": pod,
        "address": spec.get("clusterIP", ""),
        "port": ports.get("port", 0),
        "node_port": ports.get("nodePort", 0),
    }


def look_at_other(kubectl, name, namespace, kind):
    """A job, a cronjob or a shell."""
    inside = ("--namespace", namespace)
    found = kubectl.get(OBJECTS[kind], name, *inside)
    pods = kubectl.items("pods", *inside, "--selector", selector(name)) if kind == "job" else [found] if found else []
    pods.sort(key=lambda pod: pod["metadata"].get("creationTimestamp", ""))
    verdict, why, fix, code = judge_other(kind, found, pods, [])
    if verdict == "waiting":
        place = place_of(kubectl, found["spec"]["template"] if kind == "job" else found)
        verdict, why, fix, code = judge_other(kind, found, pods, kubectl.items("events", *inside), place)
    ended = pods and kind != "cronjob" and (code is not None or verdict == "broken")
    lines = kubectl.last_lines(pods[-1], LOG_LINES) if ended else []
    pod = pods[-1]["metadata"]["name"] if pods and kind != "cronjob" else ""
    msg = told(verdict, why, fix, lines)
    return {**NOTHING, "verdict": verdict, "msg": msg, "pod": pod, "exit_code": code, "log": "\n".join(lines)}


def place_of(kubectl, template):
    """The node that a pod is meant for, with all that runs there."""
    hostname = template.get("spec", {}).get("nodeSelector", {}).get(HOSTNAME)
    nodes = kubectl.items("nodes", "--selector", "{}={}".format(HOSTNAME, hostname)) if hostname else []
    if not nodes:
        return NOWHERE
    return Place(nodes[0], kubectl.pods_on(nodes[0]["metadata"]["name"]), time.time())


def told(verdict, why, fix, lines):
    """One line while it waits; of what is broken also its log's last lines and what mends it."""
    if verdict != "broken":
        return why
    log = last_lines(lines)
    return "\n".join([why, *(["the last lines of its log:", log] if log else []), *(["fix: " + fix] if fix else [])])


def main():
    module = AnsibleModule(
        argument_spec={
            "kubectl": {"type": "list", "elements": "str", "required": True},
            "name": {"type": "str", "required": True},
            "namespace": {"type": "str", "required": True},
            "kind": {"type": "str", "choices": ["service", "pod", "job", "cronjob", "shell"], "default": "service"},
            "pulls": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    options, kubectl = module.params, Kubectl(module, module.params["kubectl"])
    until, found = time.monotonic() + SECONDS, look_once(kubectl, options)
    while found["verdict"] == "waiting" and time.monotonic() < until:
        time.sleep(PAUSE)
        before, found = found, look_once(kubectl, options)
        if found["msg"] != before["msg"]:
            break
    module.exit_json(changed=False, **found)


def look_once(kubectl, options):
    try:
        found = look(kubectl, options["name"], options["namespace"], options["kind"])
    except KubectlError as error:
        # An API that is busy for a moment has until the last try.
        found = {**NOTHING, "verdict": "waiting", "msg": str(error)}
    if options["pulls"] and found["verdict"] == "waiting" and PULLING in found["msg"]:
        found["verdict"] = "pulling"
    return found


if __name__ == "__main__":
    main()
