#!/usr/bin/python
"""Puts a file with a known sha256 in place, and can take away again what it put there."""

from __future__ import annotations

import hashlib
import json
import os
import shutil

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: edgectl_artifact
short_description: A file from outside the distribution, checked by its sha256
description:
  - Copies O(src) from the controller to O(dest), checking its digest on the controller and again on the host before
    anything is replaced. A digest that differs refuses, and leaves the old file in place.
  - With O(record) the host remembers the file, and keeps the one that stood there before; O(state=absent) then removes
    every file of that record, and puts the earlier ones back. A file that has changed since is left alone.
options:
  src: {type: path, description: The file on the controller.}
  dest: {type: path, description: Where it belongs on the host.}
  sha256: {type: str, description: 'Its digest, 64 hexadecimal digits.'}
  mode: {type: str, default: '0644', description: Its mode.}
  record: {type: str, description: Name of the record, that of the role.}
  state: {type: str, choices: [present, absent], default: present, description: What to bring about.}
  uploaded: {type: path, description: Set by the action plugin, where the file lies after its transfer.}
author: edgectl
"""

EXAMPLES = r"""
- name: kubectl
  edgectl_artifact:
    src: /srv/artifacts/kubernetes/v1.35.4/linux-amd64/kubectl
    dest: /usr/local/bin/kubectl
    sha256: "{{ digest }}"
    mode: "0755"
    record: kubeadm
"""

RETURN = r"""
needed:
  description: Whether the file has still to be transferred.
  type: bool
  returned: state is present
"""

RECORDS = "/var/lib/edgectl/artifacts"


def file_digest(path):
    """The sha256 of a file, in hexadecimal; None when there is no such file."""
    digest = hashlib.sha256()
    try:
        with open(path, "rb") as file:
            for block in iter(lambda: file.read(1 << 20), b""):
                digest.update(block)
    except FileNotFoundError:
        return None
    return digest.hexdigest()


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
    dest, sha256, mode = module.params["dest"], module.params["sha256"].lower(), module.params["mode"]
    uploaded = module.params["uploaded"]
    if file_digest(dest) == sha256:
        changed = module.set_mode_if_different(dest, mode, False)
        module.exit_json(changed=changed, needed=False, dest=dest)
    if not uploaded:
        module.exit_json(changed=True, needed=True, dest=dest)
    seen = file_digest(uploaded)
    if seen != sha256:
        module.fail_json(
            msg="the copy of %s that reached this host is damaged (sha256 %s, expected %s); %s is left as it was"
            % (module.params["src"], seen, sha256, dest)
        )
    if module.params["record"]:
        Record(module.params["record"]).add(dest, sha256)
    module.atomic_move(uploaded, dest)
    module.set_mode_if_different(dest, mode, True)
    module.set_owner_if_different(dest, "root", True)
    module.set_group_if_different(dest, "root", True)
    module.exit_json(changed=True, needed=False, dest=dest)


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
    module = AnsibleModule(
        argument_spec={
            "src": {"type": "path"},
            "dest": {"type": "path"},
            "sha256": {"type": "str"},
            "mode": {"type": "str", "default": "0644"},
            "record": {"type": "str"},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "uploaded": {"type": "path"},
        },
        required_if=[("state", "present", ("src", "dest", "sha256")), ("state", "absent", ("record",))],
        supports_check_mode=True,
    )
    if module.params["state"] == "absent":
        take_away(module)
    put(module)


if __name__ == "__main__":
    main()
