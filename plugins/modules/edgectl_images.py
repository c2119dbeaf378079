#!/usr/bin/python
"""Brings container images to a host that may have no registry in reach, and can take away those that it brought."""

from __future__ import annotations

import json
import os

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.edgectl_digest import file_digest
from ansible.module_utils.edgectl_text_files import read, write

DOCUMENTATION = r"""
module: edgectl_images
short_description: Images for containerd from archives on the controller
description:
  - Imports archives that have an image that containerd lacks, into the namespace that Kubernetes uses. The digest of
    what has arrived is checked on the host before anything is imported.
  - The host remembers which images were not there before; O(state=absent) removes these and no others.
options:
  archives:
    description: The archives.
    type: list
    elements: dict
    default: []
    suboptions:
      src: {type: path, required: true, description: The archive on the controller.}
      sha256: {type: str, required: true, description: 'Its digest, 64 hexadecimal digits.'}
      images: {type: list, elements: str, required: true, description: Names of the images in it.}
  record: {type: str, required: true, description: Name of the record, that of the role.}
  address: {type: path, description: 'Socket of containerd. Without it that of k3s, where k3s runs, or the usual one.'}
  state: {type: str, choices: [present, absent], default: present, description: What to bring about.}
  uploaded: {type: dict, default: {}, description: 'Set by the action plugin: source -> where the archive lies now.'}
attributes:
  check_mode: {support: full}
author: edgectl
"""

EXAMPLES = r"""
- name: Images of the control plane
  edgectl_images:
    archives:
      - src: /srv/artifacts/kubernetes/v1.35.4/linux-amd64/images.tar
        sha256: "{{ digest }}"
        images: [registry.k8s.io/pause:3.10.1]
    record: kubeadm
"""

RETURN = r"""
needed: {description: Sources of archives still to be transferred., type: list, elements: str, returned: always}
images: {description: Images that were imported or removed., type: list, elements: str, returned: always}
damaged: {description: The source of an archive that arrived with another digest., type: str, returned: on that failure}
"""

RECORDS = "/var/lib/edgectl"
ADDRESS = "/run/containerd/containerd.sock"
# k3s has a containerd of its own, and a ctr for it (docs.k3s.io, "Command Line Tools").
K3S, K3S_ADDRESS = "/usr/local/bin/k3s", "/run/k3s/containerd/containerd.sock"


def address(module: AnsibleModule) -> str:
    return module.params["address"] or (K3S_ADDRESS if os.path.exists(K3S_ADDRESS) else ADDRESS)


def program(module: AnsibleModule) -> "list[str]":
    """The command that is ctr here; empty where there is none."""
    if address(module) == K3S_ADDRESS:
        return [K3S, "ctr"] if os.path.exists(K3S) else []
    return ["ctr"] if module.get_bin_path("ctr") else []


def ctr(module: AnsibleModule, *arguments: str) -> "tuple[int, str, str]":
    command = program(module) or ["ctr"]
    return module.run_command([*command, "--address", address(module), "--namespace", "k8s.io", *arguments])


def there(module: AnsibleModule) -> "list[str]":
    """Images that containerd has; a dry run may come before there is a containerd."""
    if module.check_mode and not program(module):
        return []
    rc, out, err = ctr(module, "images", "list", "--quiet")
    if rc != 0 and not module.check_mode:
        module.fail_json(msg="containerd does not tell its images: {}".format(err.strip() or out.strip()))
    return out.splitlines() if rc == 0 else []


def path_of(record: str) -> str:
    return os.path.join(RECORDS, record + "-images.json")


def recorded(record: str) -> "list[str]":
    return json.loads(read(path_of(record)) or "[]")


def remember(module: AnsibleModule, images: "list[str]") -> None:
    record = module.params["record"]
    write(module, path_of(record), json.dumps(sorted({*recorded(record), *images})) + "\n", 0o600)


def present(module: AnsibleModule) -> "dict[str, object]":
    known = there(module)
    lacking = {}
    for archive in module.params["archives"]:
        missing = [image for image in archive["images"] if image not in known]
        if missing:
            lacking[archive["src"]] = missing
    images = sorted(image for missing in lacking.values() for image in missing)
    needed = [source for source in lacking if source not in module.params["uploaded"]]
    if not needed and not module.check_mode:
        for archive in module.params["archives"]:
            if archive["src"] in lacking:
                bring(module, archive, lacking[archive["src"]])
    return {"changed": bool(lacking), "needed": needed, "images": images}


def bring(module: AnsibleModule, archive: "dict", missing: "list[str]") -> None:
    path = module.params["uploaded"][archive["src"]]
    seen, expected = file_digest(path), archive["sha256"].lower()
    if seen != expected:
        module.fail_json(
            msg="the copy of {} that reached this host is damaged (sha256 {}, expected {}); nothing of it was imported"
            "".format(archive["src"], seen, expected),
            damaged=archive["src"],
        )
    # First, so that a run that is killed in between still knows what is ours. What was there before us stays.
    remember(module, missing)
    rc, out, err = ctr(module, "images", "import", path)
    if rc != 0:
        module.fail_json(msg="containerd does not import {}: {}".format(archive["src"], err.strip() or out.strip()))


def absent(module: AnsibleModule) -> "dict[str, object]":
    record = module.params["record"]
    images = recorded(record)
    if os.path.exists(path_of(record)) and not module.check_mode:
        # A containerd that is gone, or an image that somebody else removed, is no reason to stop.
        if images and program(module):
            ctr(module, "images", "remove", *images)
        os.unlink(path_of(record))
    return {"changed": bool(images), "needed": [], "images": images}


def main() -> None:
    archive = {
        "src": {"type": "path", "required": True},
        "sha256": {"type": "str", "required": True},
        "images": {"type": "list", "elements": "str", "required": True},
    }
    module = AnsibleModule(
        argument_spec={
            "archives": {"type": "list", "elements": "dict", "default": [], "options": archive},
            "record": {"type": "str", "required": True},
            "address": {"type": "path"},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "uploaded": {"type": "dict", "default": {}},
        },
        supports_check_mode=True,
    )
    module.exit_json(**(present if module.params["state"] == "present" else absent)(module))


if __name__ == "__main__":
    main()
