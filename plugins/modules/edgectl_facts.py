"""Facts of a host by edgectl's own probe, as `ansible_facts.edgectl`."""

from __future__ import annotations

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.edgectl_probe import probe

DOCUMENTATION = r"""
module: edgectl_facts
short_description: Read the whole state of a host in one go
description:
  - Runs edgectl's probe and returns its document as C(ansible_facts.edgectl).
  - Reads only, needs nothing but Python, and takes a fraction of a second; edgectl's roles decide from these
    facts and gather none of Ansible's own.
  - What can't be read is null, with the reason in C(ansible_facts.edgectl.errors).
options: {}
attributes:
  check_mode:
    support: full
author: [edgectl]
"""

EXAMPLES = r"""
- name: Read the state of every host
  edgectl_facts:
"""

RETURN = r"""
ansible_facts:
  description: The probe's document, under C(edgectl).
  returned: always
  type: dict
"""


def main() -> None:
    module = AnsibleModule(argument_spec={}, supports_check_mode=True)
    module.exit_json(changed=False, ansible_facts={"edgectl": probe()})


if __name__ == "__main__":
    main()
