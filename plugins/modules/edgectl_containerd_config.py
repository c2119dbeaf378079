#!/usr/bin/python
"""Make somebody else's containerd usable for Kubernetes by the fewest changes to its config.toml."""

from __future__ import annotations

import hashlib
import json
import os

from ansible.module_utils import edgectl_containerd as containerd
from ansible.module_utils import edgectl_toml as toml
from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.edgectl_text_files import read, write

DOCUMENTATION = r"""
module: edgectl_containerd_config
short_description: Makes an adopted containerd usable for Kubernetes
description:
  - Changes single values of an existing C(config.toml), and only those whose effective value (C(containerd config
    dump), drop-ins included) is not yet right. Comments, order and every other setting stay.
  - The result is checked by containerd itself before it replaces the file. The original is kept next to the record of
    the changes, and C(state=absent) takes exactly these changes back.
options:
  path:
    description: containerd's configuration; made where it does not exist.
    type: path
    default: /etc/containerd/config.toml
  directory:
    description: Where the original and the record of the changes are kept.
    type: path
    default: /var/lib/edgectl/containerd
  enable_cri:
    description: Whether the CRI plugin may be switched on where C(disabled_plugins) names it.
    type: bool
    default: false
  sandbox_image:
    description: Image that holds a pod's namespaces. An image from a registry other than Kubernetes' own is kept.
      Needed with C(state=present).
    type: str
  restrict_oom_score_adj:
    description: Whether containerd must not lower OOM scores, which needs a capability that containers lack.
    type: bool
    default: false
  state:
    description: C(absent) takes our changes back.
    type: str
    choices: [present, absent]
    default: present
author: edgectl
"""

RETURN = r"""
changes: {description: What was changed., type: list, elements: str, returned: always}
cni_bin_dirs:
  description: Directories in which this containerd looks for CNI plugins.
  type: list
  elements: str
  returned: when state is present
"""

KUBERNETES_REGISTRIES = ("registry.k8s.io/", "k8s.gcr.io/")

# Where the settings stand, by the version of the configuration's format.
V2 = containerd.CRI_V2
V3_RUNTIME = containerd.CRI_V3
V3_IMAGES = ("plugins", "io.containerd.cri.v1.images")
PATHS = {
    2: {
        "runtime_type": (*V2, "containerd", "runtimes", "runc", "runtime_type"),
        "systemd_cgroup": (*V2, "containerd", "runtimes", "runc", "options", "SystemdCgroup"),
        "sandbox_image": (*V2, "sandbox_image"),
        "restrict_oom_score_adj": (*V2, "restrict_oom_score_adj"),
        "bin_dirs": (*V2, "cni", "bin_dirs"),
        "bin_dir": (*V2, "cni", "bin_dir"),
    },
    3: {
        "runtime_type": (*V3_RUNTIME, "containerd", "runtimes", "runc", "runtime_type"),
        "systemd_cgroup": (*V3_RUNTIME, "containerd", "runtimes", "runc", "options", "SystemdCgroup"),
        "sandbox_image": (*V3_IMAGES, "pinned_images", "sandbox"),
        "restrict_oom_score_adj": (*V3_RUNTIME, "restrict_oom_score_adj"),
        "bin_dirs": (*V3_RUNTIME, "cni", "bin_dirs"),
        "bin_dir": (*V3_RUNTIME, "cni", "bin_dir"),
    },
}


def paths_of(text: str) -> "dict[str, tuple[str, ...]]":
    return PATHS[3 if containerd.format_of(text) >= 3 else 2]


def effective(text: str, name: str) -> "str | None":
    """A setting's raw value in the output of `containerd config dump`."""
    return toml.get(text, paths_of(text)[name])


Change = "tuple[tuple[str, ...], str]"


def format_changes(text: str, enable_cri: bool) -> "list[Change]":
    """What the file itself must say first: a format that containerd 1.x and 2.x both read, and no CRI switched off.

    Without a version the format is 1, in which plugins go by other names.
    """
    changes = []  # type: list[Change]
    if containerd.format_of(text) < 2:
        if containerd.format_of(text) == 1 or any(item.path[0] == "plugins" for item in toml.statements(text)):
            raise toml.Unsupported(
                "its format is version 1; convert it with `containerd config migrate`, look at the result and put it "
                "in its place"
            )
        changes.append((("version",), "2"))
    disabled = toml.strings(toml.get(text, ("disabled_plugins",)))
    kept = [plugin for plugin in disabled if plugin not in containerd.CRI_PLUGINS]
    if enable_cri and kept != disabled:
        changes.append((("disabled_plugins",), toml.quoted(kept)))
    return changes


