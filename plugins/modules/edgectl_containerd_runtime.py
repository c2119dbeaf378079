#!/usr/bin/python
"""Give containerd one more runtime by a drop-in file, and leave every other setting as it is."""

from __future__ import annotations

import fnmatch
import json
import os

from ansible.module_utils import edgectl_toml as toml
from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.edgectl_containerd import (
    CRI_PLUGINS,
    RUNTIME_DROP_IN,
    Rejected,
    cri_table,
    dump,
    format_of,
    settings,
)
from ansible.module_utils.edgectl_text_files import read, write

DOCUMENTATION = r"""
module: edgectl_containerd_runtime
short_description: Adds a runtime to containerd by a drop-in file
description:
  - containerd 2.x merges a drop-in into a plugin's settings; containerd 1.x takes the plugin's whole section from it,
    so there the drop-in repeats the section as it is in force (C(containerd config dump)), with the runtime added.
  - Before it is written, containerd itself is asked what it makes of it, and it is refused when anything else would
    change. (Measured on 1.6.20, 1.7.28, 2.1.5, 2.2.7 and 2.3.4.)
  - A runtime of that name which somebody else has configured, with the same program, is left to them.
options:
  name:
    description: Name of the runtime, the handler of a RuntimeClass.
    type: str
    default: nvidia
  binary:
    description: The program that takes runc's place. Needed with C(state=present).
    type: path
  default:
    description: Whether containers that ask for no runtime get this one.
    type: bool
    default: false
  path:
    description: containerd's configuration.
    type: path
    default: /etc/containerd/config.toml
  drop_in:
    description: The file that is written; an import of it is added where the configuration has none.
    type: path
    default: /etc/containerd/conf.d/50-edgectl-nvidia.toml
  directory:
    description: Where is recorded whether the import is ours.
    type: path
    default: /var/lib/edgectl/containerd
  state:
    description: C(absent) removes drop-in and import.
    type: str
    choices: [present, absent]
    default: present
author: edgectl
"""

EXAMPLES = r"""
- name: NVIDIA's runtime
  edgectl_containerd_runtime:
    binary: /usr/bin/nvidia-container-runtime
"""

RETURN = r"""
adopted: {description: Whether somebody else configured this runtime., type: bool, returned: when state is present}
files: {description: Files that containerd reads because of it., type: list, elements: str, returned: always}
"""

HEADER = """\
# Written by edgectl (role nvidia_toolkit): the runtime {name}.
"""
REPEATED = """\
# containerd 1.x takes the whole section of a plugin from a drop-in: what stands here besides the runtime is what was in
# force. After a change of containerd's configuration run edgectl bootstrap again, which writes this file anew.
"""


def runtime_settings(table: "tuple[str, ...]", name: str, binary: str, systemd_cgroup: str) -> "dict":
    """What makes a runtime: runc's shim with another program."""
    runtime = (*table, "containerd", "runtimes", name)
    return {
        (*runtime, "runtime_type"): toml.quoted("io.containerd.runc.v2"),
        (*runtime, "options", "BinaryName"): toml.quoted(binary),
        (*runtime, "options", "SystemdCgroup"): systemd_cgroup,
    }


def drop_in_text(root: str, base: str, name: str, binary: str, default: bool) -> str:
    """The drop-in for a configuration `root`, whose effective settings without the drop-in are `base`."""
    merges = format_of(base) >= 3
    table = cri_table(root)
    runc = (*cri_table(base), "containerd", "runtimes", "runc", "options", "SystemdCgroup")
    wanted = {} if merges else {path: value for path, value in settings(base).items() if path[: len(table)] == table}
    wanted.update(runtime_settings(table, name, binary, settings(base).get(runc, "false")))
    if default:
        wanted[(*table, "containerd", "default_runtime_name")] = toml.quoted(name)
    return (
        HEADER.format(name=name)
        + ("" if merges else REPEATED)
        + "version = {}\n".format(max(2, format_of(root)))
        + _tables(wanted)
    )


def _tables(wanted: "dict[tuple[str, ...], str]") -> str:
    """Settings as TOML, table by table, the outer ones first."""
    by_table = {}  # type: dict[tuple[str, ...], list[str]]
    for path, value in wanted.items():
        by_table.setdefault(path[:-1], []).append("  {} = {}\n".format(toml.written(path[-1:]), value))
    return "".join(
        "\n[{}]\n{}".format(toml.written(table), "".join(lines)) for table, lines in sorted(by_table.items())
    )


def strangers(base: str, after: str, name: str) -> "list[str]":
    """Settings that differ though they are none of this runtime's."""
    table = cri_table(base)
    ours = (*table, "containerd", "runtimes", name)
    free = {("imports",), (*table, "containerd", "default_runtime_name")}

    def others(text: str) -> "dict[tuple[str, ...], str]":
        return {path: value for path, value in settings(text).items() if path not in free and path[: len(ours)] != ours}

    was, is_now = others(base), others(after)
    return [
        "{}: {} would become {}".format(toml.written(path), was.get(path, "unset"), is_now.get(path, "unset"))
        for path in sorted(set(was) | set(is_now))
        if was.get(path) != is_now.get(path)
    ]


