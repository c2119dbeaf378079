#!/usr/bin/python
"""Give CRI-O one more runtime by a drop-in file."""

from __future__ import annotations

import os
import shutil

from ansible.module_utils import edgectl_toml as toml
from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.edgectl_containerd import settings
from ansible.module_utils.edgectl_text_files import noted, read, take_away, write

DOCUMENTATION = r"""
module: edgectl_crio_runtime
short_description: Adds a runtime to CRI-O by a drop-in file
description:
  - What C(nvidia-ctk runtime configure --runtime=crio) would write (pkg/config/engine/crio of NVIDIA's container
    toolkit, 2026-11), the options of the default runtime with another program, but in the directory that CRI-O reads.
  - CRI-O itself judges its configuration with the drop-in first (C(crio config)).
  - A runtime of that name which somebody else has configured is left to them where it is the same program, and a
    reason to stop where it is another.
options:
  name: {type: str, default: nvidia, description: "Name of the runtime, the handler of a RuntimeClass."}
  binary: {type: path, description: The program that takes the OCI runtime's place. Needed with C(state=present).}
  default: {type: bool, default: false, description: Whether containers that ask for no runtime get this one.}
  path: {type: path, default: /etc/crio/crio.conf, description: CRI-O's configuration; it need not be there.}
  drop_in:
    description: The file that is written. CRI-O reads all of its directory, by name, later ones last.
    type: path
    default: /etc/crio/crio.conf.d/99-edgectl-nvidia.conf
  state: {type: str, choices: [present, absent], default: present, description: C(absent) removes the drop-in.}
author: edgectl
"""

EXAMPLES = r"""
- name: NVIDIA's runtime
  edgectl_crio_runtime:
    binary: /usr/bin/nvidia-container-runtime
"""

RETURN = r"""
adopted: {description: Whether somebody else configured all of it., type: bool, returned: when state is present}
files: {description: The drop-in where there is one., type: list, elements: str, returned: always}
"""

HEADER = "# Written by edgectl (role nvidia_toolkit): the runtime {}.\n"
RUNTIME = ("crio", "runtime")
RUNTIMES = (*RUNTIME, "runtimes")
# CRI-O's built-in ones, in NVIDIA's order of preference, for hosts whose files name no default.
LOW_LEVEL = ("runc", "crun")


class Refused(Exception):
    """Why the runtime can't be added."""


def effective(texts: "list[str]") -> "dict[tuple[str, ...], str]":
    """Settings of all files, in the order in which CRI-O reads them. A runtime's table replaces an earlier one whole.

    (UpdateFromDropInFile in pkg/config/config.go of CRI-O 1.34 decodes each file over the ones before.)
    """
    found = {}  # type: dict[tuple[str, ...], str]
    for text in texts:
        said = settings(text)
        replaced = {path[:4] for path in said if path[:3] == RUNTIMES}
        found = {path: value for path, value in found.items() if path[:4] not in replaced}
        found.update(said)
    return found


def program_of(found: "dict[tuple[str, ...], str]", name: str) -> "str | None":
    """The program of a runtime; None where no file names the runtime."""
    if not any(path[:4] == (*RUNTIMES, name) for path in found):
        return None
    return (toml.strings(found.get((*RUNTIMES, name, "runtime_path"))) or [""])[0]


def default_of(found: "dict[tuple[str, ...], str]") -> str:
    return (toml.strings(found.get((*RUNTIME, "default_runtime"))) or [""])[0]


