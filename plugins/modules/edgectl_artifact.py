#!/usr/bin/python
"""Puts files with known sha256 in place, and can take away again what it put there."""

from __future__ import annotations

import json
import os
import shutil

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.edgectl_digest import file_digest

DOCUMENTATION = r"""
module: edgectl_artifact
short_description: Files from outside the distribution, checked by their sha256
description:
  - Copies files from the controller to the host where the host lacks them. The digest of what has arrived is checked
    on the host before anything is replaced. One that differs refuses, and leaves the old file in place.
  - With O(record) the host remembers the files, and keeps those that stood there before; O(state=absent) then removes
    every file of that record, and puts the earlier ones back. A file that has changed since is left alone.
options:
  files:
    description: The files.
    type: list
    elements: dict
    default: []
    suboptions:
      src: {type: path, required: true, description: The file on the controller.}
      url: {type: str, default: '', description: 'Where the controller fetches it from, if it is not there yet.'}
      dest: {type: path, required: true, description: Where it belongs on the host.}
      sha256: {type: str, required: true, description: 'Its digest, 64 hexadecimal digits.'}
      mode: {type: str, default: '0644', description: Its mode.}
  record: {type: str, description: Name of the record, that of the role.}
  state: {type: str, choices: [present, absent], default: present, description: What to bring about.}
  uploaded: {type: dict, default: {}, description: 'Set by the action plugin: destination -> where the file lies now.'}
author: edgectl
"""

EXAMPLES = r"""
- name: kubectl
  edgectl_artifact:
    files:
      - src: /srv/artifacts/kubernetes/v1.35.4/linux-amd64/kubectl
        dest: /usr/local/bin/kubectl
        sha256: "{{ digest }}"
        mode: "0755"
    record: kubeadm
"""

RETURN = r"""
needed:
  description: Destinations whose files have still to be transferred.
  type: list
  elements: str
  returned: state is present
damaged: {description: The source of a file that arrived with another digest., type: str, returned: on that failure}
"""

RECORDS = "/var/lib/edgectl/artifacts"


class Record:
    """Which files a role put on this host, with their digests and where the file before each of them is kept."""

    def __init__(self, name):
        self.path = os.path.join(RECORDS, name + ".json")
        self.kept = os.path.join(RECORDS, name)
        self.files = {}
        if os.path.exists(self.path):
            with open(self.path, encoding="utf-8") as file:
                self.files = json.load(file)

    def add(self, dest, sha256):
        earlier = self.files.get(dest, {}).get("earlier")
        if dest not in self.files and os.path.exists(dest):
            self._write()
            os.makedirs(self.kept, mode=0o700, exist_ok=True)
            earlier = os.path.join(self.kept, dest.strip("/").replace("/", "-"))
            shutil.copy2(dest, earlier)
        self.files[dest] = {"sha256": sha256, "earlier": earlier}
        self._write()

    def remove(self):
        """Takes the recorded files away; returns those that are left, because they are no longer ours."""
        left = []
        for dest, entry in self.files.items():
            if file_digest(dest) not in (entry["sha256"], None):
                left.append(dest)
            elif entry["earlier"]:
                shutil.move(entry["earlier"], dest)
            elif os.path.exists(dest):
                os.unlink(dest)
        shutil.rmtree(self.kept, ignore_errors=True)
        os.unlink(self.path)
        if not os.listdir(RECORDS):
            os.rmdir(RECORDS)
        return left

    def _write(self):
        # Directory by directory: a mode given for several holds for the last alone.
        os.makedirs(os.path.dirname(RECORDS), mode=0o700, exist_ok=True)
        os.makedirs(RECORDS, mode=0o700, exist_ok=True)
        with open(self.path + ".new", "w", encoding="utf-8") as file:
            json.dump(self.files, file, indent=2, sort_keys=True)
        os.replace(self.path + ".new", self.path)


def put(module):
    changed, needed = False, []
    for file in module.params["files"]:
        dest, sha256 = file["dest"], file["sha256"].lower()
        uploaded = module.params["uploaded"].get(dest)
        if uploaded:
            replace(module, file, sha256, uploaded)
            changed = True
        elif file_digest(dest) != sha256:
            needed.append(dest)
        else:
            changed = module.set_mode_if_different(dest, file["mode"], changed)
    module.exit_json(changed=changed or bool(needed), needed=needed)


def replace(module, file, sha256, uploaded):
    dest, seen = file["dest"], file_digest(uploaded)
    if seen != sha256:
        module.fail_json(
            msg="the copy of {} that reached this host is damaged (sha256 {}, expected {}); {} is left as it was"
            "".format(file["src"], seen, sha256, dest),
            damaged=file["src"],
        )
    if module.params["record"]:
        Record(module.params["record"]).add(dest, sha256)
    module.atomic_move(uploaded, dest)
    module.set_mode_if_different(dest, file["mode"], True)
    module.set_owner_if_different(dest, "root", True)
    module.set_group_if_different(dest, "root", True)


def take_away(module):
    record = Record(module.params["record"])
    if not record.files:
        module.exit_json(changed=False, files=[])
    files = sorted(record.files)
    left = [] if module.check_mode else record.remove()
    for path in left:
        module.warn("%s is no longer the file that edgectl put there, so it stays" % path)
    module.exit_json(changed=True, files=files, left=left)


def main():
    file = {
        "src": {"type": "path", "required": True},
        "url": {"type": "str", "default": ""},
        "dest": {"type": "path", "required": True},
        "sha256": {"type": "str", "required": True},
        "mode": {"type": "str", "default": "0644"},
    }
    module = AnsibleModule(
        argument_spec={
            "files": {"type": "list", "elements": "dict", "default": [], "options": file},
            "record": {"type": "str"},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "uploaded": {"type": "dict", "default": {}},
        },
        required_if=[("state", "absent", ("record",))],
        supports_check_mode=True,
    )
    if module.params["state"] == "absent":
        take_away(module)
    put(module)


if __name__ == "__main__":
    main()
