#!/usr/bin/python
"""See to it that a node offers as many GPUs as it should, and that nobody loses one that is in use."""

from __future__ import annotations

import json
import time

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.edgectl_gpu_pods import allocatable, holders

DOCUMENTATION = r"""
module: edgectl_gpu_slots
short_description: Awaits the GPUs that a node is to offer, or refuses to take away used ones
description:
  - C(state=enough) fails where pods hold more GPUs than the node is to offer from now on. Nothing is evicted by a
    smaller number, but a pod that starts anew would not be let in again.
  - C(state=offered) waits until the node offers exactly that number, and says what the device plugin said where it does
    not.
  - Runs on a host that has kubectl and may administer the cluster. Changes nothing.
options:
  kubectl: {type: list, elements: str, required: true, description: "kubectl, with its options before the verb."}
  node: {type: str, required: true, description: The node.}
  resource: {type: str, default: nvidia.com/gpu, description: Name of the resource.}
  wanted: {type: int, description: How many it is to offer; without it any number from 1 on.}
  state: {type: str, choices: [enough, offered], default: offered, description: What to see to.}
  namespace: {type: str, default: nvidia-device-plugin, description: Where the device plugin's pods are.}
  timeout: {type: int, default: 120, description: Seconds to wait.}
attributes:
  check_mode: {support: full}
author: edgectl
"""

EXAMPLES = r"""
- name: Orin1 offers its GPU four times
  edgectl_gpu_slots:
    kubectl: [kubectl, --kubeconfig, /etc/kubernetes/admin.conf]
    node: orin1
    wanted: 4
"""

RETURN = r"""
offered: {description: How many the node offers; null where it offers none by that name., type: int, returned: always}
held: {description: Pods that hold some and how many., type: dict, returned: when state is enough}
"""

POLL_S = 2


class Cluster:
    """What kubectl says."""

    def __init__(self, module: AnsibleModule) -> None:
        self.module = module

    def output(self, arguments: "list[str]") -> "str | None":
        """What a command prints; None where it fails, as it does while the API is restarting."""
        rc, out, _err = self.module.run_command([*self.module.params["kubectl"], *arguments])
        return out if rc == 0 else None

    def document(self, arguments: "list[str]") -> "dict":
        out = self.output(["get", *arguments, "-o", "json"])
        return json.loads(out) if out else {}

    def pods(self, namespace: "list[str]") -> "list[dict]":
        on_node = "--field-selector=spec.nodeName=" + self.module.params["node"]
        return self.document(["pods", *namespace, on_node]).get("items", [])


def enough(module: AnsibleModule, cluster: Cluster) -> "dict[str, object]":
    node, resource, wanted = (module.params[name] for name in ("node", "resource", "wanted"))
    offered = allocatable(cluster.document(["node", node]), resource)
    held = holders(cluster.pods(["--all-namespaces"]), node, resource)
    if wanted is not None and sum(held.values()) > wanted:
        module.fail_json(
            msg="{} is to offer {} {}, and pods hold {} of them: {}. Nothing was changed. End some of these pods, or "
            "set device_plugin_sharing to at least {} replicas.".format(
                node,
                wanted,
                resource,
                sum(held.values()),
                ", ".join("{} ({})".format(pod, count) for pod, count in sorted(held.items())),
                sum(held.values()),
            ),
            held=held,
            offered=offered,
        )
    return {"offered": offered, "held": held}


def await_offer(module: AnsibleModule, cluster: Cluster) -> "dict[str, object]":
    node, resource, wanted = (module.params[name] for name in ("node", "resource", "wanted"))
    deadline = time.monotonic() + module.params["timeout"]
    while True:
        offered = allocatable(cluster.document(["node", node]), resource)
        if offered is not None and offered > 0 and wanted in (None, offered):
            return {"offered": offered}
        if time.monotonic() > deadline:
            break
        time.sleep(POLL_S)
    return module.fail_json(
        msg="{} offers {} {} after {} s, not {}. {}".format(
            node,
            "no" if offered is None else offered,
            resource,
            module.params["timeout"],
            "one or more" if wanted is None else wanted,
            said_by_plugin(module, cluster),
        ),
        offered=offered,
    )


def said_by_plugin(module: AnsibleModule, cluster: Cluster) -> str:
    """Why the device plugin of the node does not do its work, in its own words."""
    namespace = ["--namespace", module.params["namespace"]]
    pods = cluster.pods(namespace)
    if not pods:
        return "No pod of the device plugin is on it: kubectl {} get daemonsets".format(" ".join(namespace))
    name = pods[0]["metadata"]["name"]
    log = cluster.output(["logs", *namespace, name, "--tail=5"]) or cluster.output(
        ["logs", *namespace, name, "--tail=5", "--previous"]
    )
    return "The device plugin's pod {} is {}{}".format(
        name, state_of(pods[0]), ", and says: " + " / ".join(log.split("\n")).strip(" /") if log else ""
    )


def state_of(pod: "dict") -> str:
    """A pod's state in a few words, with the reason where there is one."""
    for status in pod.get("status", {}).get("containerStatuses") or []:
        waiting = (status.get("state") or {}).get("waiting")
        if waiting:
            return "{}{}".format(
                waiting.get("reason", "waiting"), ": " + waiting["message"] if waiting.get("message") else ""
            )
    return str(pod.get("status", {}).get("phase", "unknown"))


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "kubectl": {"type": "list", "elements": "str", "required": True},
            "node": {"type": "str", "required": True},
            "resource": {"type": "str", "default": "nvidia.com/gpu"},
            "wanted": {"type": "int"},
            "state": {"type": "str", "choices": ["enough", "offered"], "default": "offered"},
            "namespace": {"type": "str", "default": "nvidia-device-plugin"},
            "timeout": {"type": "int", "default": 120},
        },
        supports_check_mode=True,
    )
    cluster = Cluster(module)
    result = (enough if module.params["state"] == "enough" else await_offer)(module, cluster)
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
