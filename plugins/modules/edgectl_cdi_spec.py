#!/usr/bin/python
"""Describe a host's GPUs to container engines by a CDI specification that NVIDIA's own program makes."""

from __future__ import annotations

import os

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.edgectl_text_files import noted, read, take_away, write

DOCUMENTATION = r"""
module: edgectl_cdi_spec
short_description: Describes a host's GPUs by a CDI specification
description:
  - Writes what C(nvidia-ctk cdi generate) says, anew wherever that has changed, as after an upgrade of the driver.
  - A file that somebody else has put there stays as it is.
options:
  path: {type: path, default: /etc/cdi/nvidia.yaml, description: The file. Engines read C(/etc/cdi).}
  mode: {type: str, default: auto, description: "How C(nvidia-ctk) finds devices, such as C(csv) on a Jetson."}
  state: {type: str, choices: [present, absent], default: present, description: C(absent) removes a file of ours.}
author: edgectl
"""

EXAMPLES = r"""
- name: For podman run --device nvidia.com/gpu=all
  edgectl_cdi_spec:
    mode: csv
"""

RETURN = r"""
ours: {description: Whether the file is ours., type: bool, returned: always}
"""

HEADER = "# Written by edgectl (role nvidia_toolkit), from nvidia-ctk cdi generate --mode={}\n"


def generated(module: AnsibleModule) -> str:
    """The specification of this host's GPUs."""
    command = ["nvidia-ctk", "--quiet", "cdi", "generate", "--mode=" + module.params["mode"]]
    rc, out, err = module.run_command(command)
    if rc != 0 or "cdiVersion" not in out:
        reason = ((err or out).strip().splitlines() or ["it says nothing"])[-1]
        module.fail_json(
            msg="{} fails: {}. Mend that, or do without CDI: nvidia_toolkit_cdi: false".format(
                " ".join(command), reason
            )
        )
    return HEADER.format(module.params["mode"]) + str(out)


def is_same(before: str, after: str) -> bool:
    """Whether two specifications say the same: toolkit 1.16.2 puts links in another order each time.

    (It ranges over a Go map in internal/lookup/symlinks.go; 1.17.8 does not.)
    """
    return sorted(before.splitlines()) == sorted(after.splitlines())


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "default": "/etc/cdi/nvidia.yaml"},
            "mode": {"type": "str", "default": "auto"},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        },
        supports_check_mode=True,
    )
    path, state = module.params["path"], module.params["state"]
    before, there = read(path), os.path.exists(path)
    if there and not before.startswith(HEADER.partition(",")[0]):
        module.exit_json(changed=False, ours=False)
    after = noted(path, generated(module)) if state == "present" else ""
    if is_same(before, after):
        after = before
    if not module.check_mode and state == "present" and after != before:
        write(module, path, after, 0o644)
    if not module.check_mode and state == "absent" and there:
        take_away(path)
    module.exit_json(
        changed=after != before,
        ours=state == "present",
        diff={"before": before, "after": after, "before_header": path},
    )


if __name__ == "__main__":
    main()