def serves(text: str, name: str, binary: str, default: bool) -> bool:
    """Whether effective settings have the runtime, by this program, with runc's kind of cgroups."""
    table = cri_table(text)
    found = settings(text)
    runtimes = (*table, "containerd", "runtimes")
    chosen = toml.strings(found.get((*table, "containerd", "default_runtime_name")))
    return (
        toml.strings(found.get((*runtimes, name, "options", "BinaryName"))) == [binary]
        and found.get((*runtimes, name, "options", "SystemdCgroup"), "false")
        == found.get((*runtimes, "runc", "options", "SystemdCgroup"), "false")
        and (not default or chosen == [name])
    )


def cri_is_off(effective: str) -> bool:
    """Whether settings in force switch off the plugin that has the runtimes."""
    return bool(set(toml.strings(toml.get(effective, ("disabled_plugins",)))) & set(CRI_PLUGINS))


def present(module: AnsibleModule) -> "dict[str, object]":
    asked = module.params
    path, drop_in = asked["path"], asked["drop_in"]
    what = (asked["name"], asked["binary"], asked["default"])
    root, before = read(path), read(drop_in)
    base = dump(module, path, root, leave_out=[drop_in])
    if cri_is_off(base):
        module.fail_json(
            msg="containerd's CRI plugin is switched off ({}: disabled_plugins), so nobody could use the runtime {}; "
            "role containerd switches it on: containerd_enable_cri: allow".format(path, asked["name"])
        )
    if serves(base, *what):
        # Somebody else's, and right: a drop-in of ours would only be in their way.
        return {**remove(module), "adopted": True, "files": [path]}
    after = drop_in_text(root, base, *what)
    trial = os.path.join(module.tmpdir, "runtime.toml")
    write(module, trial, after, 0o600)
    effective = dump(module, path, root, leave_out=[drop_in], add=[trial])
    spoilt = strangers(base, effective, asked["name"])
    if spoilt or not serves(effective, *what):
        module.fail_json(
            msg="containerd would not take the runtime {} as it is meant, so nothing was changed: {}".format(
                asked["name"], "; ".join(spoilt[:3]) or "it does not show up in `containerd config dump`"
            )
        )
    missing_import = not imports_it(root, path, drop_in)
    directory_was_there = os.path.isdir(os.path.dirname(drop_in))
    if not module.check_mode and after != before:
        write(module, drop_in, after, 0o644)
    if not module.check_mode and missing_import:
        add_import(module, root, directory_was_there)
    return {
        "changed": after != before or missing_import,
        "adopted": False,
        "files": [path, drop_in],
        "diff": {"before": before, "after": after, "before_header": drop_in},
    }


def imports_it(root: str, path: str, drop_in: str) -> bool:
    patterns = toml.strings(toml.get(root, ("imports",)))
    return any(fnmatch.fnmatch(drop_in, os.path.join(os.path.dirname(path), pattern)) for pattern in patterns)


def add_import(module: AnsibleModule, root: str, directory_was_there: bool) -> None:
    """Let the configuration read the drop-in, and remember what it imported before."""
    path = module.params["path"]
    former = toml.get(root, ("imports",))
    patterns = [*toml.strings(former), module.params["drop_in"]]
    record = {
        "before": former,
        "ours": toml.quoted(patterns),
        "existed": os.path.exists(path),
        "directory_was_there": directory_was_there,
    }
    write(module, record_of(module), json.dumps(record) + "\n", 0o600)
    mode = os.stat(path).st_mode & 0o777 if record["existed"] else 0o644
    write(module, path, toml.put(root, ("imports",), record["ours"]), mode)


def record_of(module: AnsibleModule) -> str:
    return os.path.join(module.params["directory"], "runtime-import.json")


def remove(module: AnsibleModule) -> "dict[str, object]":
    path, drop_in = module.params["path"], module.params["drop_in"]
    root, before = read(path), read(drop_in)
    record = json.loads(read(record_of(module)) or "{}")
    after = root
    # Somebody who has edited the list since keeps it, less our file, whose absence would stop nothing.
    if record and toml.get(root, ("imports",)) == record["ours"]:
        former = record["before"]
        after = toml.drop(root, ("imports",)) if former is None else toml.put(root, ("imports",), former)
    if not module.check_mode:
        if after != root and (after.strip() or record["existed"]):
            write(module, path, after, os.stat(path).st_mode & 0o777)
        elif after != root:
            os.unlink(path)
        for file in (drop_in, record_of(module)):
            if os.path.exists(file):
                os.unlink(file)
        place = os.path.dirname(drop_in)
        if record and not record["directory_was_there"] and os.path.isdir(place) and not os.listdir(place):
            os.rmdir(place)
    return {
        "changed": bool(before or record),
        "files": [path],
        "diff": {"before": before, "after": "", "before_header": drop_in},
    }


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "name": {"type": "str", "default": "nvidia"},
            "binary": {"type": "path"},
            "default": {"type": "bool", "default": False},
            "path": {"type": "path", "default": "/etc/containerd/config.toml"},
            "drop_in": {"type": "path", "default": RUNTIME_DROP_IN},
            "directory": {"type": "path", "default": "/var/lib/edgectl/containerd"},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        },
        required_if=[("state", "present", ("binary",))],
        supports_check_mode=True,
    )
    try:
        result = present(module) if module.params["state"] == "present" else remove(module)
    except toml.Unsupported as error:
        module.fail_json(msg="{} can't be changed safely: {}".format(module.params["path"], error))
    except Rejected as error:
        module.fail_json(msg="containerd does not accept {}: {}".format(module.params["path"], error))
    module.exit_json(**result)


if __name__ == "__main__":
    main()
