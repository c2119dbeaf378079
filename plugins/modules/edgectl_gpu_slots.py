#!/usr/bin/python
"""See to it that a node offers as many GPUs as it should, and that nobody loses one that is in use."""

from __future__ import annotations

import time

from ansible.module_utils import edgectl_gpu_proof as proof
from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.edgectl_gpu_offer import await_offer
from ansible.module_utils.edgectl_gpu_pods import holders
from ansible.module_utils.edgectl_kubectl import Kubectl, KubectlError

DOCUMENTATION = r"""
module: edgectl_gpu_slots
short_description: Awaits the GPUs that a node is to offer, or refuses to take away used ones
description:
  - C(state=enough) fails where pods hold more GPUs than the node is to offer from now on. Nothing is evicted by a
    smaller number, but a pod that starts anew would not be let in again.
  - C(state=offered) waits until the node offers exactly that number, and says what the device plugin said where it does
    not. A device plugin that fails again and again, or whose image cannot be had, is not waited for to the end.
  - Runs on a host that has kubectl and may administer the cluster. Changes nothing.
options:
  kubectl: {type: list, elements: str, required: true, description: "kubectl, with its options before the verb."}
  node: {type: str, required: true, description: The node.}
  resource: {type: str, default: nvidia.com/gpu, description: Name of the resource.}
  wanted: {type: int, description: How many it is to offer; without it any number from 1 on.}
  state: {type: str, choices: [enough, offered], default: offered, description: What to see to.}
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
offered: {description: How many the node offers., type: int, returned: when state is offered}
held: {description: Pods that hold some and how many., type: dict, returned: when state is enough}
"""

POLL_S = 2


def enough(module: AnsibleModule, kubectl: Kubectl) -> "dict[str, object]":
    node, resource, wanted = (module.params[name] for name in ("node", "resource", "wanted"))
    held = holders(kubectl.pods_on(node), node, resource)
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
        )
    return {"held": held}


def offered(module: AnsibleModule, kubectl: Kubectl) -> "dict[str, object]":
    name, resource, wanted, seconds = (module.params[key] for key in ("node", "resource", "wanted", "timeout"))
    start = time.monotonic()
    node, short = await_offer(kubectl, name, wanted, resource, seconds, POLL_S)
    if short is not None:
        evidence = " / ".join(short["evidence"].splitlines())
        module.fail_json(msg="{} after {} s: {}".format(short["what"], round(time.monotonic() - start), evidence))
    return {"offered": proof.offered(node, resource)}


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "kubectl": {"type": "list", "elements": "str", "required": True},
            "node": {"type": "str", "required": True},
            "resource": {"type": "str", "default": "nvidia.com/gpu"},
            "wanted": {"type": "int"},
            "state": {"type": "str", "choices": ["enough", "offered"], "default": "offered"},
            "timeout": {"type": "int", "default": 120},
        },
        supports_check_mode=True,
    )
    kubectl = Kubectl(module, module.params["kubectl"])
    try:
        result = (enough if module.params["state"] == "enough" else offered)(module, kubectl)
    except KubectlError as error:
        module.fail_json(msg="the API does not tell about {}: {}".format(module.params["node"], error))
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
