#!/usr/bin/python
"""Module edgectl_wireguard_peers: the peers of a WireGuard interface, as one file each."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: edgectl_wireguard_peers
short_description: Peers of a WireGuard interface
description:
  - Keeps one file per peer below C(/etc/wireguard/<interface>.peers) and then has C(wireguard-sync) bring the running
    tunnel in line with them, without restarting it.
  - Does nothing on a host that has no interface of edgectl's yet.
options:
  interface: {description: Name of the interface., type: str, required: true}
  peers:
    description:
      - Entries that must be there. An entry without endpoint keeps the endpoint that its file has, unless its keepalive
        is 0, which says that the peer calls and is not called.
    type: list
    elements: dict
    default: []
    suboptions:
      name: {description: Name of the host or peer., type: str, required: true}
      public_key: {description: Its public key., type: str, required: true}
      allowed_ips: {description: Networks that are reached through it., type: list, elements: str, required: true}
      endpoint: {description: Where it is called, as C(host:port)., type: str, default: ""}
      address: {description: Its tunnel address (not used here)., type: str}
      keepalive: {description: "Instead of O(keepalive), for this peer. 0 sends none.", type: int}
  keepalive: {description: Seconds between keepalive packets., type: int, default: 25}
  known:
    description: All hosts of the inventory, and peers outside of it. When given, entries of others are removed.
    type: list
    elements: str
  forget: {description: Hosts whose entries must go., type: list, elements: str, default: []}
  optional:
    description: For delegated tasks. A host that cannot be reached is left out, with C(told=false).
    type: bool
    default: false
"""

RETURN = r"""
told: {description: Whether the host has a tunnel that knows the entries now., type: bool, returned: always}
done: {description: What was corrected in the running tunnel., type: list, elements: str, returned: always}
"""

CONFIG_DIR = Path("/etc/wireguard")
SYNC = Path("/usr/local/lib/edgectl/wireguard-sync")
ENDPOINT = re.compile(r"^Endpoint = (.+)$", re.MULTILINE)


def entry(peer, keepalive, current):
    """The text of a peer's file."""
    own = peer.get("keepalive")
    known_endpoint = ENDPOINT.search(current or "") if own != 0 else None
    endpoint = peer["endpoint"] or (known_endpoint.group(1) if known_endpoint else "")
    lines = [
        f"# {peer['name']}",
        "[Peer]",
        f"PublicKey = {peer['public_key']}",
        f"AllowedIPs = {', '.join(peer['allowed_ips'])}",
    ]
    if endpoint:
        lines.append(f"Endpoint = {endpoint}")
    # WireGuard shows 0 as `off`, which is also what it takes a missing line for.
    if seconds := keepalive if own is None else own:
        lines.append(f"PersistentKeepalive = {seconds}")
    return "\n".join(lines) + "\n"


def read(directory):
    """{host: text of its file}"""
    return {path.stem: path.read_text() for path in sorted(directory.glob("*.conf"))}


def wanted(current, peers, keepalive, known, forget):
    """{host: text} as it should be."""
    kept = {name: text for name, text in current.items() if name not in forget and (known is None or name in known)}
    kept.update((peer["name"], entry(peer, keepalive, current.get(peer["name"]))) for peer in peers)
    return kept


def write(directory, current, target):
    directory.mkdir(mode=0o700, exist_ok=True)
    for name in current.keys() - target.keys():
        (directory / f"{name}.conf").unlink()
    for name, text in target.items():
        if current.get(name) != text:
            path = directory / f"{name}.conf"
            path.touch(mode=0o600)
            path.write_text(text)


def sync(module, interface):
    """Returns whether the tunnel differed from its files, and what was done about it."""
    command = [str(SYNC), interface] + (["--check"] if module.check_mode else [])
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        module.fail_json(msg=done.stderr.strip() or f"{SYNC} exited with {done.returncode}")
    return done.stdout.strip() == "changed", done.stderr.splitlines()


def main():
    peer_options = {
        "name": {"type": "str", "required": True},
        "public_key": {"type": "str", "required": True, "no_log": False},
        "allowed_ips": {"type": "list", "elements": "str", "required": True},
        "endpoint": {"type": "str", "default": ""},
        "address": {"type": "str"},
        "keepalive": {"type": "int"},
    }
    module = AnsibleModule(
        argument_spec={
            "interface": {"type": "str", "required": True},
            "peers": {"type": "list", "elements": "dict", "default": [], "options": peer_options},
            "keepalive": {"type": "int", "default": 25},
            "known": {"type": "list", "elements": "str"},
            "forget": {"type": "list", "elements": "str", "default": []},
        },
        supports_check_mode=True,
    )
    interface = module.params["interface"]
    directory = CONFIG_DIR / f"{interface}.peers"
    present = (CONFIG_DIR / f"{interface}.interface.conf").exists()
    if not present and not module.check_mode:
        module.exit_json(changed=False, told=False, msg=f"{interface} is not set up here yet")

    current = read(directory)
    target = wanted(
        current, module.params["peers"], module.params["keepalive"], module.params["known"], module.params["forget"]
    )
    changed = current != target
    if changed and not module.check_mode:
        write(directory, current, target)
    done = []
    if present and SYNC.exists():
        differed, done = sync(module, interface)
        changed = changed or differed
    module.exit_json(
        changed=changed,
        told=True,
        diff={"before": "\n".join(current.values()), "after": "\n".join(target[name] for name in sorted(target))},
        done=done,
    )


if __name__ == "__main__":
    main()
