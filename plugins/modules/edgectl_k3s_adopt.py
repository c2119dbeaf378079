#!/usr/bin/python
"""Takes over a k3s that somebody else installed, and gives it back."""

from __future__ import annotations

import json
import os
import shutil
import stat

from ansible.module_utils import edgectl_k3s_found
from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.edgectl_probe import K3S_ADOPTED, Host, foreign_k3s

DOCUMENTATION = r"""
module: edgectl_k3s_adopt
short_description: Takes over a k3s that somebody else installed, and gives it back
description:
  - Keeps a copy of unit, variables and configuration as they were found, below C(/var/lib/edgectl/adopted), before
    anything of them is changed. O(state=given_back) puts them in their places again and removes what came beside them;
    the copies stay until the caller removes them, after all else, so that it can be done again.
  - Options that edgectl does not write itself go on, in C(config.yaml.d/10-adopted.yaml); lines of the unit about its
    environment in a drop-in of the unit that edgectl writes.
  - Data, token and certificates of the cluster are not touched.
options:
  state: {type: str, choices: [adopted, given_back], default: adopted, description: What to bring about.}
  options: {type: dict, default: {}, description: The options that edgectl writes to config.yaml.}
  managed:
    description: Options of theirs that do not go on, though edgectl may not write them.
    type: list
    elements: str
    default: []
  paths:
    description: Files that edgectl is about to write, besides those of k3s' configuration.
    type: list
    elements: path
    default: []
attributes:
  check_mode:
    support: full
author: edgectl
"""

EXAMPLES = r"""
- name: Their configuration, kept, and what of it goes on
  edgectl_k3s_adopt:
    options: {node-name: nuc1, node-ip: 10.200.0.1}
    paths: [/etc/systemd/system/k3s.service]
"""

RETURN = r"""
begun: {description: Whether it had not been taken over before., type: bool, returned: state is adopted}
unit: {description: The unit file of this k3s., type: str, returned: where one is or was taken over}
kept: {description: Names of the options that go on., type: list, elements: str, returned: state is adopted}
replaced: {description: Names of those that edgectl sets., type: list, elements: str, returned: state is adopted}
"""

KEPT = "/var/lib/edgectl/adopted/files"
OPTIONS = edgectl_k3s_found.CONFIG + ".d/10-adopted.yaml"
WRITTEN_BY = "# Written by edgectl (role k3s): {}\n"


def read(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return None


def write(path, content):
    """Replaces a file as a whole; only root reads it, for it may hold the token. True when it was another before."""
    if read(path) == content:
        return False
    os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
    new = path + ".edgectl-new"
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        file.write(content)
        os.fsync(file.fileno())
    os.replace(new, path)
    return True


def remove(path):
    if not os.path.lexists(path):
        return False
    os.unlink(path)
    return True


def keep(paths):
    """Copies of what is there; which of the paths had nothing."""
    missing = []
    for path in paths:
        if not os.path.exists(path):
            missing.append(path)
            continue
        copy = KEPT + path
        os.makedirs(os.path.dirname(copy), mode=0o700, exist_ok=True)
        shutil.copy2(path, copy)
    return missing


def adopt(module):
    begun = read(K3S_ADOPTED) is not None
    source = Host(KEPT if begun else "/")
    found = edgectl_k3s_found.options(source)
    if found.problems:
        module.fail_json(msg="; ".join(found.problems))
    kept, replaced = edgectl_k3s_found.carried(found, module.params["options"], module.params["managed"])
    wanted = {
        OPTIONS: WRITTEN_BY.format("options of this k3s from before, which go on")
        + "".join("{}: {}\n".format(json.dumps(name), json.dumps(values)) for name, values in sorted(kept.items())),
        found.unit + ".d/10-adopted.conf": WRITTEN_BY.format("variables of this k3s from before, which go on")
        + "".join(line + "\n" for line in ["[Service]", *found.environment_lines]),
    }
    beside = os.path.dirname(OPTIONS) + "/"
    theirs = [path for path in found.config_files if path.startswith(beside) and path != OPTIONS]
    changed = not begun or any(read(path) != content for path, content in wanted.items())
    if not module.check_mode:
        if not begun:
            begin(source, found, {found.unit, edgectl_k3s_found.CONFIG, *wanted, *theirs, *module.params["paths"]})
        for path, content in wanted.items():
            write(path, content)
        for path in theirs:
            remove(path)
    names = sorted(name.rstrip("+") for name in kept)
    module.exit_json(changed=changed, begun=not begun, kept=names, replaced=replaced, unit=found.unit)


def begin(source, found, touched):
    """Copies of all that is about to change, and of what else tells the options; then the record that says so."""
    shutil.rmtree(KEPT, ignore_errors=True)
    os.makedirs(KEPT, mode=0o700)
    os.chmod(os.path.dirname(KEPT), 0o700)
    missing = keep(sorted(touched))
    unit = os.path.basename(found.unit)[: -len(".service")]
    variables = [line.partition("=")[2].lstrip("-").replace("%N", unit) for line in found.environment_lines]
    keep(path for path in [*variables, *found.config_files] if path.startswith("/") and path not in touched)
    directory = os.path.dirname(edgectl_k3s_found.CONFIG)
    mode = stat.S_IMODE(os.stat(directory).st_mode) if os.path.isdir(directory) else None
    record = dict(foreign_k3s(source), adopted=True, missing=missing, touched=sorted(touched), directory_mode=mode)
    write(K3S_ADOPTED, json.dumps(record, indent=2) + "\n")


def give_back(module):
    record = json.loads(read(K3S_ADOPTED) or "null")
    if not record:
        module.exit_json(changed=False)
    if not module.check_mode:
        for path in record["touched"]:
            if path in record["missing"]:
                remove(path)
            else:
                os.makedirs(os.path.dirname(path), exist_ok=True)
                shutil.copy2(KEPT + path, path + ".edgectl-new")
                os.replace(path + ".edgectl-new", path)
        configured = os.path.dirname(edgectl_k3s_found.CONFIG)
        if record["directory_mode"] is not None and os.path.isdir(configured):
            os.chmod(configured, record["directory_mode"])
        # From below; the directory of the configuration stays where it was there before.
        for directory in sorted({os.path.dirname(path) for path in record["missing"]}, reverse=True):
            stays = directory == configured and record["directory_mode"] is not None
            if not stays and os.path.isdir(directory) and not os.listdir(directory):
                os.rmdir(directory)
    module.exit_json(changed=True, unit=record["unit"])


def main():
    module = AnsibleModule(
        argument_spec={
            "state": {"type": "str", "choices": ["adopted", "given_back"], "default": "adopted"},
            "options": {"type": "dict", "default": {}},
            "managed": {"type": "list", "elements": "str", "default": []},
            "paths": {"type": "list", "elements": "path", "default": []},
        },
        supports_check_mode=True,
    )
    {"adopted": adopt, "given_back": give_back}[module.params["state"]](module)


if __name__ == "__main__":
    main()
