"""The host's half of edgectl_lock: takes, hands over and releases /run/edgectl.lock, each in one atomic step."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: edgectl_lock
short_description: One run at a time on a host
description:
  - Takes or releases a lock on the host, a file in C(/run) that a reboot removes.
  - A lock that somebody else holds is refused with its owner and age. It is taken over when its run is no longer
    alive, which can only be known for runs from this same controller, and when O(break_lock) is true.
  - With C(tried) the host is probed as well, once the lock is taken, as M(edgectl_facts) does; a lock that somebody
    else holds is then no failure, so that a host is asked once for both.
  - Never reports a change, since it leaves nothing behind. Does nothing in check mode.
options:
  state:
    description: What to do with the lock. Only one's own is released.
    type: str
    choices: [taken, tried, released]
    default: taken
  break_lock:
    description: Take the lock whoever holds it.
    type: bool
    default: false
  cluster:
    description: Name of the cluster, shown to those who are refused.
    type: str
    default: ""
  holder:
    description: With C(taken), who holds the lock by the result of C(tried). Where it is this run, no host is asked.
    type: dict
    default: {}
  path:
    description: The lock's file on the host.
    type: path
    default: /run/edgectl.lock
  record:
    description: Who asks. Set by the action plugin.
    type: dict
    default: {}
  replace:
    description: Id of a holder that is known to be gone, whose lock may be taken over. Set by the action plugin.
    type: str
attributes:
  check_mode:
    support: full
author: [edgectl]
"""

EXAMPLES = r"""
- name: One run at a time on a host
  edgectl_lock:
    state: taken

- name: State of every host, and its lock where that is free
  edgectl_lock:
    state: tried

- name: Let other runs in
  edgectl_lock:
    state: released
"""

RETURN = r"""
ansible_facts: {description: The probe's document under C(edgectl)., returned: with tried, type: dict}
holder:
  description: Who holds the lock now; empty when nobody does.
  returned: always
  type: dict
"""

UNKNOWN_HOLDER = {"owner": "unknown (the file cannot be read)", "id": ""}


def holder_of(path: str) -> dict | None:
    """The record in a lock file; None when there is no lock."""
    try:
        with open(path, encoding="utf-8") as file:
            record = json.load(file)
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        return dict(UNKNOWN_HOLDER)
    return record if isinstance(record, dict) else dict(UNKNOWN_HOLDER)


@contextlib.contextmanager
def one_at_a_time(path: str):
    """Two takers of a stale lock must not both believe that they have replaced it: queue at the directory."""
    directory = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(directory, fcntl.LOCK_EX)
        yield
    finally:
        os.close(directory)


def take(path: str, record: dict, replace: str | None, break_lock: bool) -> dict:
    """Take the lock if it is free, ours, that of `replace`, or to be broken; return who holds it then."""
    with one_at_a_time(path):
        holder = holder_of(path)
        may_take = holder is None or break_lock or (holder.get("id") or "unknown") in (record["id"], replace)
        if not may_take:
            return holder
        partial = f"{path}.{os.getpid()}"
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(record, file)
        os.replace(partial, path)  # whoever reads the lock reads all of it
        return record


def release(path: str, own: str) -> dict:
    """Remove our own lock; return who holds it then."""
    with one_at_a_time(path):
        holder = holder_of(path)
        if holder is not None and holder.get("id") == own:
            os.unlink(path)
            return {}
        return holder or {}


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "state": {"type": "str", "choices": ["taken", "tried", "released"], "default": "taken"},
            "break_lock": {"type": "bool", "default": False},
            "cluster": {"type": "str", "default": ""},
            "holder": {"type": "dict", "default": {}},
            "path": {"type": "path", "default": "/run/edgectl.lock"},
            "record": {"type": "dict", "default": {}},
            "replace": {"type": "str"},
        },
        supports_check_mode=True,
    )
    asked = module.params
    if module.check_mode:
        module.exit_json(changed=False, holder=holder_of(asked["path"]) or {}, **facts(asked["state"]))
    try:
        if asked["state"] == "released":
            holder = release(asked["path"], asked["record"].get("id", ""))
        else:
            holder = take(asked["path"], asked["record"], asked["replace"], asked["break_lock"])
    except OSError as error:
        module.fail_json(msg=f"the lock {asked['path']} cannot be used: {error.strerror}")
    module.exit_json(changed=False, holder=holder, **facts(asked["state"]))


def facts(state: str) -> dict:
    """What module edgectl_facts would say, where it is asked for."""
    if state != "tried":
        return {}
    from ansible.module_utils.edgectl_probe import probe

    return {"ansible_facts": {"edgectl": probe()}}


if __name__ == "__main__":
    main()
