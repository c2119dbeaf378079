#!/usr/bin/python
"""Set kernel parameters now and at every boot, and know what they were before."""

from __future__ import annotations

import json
import os

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: edgectl_sysctl
short_description: Sets kernel parameters now and at every boot, and can put them back
description:
  - Owns one file below C(/etc/sysctl.d) and applies what differs at once.
  - A parameter that this kernel does not have (its module is not loaded, its feature not built) is left out and
    named in C(skipped).
  - The value that a parameter had before is recorded; C(state=absent) puts it back unless somebody has set another
    value since.
options:
  settings:
    description: Parameters and their values.
    type: dict
    default: {}
  path:
    description: The file that sets them at boot.
    type: path
    required: true
  record:
    description: Where the former values are kept.
    type: path
    required: true
  apply:
    description: Set the running kernel's values too.
    type: bool
    default: true
  state:
    description: C(absent) removes the file and puts the former values back.
    type: str
    choices: [present, absent]
    default: present
author: edgectl
"""

EXAMPLES = r"""
- name: Route between interfaces
  edgectl_sysctl:
    settings: {net.ipv4.ip_forward: 1}
    path: /etc/sysctl.d/90-edgectl.conf
    record: /var/lib/edgectl/machine/sysctl.json
"""

RETURN = r"""
applied: {description: Parameters whose running value was changed., type: list, elements: str, returned: always}
skipped: {description: Parameters that this kernel does not have., type: list, elements: str, returned: always}
"""

# The kernel sets the second one too when the first one changes (inet_forward_change in net/ipv4/devinet.c).
SIDE_EFFECTS = {"net.ipv4.ip_forward": "net.ipv4.conf.all.accept_redirects"}

HEADER = "# Written by edgectl (role machine). Options: machine_sysctls.\n"


def proc_path(key: str) -> str:
    """`net.ipv4.conf.eth0/1.rp_filter` names the interface eth0.1, as sysctl(8) has it."""
    return "/proc/sys/" + key.translate(str.maketrans("./", "/."))


def running(key: str) -> "str | None":
    """The kernel's value, fields separated by one blank; None where there is no such parameter."""
    try:
        with open(proc_path(key), encoding="ascii", errors="replace") as stream:
            return " ".join(stream.read().split())
    except OSError:
        return None


def set_running(module: AnsibleModule, key: str, value: str) -> None:
    try:
        with open(proc_path(key), "w", encoding="ascii") as stream:
            stream.write(value)
    except OSError as error:
        module.fail_json(msg="cannot set {} to {}: {}".format(key, value, error.strerror))


def text(value: object) -> str:
    """YAML's true and false mean 1 and 0 to the kernel."""
    if isinstance(value, bool):
        return str(int(value))
    return " ".join(str(value).split())


def read(path: str) -> str:
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8") as stream:
        return stream.read()


def write(module: AnsibleModule, path: str, content: str, mode: int) -> None:
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    temporary = path + ".edgectl-new"
    with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "w", encoding="utf-8") as stream:
        stream.write(content)
    os.chmod(temporary, mode)
    module.atomic_move(temporary, path)


def present(module: AnsibleModule) -> "dict[str, object]":
    parameters = module.params
    wanted = {key: text(value) for key, value in sorted(parameters["settings"].items())}
    values = {key: running(key) for key in wanted}
    known = {key: value for key, value in wanted.items() if values[key] is not None}
    applied = [key for key, value in known.items() if values[key] != value] if parameters["apply"] else []
    before = read(parameters["path"])
    after = HEADER + "".join("{} = {}\n".format(key, value) for key, value in known.items())

    if not module.check_mode:
        record = json.loads(read(parameters["record"]) or "{}")
        touched = [key for key in applied if key not in record]
        touched += [SIDE_EFFECTS[key] for key in touched if key in SIDE_EFFECTS]
        former = {key: running(key) for key in touched}
        for key in applied:
            set_running(module, key, known[key])
        if touched:
            record.update({key: {"before": former[key], "ours": running(key)} for key in touched})
            write(module, parameters["record"], json.dumps(record, indent=2) + "\n", 0o600)
        if before != after:
            write(module, parameters["path"], after, 0o644)
    return {
        "changed": before != after or bool(applied),
        "applied": applied,
        "skipped": sorted(set(wanted) - set(known)),
        "diff": {"before": before, "after": after, "before_header": parameters["path"]},
    }


def absent(module: AnsibleModule) -> "dict[str, object]":
    parameters = module.params
    before = read(parameters["path"])
    former = json.loads(read(parameters["record"]) or "{}")
    back = {key: value["before"] for key, value in former.items() if running(key) == value["ours"]}
    if not module.check_mode:
        for key, value in back.items():
            set_running(module, key, value)
        for path in (parameters["path"], parameters["record"]):
            if os.path.exists(path):
                os.unlink(path)
    return {
        "changed": bool(before or former),
        "applied": sorted(back),
        "skipped": [],
        "diff": {"before": before, "after": "", "before_header": parameters["path"]},
    }


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "settings": {"type": "dict", "default": {}},
            "path": {"type": "path", "required": True},
            "record": {"type": "path", "required": True},
            "apply": {"type": "bool", "default": True},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        },
        supports_check_mode=True,
    )
    module.exit_json(**(present if module.params["state"] == "present" else absent)(module))


if __name__ == "__main__":
    main()
