#!/usr/bin/python
"""Keep a role's receipt on a host: begun, recorded, or gone."""

from __future__ import annotations

import contextlib
import json
import os
import time

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.edgectl_evidence import RECEIPTS, STAMP, drift, lacking, measure, read_receipts

DOCUMENTATION = r"""
module: edgectl_receipt
short_description: Keeps what a role left on a host, and from which inputs
description:
  - A role calls it first with C(begun), which marks the receipt as C(applying), and last with C(recorded), after its
    handlers have run. A receipt that is found C(applying) tells of an interrupted run.
  - With C(recorded) the host is probed anew, for the roles that come after it.
  - With C(begun) the result says whether an earlier run was interrupted, and what has drifted since.
  - With C(stamped), at the end of a complete run, the host learns the digest of the whole inventory and of edgectl's
    own content, together with the machine that it then was and the receipts that it then had, all finished.
  - The controller's half works out inputs, facts and machine. In check mode, and in runs with tags, nothing is done.
options:
  state:
    description: What to do with the receipt.
    type: str
    choices: [begun, recorded, absent, stamped]
    required: true
  role:
    description: Name of the role. Default is the role that the task is in.
    type: str
  evidence:
    description: What to measure, as module_utils/edgectl_evidence.py describes it.
    type: list
    elements: dict
    default: []
  inputs:
    description: Digest of everything the role's work depends on. Worked out by the controller.
    type: str
    default: ""
  facts:
    description: The facts among the inputs, by their paths in the probe's document. Worked out by the controller.
    type: dict
    default: {}
  machine:
    description: Which machine is stamped. Worked out by the controller.
    type: dict
    default: {}
  stamp:
    description: Where the stamp is kept.
    type: path
    default: /var/lib/edgectl/stamp.json
  directory:
    description: Where receipts are kept.
    type: path
    default: /var/lib/edgectl/receipts
  probe:
    description: With C(recorded), whether the host is probed anew. A host that is only played by a test has no state.
    type: bool
    default: true
attributes:
  check_mode:
    support: full
author: [edgectl]
"""

EXAMPLES = r"""
- name: Receipt
  edgectl_receipt:
    state: recorded
    evidence:
      - file: /etc/containerd/config.toml
      - unit: containerd.service
        after: [/etc/containerd/config.toml]
"""

RETURN = r"""
ansible_facts: {description: The probe's document as the role leaves the host., returned: with recorded, type: dict}
interrupted: {description: Whether an earlier run did not come to its end., returned: with begun, type: bool}
drift: {description: What differs from the recorded evidence., returned: with begun, type: list, elements: str}
"""


def write(module: AnsibleModule, path: str, receipt: dict) -> None:
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    partial = "{}.{}".format(path, os.getpid())
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(receipt, file, indent=1, sort_keys=True)
        file.flush()
        # A host that loses power must not come back with an empty receipt under a full one's name.
        os.fsync(file.fileno())
    os.replace(partial, path)


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "state": {"type": "str", "choices": ["begun", "recorded", "absent", "stamped"], "required": True},
            "role": {"type": "str"},
            "evidence": {"type": "list", "elements": "dict", "default": []},
            "inputs": {"type": "str", "default": "", "no_log": False},
            "facts": {"type": "dict", "default": {}},
            "machine": {"type": "dict", "default": {}},
            "stamp": {"type": "path", "default": STAMP},
            "directory": {"type": "path", "default": RECEIPTS},
            "probe": {"type": "bool", "default": True},
        },
        supports_check_mode=True,
    )
    asked = module.params
    role, path = asked["role"], os.path.join(asked["directory"], "{}.json".format(asked["role"]))
    if module.check_mode:
        module.exit_json(changed=False)
    if asked["state"] == "absent":
        if os.path.exists(path):
            os.unlink(path)
        for directory in (asked["directory"], os.path.dirname(asked["directory"])):
            with contextlib.suppress(OSError):  # somebody else's receipts, or anything else, is still there
                os.rmdir(directory)
        module.exit_json(changed=False)
    if asked["state"] == "stamped":
        found = read_receipts(asked["directory"])
        if all(receipt.get("status") == "done" for receipt in found.values()):
            inputs = {of: receipt["inputs"] for of, receipt in found.items()}
            stamp = {"digest": asked["inputs"], "machine": asked["machine"], "receipts": inputs}
            write(module, asked["stamp"], stamp)
        module.exit_json(changed=False)
    if asked["state"] == "begun":
        former = read_receipts(asked["directory"]).get(role)
        interrupted = former is not None and former.get("status") != "done"
        evidence = former.get("evidence", []) if former else []
        differences = drift(evidence, measure(recorded["item"] for recorded in evidence))
        write(module, path, {"role": role, "status": "applying", "evidence": evidence})
        module.exit_json(changed=False, interrupted=interrupted, drift=differences)
    values = measure(asked["evidence"])
    missing = lacking(asked["evidence"], values)
    if missing:
        module.fail_json(msg="role {} has done its work, but: {}".format(role, "; ".join(missing)), lacking=missing)
    recorded = [{"item": item, "value": value} for item, value in zip(asked["evidence"], values)]
    receipt = {
        "role": role,
        "status": "done",
        "inputs": asked["inputs"],
        "facts": asked["facts"],
        "evidence": recorded,
        "time": int(time.time()),
    }
    write(module, path, receipt)
    module.exit_json(changed=False, **({"ansible_facts": facts_now()} if asked["probe"] else {}))


def facts_now() -> dict:
    """What module edgectl_facts would say now."""
    from ansible.module_utils.edgectl_probe import probe

    return {"edgectl": probe()}


if __name__ == "__main__":
    main()
