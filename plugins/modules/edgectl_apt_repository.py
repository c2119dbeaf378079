#!/usr/bin/python
"""Adds a Debian repository after checking the fingerprint of the key that signs it."""

from __future__ import annotations

import os

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.edgectl_openpgp import dearmor, fingerprints
from ansible.module_utils.urls import fetch_url

DOCUMENTATION = r"""
module: edgectl_apt_repository
short_description: A Debian repository, trusted by its key's fingerprint
description:
  - Fetches the repository's signing key and compares its fingerprint with the one that is expected, before apt gets to
    see either. A key file that holds any other primary key is refused.
  - The key is trusted for this repository alone (C(Signed-By)).
options:
  name: {type: str, required: true, description: Short name of the repository; names its files.}
  url: {type: str, description: Address of the repository.}
  suite: {type: str, default: /, description: Its suite; C(/) for a flat repository.}
  components: {type: list, elements: str, default: [], description: Its components; none for a flat repository.}
  key_url: {type: str, description: Address of the signing key.}
  fingerprint: {type: str, description: Fingerprint of the only key to trust.}
  state: {type: str, choices: [present, absent], default: present, description: What to bring about.}
author: edgectl
"""

EXAMPLES = r"""
- name: Kubernetes' package repository
  edgectl_apt_repository:
    name: kubernetes
    url: https://pkgs.k8s.io/core:/stable:/v1.35/deb/
    key_url: https://pkgs.k8s.io/core:/stable:/v1.35/deb/Release.key
    fingerprint: DE15B14486CD377B9E876E1A234654DA9A296436
"""

RETURN = r"""
files: {description: The files of the repository., type: list, elements: str, returned: always}
"""

KEYRINGS = "/etc/apt/keyrings"
SOURCES = "/etc/apt/sources.list.d"


def source(params, keyring):
    """The repository in apt's deb822 form."""
    lines = ["# Written by edgectl.", "Types: deb", "URIs: " + params["url"], "Suites: " + params["suite"]]
    if params["components"]:
        lines.append("Components: " + " ".join(params["components"]))
    return "\n".join([*lines, "Signed-By: " + keyring, ""])


def key_problem(data, expected):
    """Why this key is not to be trusted; empty when it is the expected one and no other."""
    try:
        found = fingerprints(dearmor(data))
    except (ValueError, IndexError) as error:
        return "it can't be read: %s" % error
    if found != [expected]:
        return "its fingerprint is %s, expected %s" % (" and ".join(found) or "missing", expected)
    return ""


def content(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def write(module, path, data):
    """Replaces the file in one step, so that apt never reads half a key."""
    temporary = path + ".new"
    with open(temporary, "wb") as file:
        file.write(data)
    os.chmod(temporary, 0o644)
    module.atomic_move(temporary, path)


def fetch_key(module):
    response, info = fetch_url(module, module.params["key_url"], timeout=30)
    # A file has no status: the key of a mirror may lie on the host.
    if info["status"] != 200 and not (module.params["key_url"].startswith("file:") and info["status"] is None):
        module.fail_json(
            msg="could not fetch the key of %s from %s: %s"
            % (module.params["name"], module.params["key_url"], info["msg"])
        )
    return response.read()


def present(module, keyring, sources):
    expected = module.params["fingerprint"].replace(" ", "").upper()
    wanted = source(module.params, keyring).encode()
    held = content(keyring)
    key_is_good = held is not None and not key_problem(held, expected)
    if key_is_good and content(sources) == wanted:
        return False
    if module.check_mode:
        return True
    if not key_is_good:
        data = fetch_key(module)
        problem = key_problem(data, expected)
        if problem:
            module.fail_json(
                msg="the key at %s is not the one to trust for %s: %s. Nothing has been changed."
                % (module.params["key_url"], module.params["name"], problem)
            )
        os.makedirs(KEYRINGS, mode=0o755, exist_ok=True)
        write(module, keyring, dearmor(data))
    write(module, sources, wanted)
    module.run_command(
        [
            "apt-get",
            "update",
            "-o",
            "DPkg::Lock::Timeout=600",
            "-o",
            "Dir::Etc::sourcelist=" + sources,
            "-o",
            "Dir::Etc::sourceparts=-",
            "-o",
            "APT::Get::List-Cleanup=0",
        ],
        check_rc=True,
    )
    return True


def absent(module, keyring, sources):
    there = [path for path in (sources, keyring) if os.path.exists(path)]
    if not module.check_mode:
        for path in there:
            os.unlink(path)
    return bool(there)


def main():
    module = AnsibleModule(
        argument_spec={
            "name": {"type": "str", "required": True},
            "url": {"type": "str"},
            "suite": {"type": "str", "default": "/"},
            "components": {"type": "list", "elements": "str", "default": []},
            "key_url": {"type": "str", "no_log": False},
            "fingerprint": {"type": "str"},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        },
        required_if=[("state", "present", ("url", "key_url", "fingerprint"))],
        supports_check_mode=True,
    )
    keyring = os.path.join(KEYRINGS, "edgectl-%s.gpg" % module.params["name"])
    sources = os.path.join(SOURCES, "edgectl-%s.sources" % module.params["name"])
    act = absent if module.params["state"] == "absent" else present
    module.exit_json(changed=act(module, keyring, sources), files=[sources, keyring])


if __name__ == "__main__":
    main()
