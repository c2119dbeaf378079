#!/usr/bin/python
"""Set single values in somebody else's TOML file, and remember what they were."""

from __future__ import annotations

import json
import os

from ansible.module_utils import edgectl_toml as toml
from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.edgectl_text_files import read, write

DOCUMENTATION = r"""
module: edgectl_toml_settings
short_description: Sets single values in a TOML file
description:
  - Comments, order and every other setting stay. What a value was before the first change is recorded, and
    C(state=absent) puts it back, unless somebody has changed it since.
options:
  path: {type: path, required: true, description: The file. It must exist with C(state=present).}
  settings:
    description: Values by their path, such as C(nvidia-container-runtime.mode); a text, a boolean or a number. One that
      is C(null) goes back to what it was.
    type: dict
    default: {}
  record: {type: path, required: true, description: Where the former values are kept.}
  state: {type: str, choices: [present, absent], default: present, description: C(absent) puts all former values back.}
author: edgectl
"""

EXAMPLES = r"""
- name: Devices and libraries by the board's own lists
  edgectl_toml_settings:
    path: /etc/nvidia-container-runtime/config.toml
    settings: {nvidia-container-runtime.mode: csv}
    record: /var/lib/edgectl/nvidia_toolkit/config.json
"""

RETURN = r"""#"""


def with_settings(text: str, wanted: "dict[str, object]", former: "dict[str, dict]") -> "tuple[str, dict[str, dict]]":
    """The file with these settings, and the record with those that are ours: {path: {"before":, "ours":}}.

    A setting that is None, or no longer asked for, is given back.
    """
    record = {}  # type: dict[str, dict]
    asked = {path: json.dumps(value) for path, value in wanted.items() if value is not None}
    for path, known in former.items():
        if path not in asked:
            text = given_back(text, path, known)
    for path, value in asked.items():
        present = toml.get(text, split(path))
        if path in former:
            record[path] = {"before": former[path]["before"], "ours": value}
        elif present != value:
            record[path] = {"before": present, "ours": value}
        if present != value:
            text = toml.put(text, split(path), value)
    return text, record


def given_back(text: str, path: str, known: "dict") -> str:
    """The file with the former value, where ours still stands."""
    if toml.get(text, split(path)) != known["ours"]:
        return text
    return toml.drop(text, split(path)) if known["before"] is None else toml.put(text, split(path), known["before"])


def split(path: str) -> "tuple[str, ...]":
    return tuple(path.split("."))


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "settings": {"type": "dict", "default": {}},
            "record": {"type": "path", "required": True},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        },
        supports_check_mode=True,
    )
    path, record_path = module.params["path"], module.params["record"]
    wanted = module.params["settings"] if module.params["state"] == "present" else {}
    if wanted and not os.path.exists(path) and not module.check_mode:
        module.fail_json(msg="{} is not there".format(path))
    before, former = read(path), json.loads(read(record_path) or "{}")
    try:
        after, record = with_settings(before, wanted, former)
    except toml.Unsupported as error:
        module.fail_json(msg="{} can't be changed safely: {}".format(path, error))
    if not module.check_mode:
        if after != before:
            write(module, path, after, os.stat(path).st_mode & 0o777)
        if record and record != former:
            write(module, record_path, json.dumps(record, indent=2) + "\n", 0o600)
        elif not record and os.path.exists(record_path):
            os.unlink(record_path)
    module.exit_json(changed=after != before, diff={"before": before, "after": after, "before_header": path})


if __name__ == "__main__":
    main()
