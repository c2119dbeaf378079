#!/usr/bin/python
"""Keep pods off a node by taints, and take back only those that were ours."""

from __future__ import annotations

import json
import time

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.edgectl_kubectl import Kubectl, KubectlError

DOCUMENTATION = r"""
module: edgectl_node_taint
short_description: Taints of a node
description:
  - A Node's taints are one list to the API, so server-side apply would own those of others too. This adds and takes
    away some of them, in one request with an annotation that says which are whose, and only as long as nobody else has
    changed the node meanwhile.
  - A taint of that key and effect that somebody else has put there does the same, and stays for ever.
  - Runs on a host that has kubectl and may administer the cluster.
options:
  kubectl: {type: list, elements: str, required: true, description: "kubectl, with its options before the verb."}
  node: {type: str, required: true, description: The node.}
  taints:
    description:
      - Those that the node is to have, as kubectl writes them, C(nvidia.com/gpu=present:NoSchedule).
      - Those that it got here before and that are not among them are taken away.
    type: list
    elements: str
    default: []
  annotation:
    description: Where it is written which are ours; a name for each user of this module.
    type: str
    default: edgectl.io/taint
attributes:
  check_mode: {support: full}
author: edgectl
"""

EXAMPLES = r"""
- name: Only pods that want a GPU
  edgectl_node_taint:
    kubectl: [kubectl, --kubeconfig, /etc/kubernetes/admin.conf]
    node: orin1
    taints: [nvidia.com/gpu=present:NoSchedule]
"""

RETURN = r""""""

TRIES = 5
PAUSE_S = 0.5


def patch_for(node: "dict", wanted: "list[str]", annotation: str) -> "dict | None":
    """What is to be merged into a Node; None where it is as it should be.

    The API refuses it where the Node is no longer the one that was looked at.
    """
    there = node.get("spec", {}).get("taints") or []
    ours = ((node["metadata"].get("annotations") or {}).get(annotation) or "").split()
    wanted = [written(parsed(taint)) for taint in wanted]
    # One that somebody has given another value since is no longer ours.
    kept = [one for one in there if written(one) not in ours or written(one) in wanted]
    held = {(one["key"], one["effect"]) for one in kept}
    new = [one for one in map(parsed, wanted) if (one["key"], one["effect"]) not in held]
    mark = [taint for taint in wanted if taint in ours and parsed(taint) in map(plain, kept)] + list(map(written, new))
    if not new and len(kept) == len(there) and mark == ours:
        return None
    version = node["metadata"]["resourceVersion"]
    return {
        "metadata": {"resourceVersion": version, "annotations": {annotation: " ".join(mark) or None}},
        "spec": {"taints": kept + new},
    }


def parsed(taint: str) -> "dict[str, str]":
    """`key=value:effect` or `key:effect`."""
    name, _, effect = taint.rpartition(":")
    key, _, value = name.partition("=")
    return {"key": key, "value": value, "effect": effect}


def plain(taint: "dict") -> "dict[str, str]":
    return parsed(written(taint))


def written(taint: "dict") -> str:
    return "{}={}:{}".format(taint["key"], taint.get("value", ""), taint["effect"])


def bring_about(module: AnsibleModule, kubectl: Kubectl) -> "dict[str, object]":
    name, wanted = module.params["node"], module.params["taints"]
    for left in reversed(range(TRIES)):
        node = kubectl.get("node", name)
        if not node and wanted and not module.check_mode:
            raise KubectlError("there is no such node")
        patch = patch_for(node, wanted, module.params["annotation"]) if node else None
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
    return {"changed": patch is not None or bool(not node and wanted)}


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "kubectl": {"type": "list", "elements": "str", "required": True},
            "node": {"type": "str", "required": True},
            "taints": {"type": "list", "elements": "str", "default": []},
            "annotation": {"type": "str", "default": "edgectl.io/taint"},
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