def drop_in_text(found: "dict[tuple[str, ...], str]", name: str, binary: str, default: bool) -> str:
    """The drop-in for the settings of all other files; empty where these say everything already."""
    text = ""
    if default and default_of(found) != name:
        text += "\n[crio.runtime]\n  default_runtime = {}\n".format(toml.quoted(name))
    program = program_of(found, name)
    if program is None:
        model = next((one for one in (default_of(found), *LOW_LEVEL) if program_of(found, one) is not None), "")
        options = {path[4]: value for path, value in found.items() if path[:4] == (*RUNTIMES, model) and len(path) == 5}
        options.pop("inherit_default_runtime", None)
        options.update(runtime_path=toml.quoted(binary), runtime_type=toml.quoted("oci"))
        text += "\n[{}]\n".format(toml.written((*RUNTIMES, name)))
        text += "".join("  {} = {}\n".format(toml.written((key,)), value) for key, value in options.items())
    elif program != binary:
        raise Refused(
            "CRI-O has a runtime {} already, {}, not {}: take it out, or leave crio out of "
            "nvidia_toolkit_runtimes".format(name, program or "without a runtime_path", binary)
        )
    return HEADER.format(name) + text if text else ""


def others(module: AnsibleModule) -> "list[str]":
    """The files that CRI-O reads besides ours, in its order."""
    directory = os.path.dirname(module.params["drop_in"])
    found = sorted(os.path.join(parent, name) for parent, _, names in os.walk(directory) for name in names)
    return [
        path for path in [module.params["path"], *found] if os.path.exists(path) and path != module.params["drop_in"]
    ]


def judge(module: AnsibleModule, text: str) -> None:
    """Let CRI-O look at all of its configuration with this drop-in; Refused where it does not like it."""
    crio = module.get_bin_path("crio")
    if not crio:
        return
    drop_in, main = module.params["drop_in"], module.params["path"]
    trial = os.path.join(module.tmpdir, "crio.conf.d")
    if os.path.isdir(os.path.dirname(drop_in)):
        shutil.copytree(os.path.dirname(drop_in), trial)
    write(module, os.path.join(trial, os.path.basename(drop_in)), text, 0o600)
    named = ["--config", main] if os.path.exists(main) else []
    rc, out, err = module.run_command([crio, *named, "--config-dir", trial, "config"])
    shutil.rmtree(trial)
    if rc != 0:
        raise Refused("CRI-O does not accept it: " + ((err or out).strip().splitlines() or ["no reason given"])[-1])


def present(module: AnsibleModule) -> "dict[str, object]":
    what = (module.params["name"], module.params["binary"], module.params["default"])
    drop_in = module.params["drop_in"]
    before = read(drop_in)
    files = others(module)
    after = drop_in_text(effective([read(path) for path in files]), *what)
    if not after:
        return {**absent(module), "adopted": True}
    after = noted(drop_in, after)
    later = [read(path) for path in files if path > drop_in and path != module.params["path"]]
    if what[2] and default_of(effective([after, *later])) not in ("", what[0]):
        raise Refused("a file that CRI-O reads later than {} sets another default_runtime".format(drop_in))
    if after != before:
        judge(module, after)
        if not module.check_mode:
            write(module, drop_in, after, 0o644)
    return {
        "changed": after != before,
        "adopted": False,
        "files": [drop_in],
        "diff": {"before": before, "after": after, "before_header": drop_in},
    }


def absent(module: AnsibleModule) -> "dict[str, object]":
    drop_in = module.params["drop_in"]
    before, there = read(drop_in), os.path.exists(drop_in)
    if there and not module.check_mode:
        take_away(drop_in)
    return {"changed": there, "files": [], "diff": {"before": before, "after": "", "before_header": drop_in}}


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "name": {"type": "str", "default": "nvidia"},
            "binary": {"type": "path"},
            "default": {"type": "bool", "default": False},
            "path": {"type": "path", "default": "/etc/crio/crio.conf"},
            "drop_in": {"type": "path", "default": "/etc/crio/crio.conf.d/99-edgectl-nvidia.conf"},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        },
        required_if=[("state", "present", ("binary",))],
        supports_check_mode=True,
    )
    try:
        result = (present if module.params["state"] == "present" else absent)(module)
    except (Refused, toml.Unsupported) as error:
        module.fail_json(msg="{} was not written: {}".format(module.params["drop_in"], error))
    module.exit_json(**result)


if __name__ == "__main__":
    main()
