#!/usr/bin/python
"""Remove several files and directories in one go."""

from __future__ import annotations

import os
import shutil

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: edgectl_remove
short_description: Removes several files and directories in one go
description:
  - What C(ansible.builtin.file) with C(absent) does in a task for each path, this does in one for all.
  - The first path that can't be removed ends the task; the ones before it are gone.
options:
  paths:
    description: Files, links, and directories with all that is in them.
    type: list
    elements: path
    default: []
  emptied:
    description:
      - Directories whose content goes. They go themselves where they are no mount or link (a separate disk, a volume).
      - Other file systems below them are left alone, and end the task.
    type: list
    elements: path
    default: []
  if_empty:
    description: Directories that go where nothing is left in them, in this order.
    type: list
    elements: path
    default: []
attributes:
  check_mode:
    support: full
author: [edgectl]
"""

EXAMPLES = r"""
- name: Files of this role
  edgectl_remove:
    paths: [/etc/edgectl/api-proxy.cfg]
    if_empty: [/etc/edgectl]
"""

RETURN = r"""
removed: {description: Paths that are gone., type: list, elements: str, returned: always}
"""


def remove(path: str) -> None:
    """A file, a link or a whole directory."""
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    else:
        os.unlink(path)


def empty(directory: str) -> None:
    """Remove what is in a directory, up to the first thing that is mounted there."""
    device = os.stat(directory).st_dev
    for entry in list(os.scandir(directory)):
        if not entry.is_dir(follow_symlinks=False):
            os.unlink(entry.path)
        elif os.lstat(entry.path).st_dev == device:
            empty(entry.path)
            os.rmdir(entry.path)
        else:
            raise OSError("something is still mounted at {}".format(entry.path))


def main() -> None:
    paths = {"type": "list", "elements": "path", "default": []}
    module = AnsibleModule(
        argument_spec={"paths": paths, "emptied": paths, "if_empty": paths}, supports_check_mode=True
    )
    asked, acting, removed = module.params, not module.check_mode, []
    try:
        for path in filter(os.path.lexists, asked["paths"]):
            if acting:
                remove(path)
            removed.append(path)
        for path in filter(os.path.isdir, asked["emptied"]):
            stays = os.path.ismount(path) or os.path.islink(path)
            if stays and not os.listdir(path):
                continue
            if acting:
                empty(path)
                if not stays:
                    os.rmdir(path)
            removed.append(path)
        for path in filter(os.path.isdir, asked["if_empty"]):
            if not os.path.ismount(path) and set(os.listdir(path)) <= {os.path.basename(one) for one in removed}:
                if acting:
                    os.rmdir(path)
                removed.append(path)
    except OSError as error:
        module.fail_json(msg=str(error), removed=removed, changed=bool(removed))
    diff = {"before": "".join("{}\n".format(path) for path in removed), "after": ""}
    module.exit_json(changed=bool(removed), removed=removed, diff=diff)


if __name__ == "__main__":
    main()
