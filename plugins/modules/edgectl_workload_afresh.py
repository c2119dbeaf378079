#!/usr/bin/python
"""Let what could not start be tried again at once."""

from __future__ import annotations

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.edgectl_kubectl import Kubectl, KubectlError
from ansible.module_utils.edgectl_workload_labels import selector
from ansible.module_utils.edgectl_workload_state import is_ready, judge

DOCUMENTATION = r"""
module: edgectl_workload_afresh
short_description: Lets what could not start be tried again at once
description:
  - Deletes pods of a Deployment that are broken, as C(edgectl_workload_ready) finds them, so that others take their
    place. kubelet tries an image again only every five minutes, and what a pod's events say of former tries may have
    been mended.
options:
  kubectl: {type: list, elements: str, required: true, description: "kubectl, with its options before the verb."}
  name: {type: str, required: true, description: Name of the Deployment.}
  namespace: {type: str, required: true, description: Where it is.}
attributes:
  check_mode: {support: full}
author: edgectl
"""

EXAMPLES = r"""
- name: What could not start begins anew
  edgectl_workload_afresh:
    kubectl: [kubectl, --kubeconfig, /etc/kubernetes/admin.conf]
    name: ollama
    namespace: workloads
"""

RETURN = r"""
removed: {description: Pods that were deleted., type: list, elements: str, returned: always}
"""


def broken(kubectl, name, namespace):
    """The pods that keep it from being ready."""
    inside = ("--namespace", namespace)
    deployment = kubectl.get("deployment", name, *inside)
    if not deployment:
        return []
    pods = kubectl.items("pods", *inside, "--selector", selector(name))
    verdict = judge(deployment, pods, kubectl.items("events", *inside))[0]
    return [pod["metadata"]["name"] for pod in pods if verdict == "broken" and not is_ready(pod)]


def main():
    module = AnsibleModule(
        argument_spec={
            "kubectl": {"type": "list", "elements": "str", "required": True},
            "name": {"type": "str", "required": True},
            "namespace": {"type": "str", "required": True},
        },
        supports_check_mode=True,
    )
    kubectl, namespace = Kubectl(module, module.params["kubectl"]), module.params["namespace"]
    try:
        names = broken(kubectl, module.params["name"], namespace)
        if names and not module.check_mode:
            kubectl.run("delete", "pods", *names, "--namespace", namespace, "--ignore-not-found", "--wait=false")
    except KubectlError as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=bool(names), removed=names)


if __name__ == "__main__":
    main()
