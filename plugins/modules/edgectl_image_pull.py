#!/usr/bin/python
"""Say how far containerd has come with an image that kubelet pulls."""

from __future__ import annotations

import json
import re
import time

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: edgectl_image_pull
short_description: Says how far containerd has come with an image that kubelet pulls
description:
  - A look of some seconds, on the host that pulls. Meant for C(until), so that each try tells how much is there.
  - It pulls as long as the bytes grow. What ends without an image is kubelet's to tell.
  - Changes nothing.
options:
  image: {type: str, required: true, description: The image's reference.}
  seconds: {type: int, default: 20, description: "For how long nothing may grow until it counts as ended."}
attributes:
  check_mode: {support: full}
author: edgectl
"""

EXAMPLES = r"""
- name: Its image is there
  edgectl_image_pull:
    image: docker.io/ollama/ollama:0.23.0
  register: pull
  until: not pull.pulling
  retries: 10000
  delay: 0
"""

RETURN = r"""
pulling: {description: Whether bytes still come., type: bool, returned: always}
msg: {description: How far it is., type: str, returned: always}
"""

# Where kubelet's images are. (containerd, docs/cri/config.md)
NAMESPACE = "k8s.io"
_UNITS = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
POLL_S = 1
# Before the first bytes come the registry is asked; so many looks without any are enough.
LOOKS = 5


def active(listed):
    """Digest -> bytes that have come, from `ctr content active`. (cmd/ctr/commands/content: REF, SIZE, AGE)"""
    found = {}
    for line in listed.splitlines():
        row = re.match(r"\w+-(sha256:[0-9a-f]{64})\s+([\d.]+)\s*([kMGT]?B)\s", line)
        if row:
            found[row.group(1)] = int(float(row.group(2)) * _UNITS[row.group(3)])
    return found


def manifest_of(content, coming, image):
    """The digest of the manifest that names something that comes, from `ctr content ls`; empty where none is known.

    containerd notes on each manifest its parts, and from where it came. (docs/garbage-collection.md,
    docs/content-flow.md)
    """
    lines = [line for line in content.splitlines() if any("gc.ref.content" in line and one in line for one in coming)]
    path = re.sub(r"[:@][^/]*$", "", image).partition("/")[2]
    own = [line for line in lines if re.search(r"distribution\.source\.[^=]+=([^,]*,)*" + re.escape(path), line)]
    return (own or lines or [""])[0].partition("\t")[0].strip()


def progress(layers, content, coming):
    """(bytes that have come, all bytes) of a manifest's layers. Those that are there are listed in `content`."""
    there = {line.partition("\t")[0].strip() for line in content.splitlines()}
    sizes = {layer["digest"]: layer["size"] for layer in layers}
    done = sum(size if digest in there else coming.get(digest, 0) for digest, size in sizes.items())
    return done, sum(sizes.values())


def told(image, coming, ctr):
    """How far it is, in one line."""
    content = ctr("content", "ls")
    manifest = manifest_of(content, coming, image)
    try:
        layers = json.loads(ctr("content", "get", manifest))["layers"] if manifest else []
    except (ValueError, KeyError):
        layers = []
    if not layers:
        return "{:.0f} MB so far of {}".format(sum(coming.values()) / 1e6, image)
    done, total = progress(layers, content, coming)
    percent = done * 100 // max(total, 1)
    return "{:.0f} of {:.0f} MB, {} %, of {}".format(done / 1e6, total / 1e6, percent, image)


def grown(image, seconds, ctr, sleep=time.sleep):
    """(whether it pulls, how far it is): what has grown within some seconds still comes."""
    before = active(ctr("content", "active"))
    for look in range(1, seconds + 1):
        sleep(POLL_S)
        coming = active(ctr("content", "active"))
        if coming != before:
            return True, told(image, coming, ctr)
        if not coming and look >= LOOKS:
            break
    return False, "nothing comes any more of {}".format(image)


def main():
    module = AnsibleModule(
        argument_spec={"image": {"type": "str", "required": True}, "seconds": {"type": "int", "default": 20}},
        supports_check_mode=True,
    )

    def ctr(*arguments):
        rc, out, _ = module.run_command(["ctr", "--namespace", NAMESPACE, *arguments])
        return out if rc == 0 else ""

    pulling, msg = grown(module.params["image"], module.params["seconds"], ctr)
    module.exit_json(changed=False, pulling=pulling, msg=msg)


if __name__ == "__main__":
    main()
