#!/usr/bin/python
"""Take a workload out of the cluster."""

from __future__ import annotations

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.edgectl_kubectl import Kubectl, KubectlError
from ansible.module_utils.edgectl_workload_labels import selector

DOCUMENTATION = r"""
module: edgectl_workload_absent
short_description: Takes a workload out of the cluster
description:
  - Deletes its Deployment, Service and Ingress, or its Job, CronJob or Pod, and waits until its pods have ended. A
    namespace of edgectl's goes with the last object in it.
  - What is data stays (claims, the Secret that was generated with it, the node's directory), unless C(purge) says so;
    the directory on the node is the caller's business.
options:
  kubectl: {type: list, elements: str, required: true, description: "kubectl, with its options before the verb."}
  name: {type: str, required: true, description: Name of the workload.}
  namespace: {type: str, required: true, description: Where it is.}
  purge: {type: bool, default: false, description: Whether claims and generated secrets go too.}
attributes:
  check_mode: {support: full}
author: edgectl
"""

EXAMPLES = r"""
- name: Ollama is gone
  edgectl_workload_absent:
    kubectl: [kubectl, --kubeconfig, /etc/kubernetes/admin.conf]
    name: ollama
    namespace: workloads
"""

RETURN = r"""
removed: {description: What was deleted., type: list, elements: str, returned: always}
"""

MANAGED = "app.kubernetes.io/managed-by=edgectl"
KINDS = "ingresses,deployments,services,jobs,cronjobs,pods,configmaps"
DATA = "persistentvolumeclaims,secrets"


def remove(kubectl, options, dry):
    inside = ("--namespace", options["namespace"])
    own = MANAGED + "," + selector(options["name"])
    kinds = KINDS + "," + DATA if options["purge"] else KINDS
    found = kubectl.items(kinds, *inside, "--selector", own)
    # What a Deployment, a Job or a CronJob has made goes with it.
    there = [one for one in found if not one["metadata"].get("ownerReferences")]
    names = ["{}/{}".format(one["kind"].lower(), one["metadata"]["name"]) for one in there]
    if names and not dry:
        # Foreground: the pods end before it is said that they are gone.
        kubectl.run("delete", *names, *inside, "--ignore-not-found", "--cascade=foreground", "--wait", "--timeout=120s")
    namespace = kubectl.get("namespace", options["namespace"])
    ours = namespace and namespace["metadata"].get("labels", {}).get("app.kubernetes.io/managed-by") == "edgectl"
    if ours and not dry and not left(kubectl, inside):
        kubectl.run("delete", "namespace", options["namespace"], "--ignore-not-found", "--wait", "--timeout=120s")
        names.append("namespace/" + options["namespace"])
    return names


def left(kubectl, inside):
    """What keeps a namespace: anything that somebody put there."""
    kinds = KINDS + "," + DATA + ",statefulsets,daemonsets"
    found = kubectl.items(kinds, *inside)
    return [one for one in found if one["metadata"]["name"] != "kube-root-ca.crt"]


def main():
    module = AnsibleModule(
        argument_spec={
            "kubectl": {"type": "list", "elements": "str", "required": True},
            "name": {"type": "str", "required": True},
            "namespace": {"type": "str", "required": True},
            "purge": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    try:
        removed = remove(Kubectl(module, module.params["kubectl"]), module.params, module.check_mode)
    except KubectlError as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=bool(removed), removed=removed)


if __name__ == "__main__":
    main()
