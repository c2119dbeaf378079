#!/usr/bin/python
"""Keep pods off a node by a taint, and take back only a taint that was ours."""

from __future__ import annotations

import json
import time

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.edgectl_kubectl import Kubectl, KubectlError

DOCUMENTATION = r"""
module: edgectl_node_taint
short_description: A taint of a node
description:
  - A Node's taints are one list to the API, so server-side apply would own those of others too. This adds and takes
    away one of them, in one request with an annotation that says whose it is, and only as long as nobody else has
    changed the node meanwhile.
  - A taint of that key and effect that somebody else has put there does the same, and stays for ever.
  - Runs on a host that has kubectl and may administer the cluster.
options:
  kubectl: {type: list, elements: str, required: true, description: "kubectl, with its options before the verb."}
  node: {type: str, required: true, description: The node.}
  taint: {type: str, required: true, description: "As kubectl writes it: nvidia.com/gpu=present:NoSchedule."}
  state: {type: str, choices: [present, absent], default: present, description: Whether the node is to have it.}
attributes:
  check_mode: {support: full}
author: edgectl
"""

EXAMPLES = r"""
- name: Only pods that want a GPU
  edgectl_node_taint:
    kubectl: [kubectl, --kubeconfig, /etc/kubernetes/admin.conf]
    node: orin1
    taint: nvidia.com/gpu=present:NoSchedule
"""

RETURN = r""""""

ANNOTATION = "edgectl.io/taint"
TRIES = 5
PAUSE_S = 0.5


def patch_for(node: "dict", taint: str, state: str) -> "dict | None":
    """What is to be merged into a Node; None where it is as it should be.

    The API refuses it where the Node is no longer the one that was looked at.
    """
    there = node.get("spec", {}).get("taints") or []
    ours = (node["metadata"].get("annotations") or {}).get(ANNOTATION)
    key, _, rest = taint.partition("=")
    value, _, effect = rest.partition(":")
    if state == "present":
        if any(one["key"] == key and one["effect"] == effect for one in there):
            return None
        taints, mark = [*there, {"key": key, "value": value, "effect": effect}], taint
    elif ours is None:
        return None
    else:
        # One that somebody has given another value since is no longer ours.
        taints, mark = [one for one in there if written(one) != ours], None
    version = node["metadata"]["resourceVersion"]
    return {
        "metadata": {"resourceVersion": version, "annotations": {ANNOTATION: mark}},
        "spec": {"taints": taints},
    }


def written(taint: "dict") -> str:
    return "{}={}:{}".format(taint["key"], taint.get("value", ""), taint["effect"])


def bring_about(module: AnsibleModule, kubectl: Kubectl) -> "dict[str, object]":
    name, state = module.params["node"], module.params["state"]
    for left in reversed(range(TRIES)):
        node = kubectl.get("node", name)
        if not node and state == "present" and not module.check_mode:
            raise KubectlError("there is no such node")
        patch = patch_for(node, module.params["taint"], state) if node else None
        if patch is None or module.check_mode:
            break
        try:
            kubectl.run("patch", "node", name, "--type=merge", "--patch", json.dumps(patch))
            break
        except KubectlError as error:
            # kubelet tells of its node every now and then, in between.
            if "Conflict" not in str(error) or not left:
                raise
            time.sleep(PAUSE_S)
    return {"changed": patch is not None or (not node and state == "present")}


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "kubectl": {"type": "list", "elements": "str", "required": True},
            "node": {"type": "str", "required": True},
            "taint": {"type": "str", "required": True},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        },
        supports_check_mode=True,
    )
    try:
        result = bring_about(module, Kubectl(module, module.params["kubectl"]))
    except KubectlError as error:
        module.fail_json(msg="cannot change the taints of {}: {}".format(module.params["node"], error))
    module.exit_json(**result)


if __name__ == "__main__":
    main()
