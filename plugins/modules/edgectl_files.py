#!/usr/bin/python
"""Put several files and directories in their places in one go."""

from __future__ import annotations

import os
import tempfile

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: edgectl_files
short_description: Puts several files and directories in their places in one go
description:
  - Each task costs a host a connection and the start of a Python program, a quarter of a second and more on a small
    board. What C(ansible.builtin.file), C(copy) and C(template) do in a task for each file, this does in one for all.
  - Files are replaced as a whole (written beside their place, then renamed), so nobody reads half of one.
  - The entries are done in their order. The first that can't be done ends the task; the ones before it stay.
options:
  files:
    description: What must be there.
    type: list
    elements: dict
    required: true
    suboptions:
      path:
        description: Where. Directories that are missing above it are made, with permissions 0755.
        type: path
        required: true
      content:
        description:
          - The whole text of a file, as from C(lookup('ansible.builtin.template', 'name.j2')) or
            C(lookup('ansible.builtin.file', 'name', rstrip=false)). Without it the entry is a directory.
        type: str
      mode:
        description: Permissions, such as C("0644").
        type: str
        required: true
      force:
        description: C(false) leaves a file that is there already as it is.
        type: bool
        default: true
      validate:
        description: A command that must succeed before the file gets its place. C(%s) stands for the new file.
        type: str
  owner:
    description: To whom all of them belong.
    type: str
    default: root
  group:
    description: Their group.
    type: str
    default: root
author: edgectl
"""

EXAMPLES = r"""
- name: Configuration of containerd
  edgectl_files:
    files:
      - {path: /etc/containerd, mode: "0755"}
      - path: /etc/containerd/config.toml
        content: "{{ lookup('ansible.builtin.template', 'config.toml.j2') }}"
        mode: "0644"
        validate: containerd --config %s config dump
  notify: Restart containerd
"""

RETURN = r"""
paths: {description: Those that were changed., type: list, elements: str, returned: always}
"""


class Problem(Exception):
    """Why an entry can't be done."""


def read(path: str) -> "bytes | None":
    """What a file holds; None where there is none, or a link, which is replaced."""
    if os.path.islink(path) or not os.path.exists(path):
        return None
    if os.path.isdir(path):
        raise Problem("{} is a directory, a file belongs there".format(path))
    with open(path, "rb") as stream:
        return stream.read()


def make_parents(path: str) -> None:
    parent = os.path.dirname(path)
    if not os.path.isdir(parent):
        make_parents(parent)
        os.mkdir(parent)
        # Whatever the umask of the session is.
        os.chmod(parent, 0o755)  # noqa: S103 - directories of the system are read by all


def put_directory(module: AnsibleModule, entry: "dict[str, object]") -> "dict[str, object] | None":
    path = str(entry["path"])
    if os.path.isdir(path):
        return None
    if os.path.lexists(path):
        raise Problem("{} is no directory, which belongs there".format(path))
    if not module.check_mode:
        make_parents(path)
        os.mkdir(path, 0o700)
    return {"before_header": path, "before": "", "after": "a directory\n"}


def put_file(module: AnsibleModule, entry: "dict[str, object]") -> "dict[str, object] | None":
    path, content = str(entry["path"]), str(entry["content"]).encode("utf-8", "surrogateescape")
    before = read(path)
    if before == content or (before is not None and not entry["force"]):
        return None
    # A dry run on a fresh host has neither the directory nor the program that would validate.
    if not module.check_mode:
        replace(module, entry, content)
    return {
        "before_header": path,
        "before": (before or b"").decode("utf-8", "replace"),
        "after": content.decode("utf-8", "replace"),
    }


def replace(module: AnsibleModule, entry: "dict[str, object]", content: bytes) -> None:
    path = str(entry["path"])
    make_parents(path)
    handle, temporary = tempfile.mkstemp(prefix=".edgectl.", dir=os.path.dirname(path))
    try:
        with open(handle, "wb") as stream:
            stream.write(content)
        if entry["validate"]:
            command = str(entry["validate"]).replace("%s", temporary)
            code, out, err = module.run_command(command)
            if code != 0:
                raise Problem("{} was not written, `{}` refuses it: {}".format(path, command, (err or out).strip()))
        os.chmod(temporary, int(str(entry["mode"]), 8))
        module.atomic_move(temporary, path, keep_dest_attrs=False)
    finally:
        if os.path.exists(temporary):
            os.unlink(temporary)


def put(module: AnsibleModule, entry: "dict[str, object]") -> "dict[str, object] | None":
    """The difference that was made, None where there was none."""
    put_one = put_directory if entry["content"] is None else put_file
    difference = put_one(module, entry)
    path = os.path.realpath(str(entry["path"]))
    if not os.path.lexists(path):
        return difference
    attributes = {"before": {}, "after": {}}  # type: dict[str, dict[str, object]]
    if not (entry["force"] or difference):
        return None
    changed = module.set_mode_if_different(path, entry["mode"], False, attributes)
    changed = module.set_owner_if_different(path, module.params["owner"], changed, attributes)
    changed = module.set_group_if_different(path, module.params["group"], changed, attributes)
    if difference or not changed:
        return difference
    return {"before_header": str(entry["path"]), "before": attributes["before"], "after": attributes["after"]}


def main() -> None:
    entry = {
        "path": {"type": "path", "required": True},
        "content": {"type": "str"},
        "mode": {"type": "str", "required": True},
        "force": {"type": "bool", "default": True},
        "validate": {"type": "str"},
    }
    module = AnsibleModule(
        argument_spec={
            "files": {"type": "list", "elements": "dict", "required": True, "options": entry},
            "owner": {"type": "str", "default": "root"},
            "group": {"type": "str", "default": "root"},
        },
        supports_check_mode=True,
    )
    differences = []
    try:
        for one in module.params["files"]:
            differences.append(put(module, one))
    except (Problem, OSError) as error:
        made = [one for one in differences if one]
        module.fail_json(msg=str(error), changed=bool(made), diff=made)
    made = [one for one in differences if one]
    module.exit_json(changed=bool(made), paths=[one["before_header"] for one in made], diff=made)


if __name__ == "__main__":
    main()
