#!/usr/bin/python
"""A Secret whose values are made once and never shown."""

from __future__ import annotations

import secrets
import string

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.edgectl_kubectl import Kubectl, KubectlError
from ansible.module_utils.edgectl_workload_objects import labels, secret_name

DOCUMENTATION = r"""
module: edgectl_workload_secret
short_description: Makes a workload's random secrets, once
description:
  - Keys that the Secret has already keep their values. Nothing of them is returned.
options:
  kubectl: {type: list, elements: str, required: true, description: "kubectl, with its options before the verb."}
  name: {type: str, required: true, description: Name of the workload.}
  namespace: {type: str, required: true, description: Where it is; it must be there.}
  keys: {type: list, elements: str, required: true, description: Names of the values., no_log: false}
  typed: {type: str, default: "", description: "The one of them that people type: shorter, letters and digits."}
attributes:
  check_mode: {support: full}
author: edgectl
"""

EXAMPLES = r"""
- name: Key by which Open WebUI signs its sessions
  edgectl_workload_secret:
    kubectl: [kubectl, --kubeconfig, /etc/kubernetes/admin.conf]
    name: open-webui
    namespace: workloads
    keys: [WEBUI_SECRET_KEY]
"""

RETURN = r"""
made: {description: Keys that got a value., type: list, elements: str, returned: always}
"""


# Of 62 signs, 20 of them: 119 bits.
LETTERS = string.ascii_letters + string.digits
LENGTH = 20


def value(*, typed):
    return "".join(secrets.choice(LETTERS) for _ in range(LENGTH)) if typed else secrets.token_urlsafe(32)


def main():
    module = AnsibleModule(
        argument_spec={
            "kubectl": {"type": "list", "elements": "str", "required": True},
            "name": {"type": "str", "required": True},
            "namespace": {"type": "str", "required": True},
            "keys": {"type": "list", "elements": "str", "required": True, "no_log": False},
            "typed": {"type": "str", "default": ""},
        },
        supports_check_mode=True,
    )
    options = module.params
    kubectl, secret = Kubectl(module, options["kubectl"]), secret_name(options["name"])
    try:
        there = kubectl.get("secret", secret, "--namespace", options["namespace"]).get("data", {})
        missing = [key for key in options["keys"] if key not in there]
        if missing and not module.check_mode:
            document = {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": secret, "namespace": options["namespace"], "labels": labels(options["name"])},
                "data": there,
                "stringData": {key: value(typed=key == options["typed"]) for key in missing},
            }
            kubectl.run("apply", "--server-side", "--force-conflicts", "--field-manager=edgectl-workload-secret",
                        "--filename=-", documents=[document])  # fmt: skip
    except KubectlError as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=bool(missing), made=missing)


if __name__ == "__main__":
    main()
