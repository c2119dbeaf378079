#!/usr/bin/python
"""Module edgectl_state: keeps the state file of an inventory. Runs on the controller."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
import time

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.edgectl_allocate import AllocationError, from_document, to_document, update

try:
    import yaml
except ImportError:  # only on a machine that is no controller
    yaml = None

DOCUMENTATION = r"""
module: edgectl_state
short_description: Keep edgectl's state file
description:
  - Writes what edgectl must remember about a lab to C(edgectl.state.yml) in the inventory directory, which Ansible
    reads as one more inventory source.
  - Gives a tunnel address and a pod network to each host that has none, and never changes those that were given.
  - Runs on the controller, with C(delegate_to=localhost), C(run_once=true) and C(become=false).
  - Creates the file on first use, writes it in one piece, and removes it once it would be empty.
options:
  path:
    description: The state file.
    type: path
    required: true
  hosts:
    description:
      - What the hosts of this run report, by name. Keys are C(machine_id), C(wireguard_public_key), C(lan_address)
        and C(ssh_host_keys); those without a value leave the remembered one alone.
    type: dict
    default: {}
  all_hosts:
    description: All hosts of the inventory in its order, which becomes the order of the file.
    type: list
    elements: str
    default: []
  hub:
    description: Hosts that are no nodes, and so get no pod network.
    type: list
    elements: str
    default: []
  wireguard_network:
    description: Network of the tunnel addresses. Empty gives out none.
    type: str
    default: ""
  pod_cidr:
    description: Network of the pods. Empty gives out none.
    type: str
    default: ""
  pod_prefix:
    description: Prefix length of one node's share of O(pod_cidr).
    type: int
    default: 24
  cluster:
    description: Merged into what is remembered about the cluster; a null value removes its key.
    type: dict
    default: {}
  forget:
    description: Hosts to forget, after a reset. Their addresses may then be given to others.
    type: list
    elements: str
    default: []
  peers:
    description:
      - Machines outside the inventory to let into the tunnels, each by its name with its WireGuard public key.
      - A name that has another key already, or is a host's, is refused.
    type: dict
    default: {}
  forget_peers:
    description: Peers to forget. All go with the last host.
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: Remember keys and addresses
  edgectl_state:
    path: "{{ inventory_dir }}/edgectl.state.yml"
    hosts: {nuc1: {machine_id: 0123456789abcdef0123456789abcdef, wireguard_public_key: "base64="}}
    all_hosts: "{{ groups['cluster'] + groups.get('hub', []) }}"
    wireguard_network: 10.200.0.0/24
    pod_cidr: 10.244.0.0/16
  delegate_to: localhost
  run_once: true
  become: false
"""

RETURN = r"""
state:
  description: What is remembered, as C(hosts) and C(peers) (by name) and C(cluster).
  type: dict
  returned: always
"""

HEADER = """\
# Written by edgectl; do not edit. It remembers what was given to each host, and which host is which.
# It holds no secret: commit it together with your inventory.
"""
LOCK_WAIT_SECONDS = 30


@contextlib.contextmanager
def locked(directory):
    """One writer at a time, also over two terminals."""
    os.makedirs(directory, exist_ok=True)
    path = os.path.join(directory, "state.lock")
    with open(path, "w") as lock:
        deadline = time.monotonic() + LOCK_WAIT_SECONDS
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise AllocationError(
                        f"another edgectl has held {path} for more than {LOCK_WAIT_SECONDS} s; wait for it to end"
                    ) from None
                time.sleep(0.1)
        yield


def read(path):
    """The file's text, empty when there is none."""
    try:
        with open(path, encoding="utf-8") as stream:
            return stream.read()
    except FileNotFoundError:
        return ""


def parse(path, text):
    """The state in a file's text."""
    try:
        return from_document(yaml.safe_load(text))
    except (yaml.YAMLError, AttributeError, TypeError, ValueError) as error:
        raise AllocationError(f"{path} cannot be read ({error}); bring back its last version from git") from error


def render(state):
    """The file's text; empty when there is nothing to remember."""
    document = to_document(state)
    return f"{HEADER}---\n{yaml.safe_dump(document, sort_keys=False, width=1000)}" if document else ""


def write(path, text):
    """Replace the file in one step, so that a reader or a power cut sees the old one or the new one."""
    path = os.path.realpath(path)
    directory = os.path.dirname(path)
    if not text:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
    else:
        # Ansible passes over names that start with a dot, should it read the directory at this moment.
        handle, temporary = tempfile.mkstemp(prefix=".edgectl.state.", dir=directory)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                stream.write(text)
                stream.flush()
                os.fchmod(stream.fileno(), 0o644)
                os.fsync(stream.fileno())
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)
            raise
    directory_handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(directory_handle)
    finally:
        os.close(directory_handle)


def run(path, request, check_mode):
    """Bring the file in line with the request; returns (state, text before, text after)."""
    lock = contextlib.nullcontext() if check_mode else locked(os.path.join(os.path.dirname(path), ".edgectl"))
    with lock:
        before = read(path)
        state = update(parse(path, before), request)
        after = render(state)
        if after != before and not check_mode:
            write(path, after)
    return state, before, after


def main():
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "hosts": {"type": "dict", "default": {}},
            "all_hosts": {"type": "list", "elements": "str", "default": []},
            "hub": {"type": "list", "elements": "str", "default": []},
            "wireguard_network": {"type": "str", "default": ""},
            "pod_cidr": {"type": "str", "default": ""},
            "pod_prefix": {"type": "int", "default": 24},
            "cluster": {"type": "dict", "default": {}},
            "forget": {"type": "list", "elements": "str", "default": []},
            "peers": {"type": "dict", "default": {}},
            "forget_peers": {"type": "list", "elements": "str", "default": []},
        },
        supports_check_mode=True,
    )
    if yaml is None:
        module.fail_json(
            msg="the controller's Python has no PyYAML; if the inventory lists localhost, let it use Ansible's Python: "
            "ansible_python_interpreter: '{{ ansible_playbook_python }}'"
        )
    path = module.params["path"]
    try:
        state, before, after = run(path, module.params, module.check_mode)
    except (AllocationError, OSError, ValueError) as error:
        module.fail_json(msg=str(error))
    module.exit_json(
        changed=after != before,
        state=state,
        diff={"before": before, "after": after, "before_header": path, "after_header": path},
    )


if __name__ == "__main__":
    main()