def setting_changes(text: str, dump: str, options: "dict[str, object]") -> "list[Change]":
    """Settings whose effective value, the dump's, is not what Kubernetes needs."""
    paths = paths_of(text)
    changes = []  # type: list[Change]
    if effective(dump, "systemd_cgroup") != "true":
        # A runtime that the file names at all must name its type too: containerd 1.x merges no defaults into it.
        if toml.get(text, paths["runtime_type"]) is None:
            changes.append((paths["runtime_type"], toml.quoted("io.containerd.runc.v2")))
        changes.append((paths["systemd_cgroup"], "true"))
    image = (toml.strings(effective(dump, "sandbox_image")) or [""])[0]
    if image != options["sandbox_image"] and (not image or image.startswith(KUBERNETES_REGISTRIES)):
        changes.append((paths["sandbox_image"], toml.quoted(str(options["sandbox_image"]))))
    if options["restrict_oom_score_adj"] and effective(dump, "restrict_oom_score_adj") != "true":
        changes.append((paths["restrict_oom_score_adj"], "true"))
    return changes


def with_changes(text: str, changes: "list[Change]") -> str:
    for path, value in changes:
        text = toml.put(text, path, value)
    return text


class Files:
    """config.toml, the original kept beside our record, and containerd's own opinion of a candidate."""

    def __init__(self, module: AnsibleModule):
        self.module = module
        self.path = module.params["path"]
        self.original = os.path.join(module.params["directory"], "config.toml.original")
        self.record = os.path.join(module.params["directory"], "config.json")

    def dump(self, text: str) -> str:
        """What containerd makes of a configuration, imports of others included."""
        try:
            return containerd.dump(self.module, self.path, text, leave_out=[containerd.RUNTIME_DROP_IN])
        except containerd.Rejected as error:
            return self.module.fail_json(msg="containerd does not accept {}: {}".format(self.path, error))


def present(module: AnsibleModule, files: Files) -> "dict[str, object]":
    before = read(files.path)
    changes = format_changes(before, module.params["enable_cri"])
    text = with_changes(before, changes)
    changes += setting_changes(text, files.dump(text), module.params)
    after = with_changes(before, changes)
    dump = files.dump(after)
    still = setting_changes(after, dump, module.params)
    if still:
        module.fail_json(
            msg="{} sets {}, and something it imports sets it back: {}".format(
                files.path, ".".join(still[0][0]), ", ".join(toml.strings(toml.get(dump, ("imports",))))
            )
        )
    if changes and not module.check_mode:
        record = json.loads(read(files.record) or '{"existed": null, "changes": []}')
        for path, value in changes:
            known = next((change for change in record["changes"] if change["path"] == list(path)), None)
            if known is None:
                record["changes"].append({"path": list(path), "before": toml.get(before, path), "ours": value})
            else:
                known["ours"] = value
        if record["existed"] is None:
            record["existed"] = os.path.exists(files.path)
            write(module, files.original, before, 0o600)
        record["sha256"] = hashlib.sha256(after.encode()).hexdigest()
        write(module, files.record, json.dumps(record, indent=2) + "\n", 0o600)
        mode = os.stat(files.path).st_mode & 0o777 if os.path.exists(files.path) else 0o644
        write(module, files.path, after, mode)
    return {
        "changed": bool(changes),
        "changes": [".".join(path) + " = " + value for path, value in changes],
        "cni_bin_dirs": toml.strings(effective(dump, "bin_dirs")) or toml.strings(effective(dump, "bin_dir")),
        "diff": {"before": before, "after": after, "before_header": files.path},
    }


def absent(module: AnsibleModule, files: Files) -> "dict[str, object]":
    before = read(files.path)
    record = json.loads(read(files.record) or "{}")
    after = before
    if record and hashlib.sha256(before.encode()).hexdigest() == record["sha256"]:
        after = read(files.original)
    else:
        # Somebody has edited the file since: take back only what still has our value.
        for change in reversed(record.get("changes", [])):
            path = tuple(change["path"])
            if toml.get(after, path) == change["ours"]:
                former = change["before"]
                after = toml.drop(after, path) if former is None else toml.put(after, path, former)
    if not module.check_mode:
        if after != before and (after or record["existed"]):
            write(module, files.path, after, os.stat(files.path).st_mode & 0o777)
        elif after != before:
            os.unlink(files.path)
        for path in (files.original, files.record):
            if os.path.exists(path):
                os.unlink(path)
    return {
        "changed": bool(record),
        "changes": [".".join(change["path"]) for change in record.get("changes", [])],
        "diff": {"before": before, "after": after, "before_header": files.path},
    }


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "default": "/etc/containerd/config.toml"},
            "directory": {"type": "path", "default": "/var/lib/edgectl/containerd"},
            "enable_cri": {"type": "bool", "default": False},
            "sandbox_image": {"type": "str"},
            "restrict_oom_score_adj": {"type": "bool", "default": False},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        },
        required_if=[("state", "present", ("sandbox_image",))],
        supports_check_mode=True,
    )
    try:
        result = (present if module.params["state"] == "present" else absent)(module, Files(module))
    except toml.Unsupported as error:
        module.fail_json(msg="{} can't be changed safely: {}".format(module.params["path"], error))
    module.exit_json(**result)


if __name__ == "__main__":
    main()
