#!/usr/bin/python
"""Module edgectl_wireguard_verify: proves that a tunnel carries packets to each peer."""

from __future__ import annotations

import concurrent.futures
import math
import subprocess
import time
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: edgectl_wireguard_verify
short_description: Prove that a WireGuard tunnel carries packets
description:
  - Sends a packet of the tunnel's full size, which must not be fragmented, to every peer, all at once.
  - Fails with the reason for each required peer that does not answer in time; names the others.
  - Where two hosts have called each other at the same moment and both lost the other's answer, one calls once more.
options:
  interface: {description: Name of the interface., type: str, required: true}
  peers:
    description:
      - As from the filter C(edgectl_wireguard_peers). With C(via), the host of that name passes packets on to the peer.
    type: list
    elements: dict
    required: true
  required: {description: Names of the peers that must answer., type: list, elements: str, required: true}
  timeout: {description: Seconds to wait for the required peers., type: int, default: 20}
"""

IP_AND_ICMP_HEADERS = 28
SMALL = 56
# WireGuard renews a session that is in use every 120 s and gives it up after 180 s.
STALE = 180
# Seconds after which a host calls again: a way of two seconds is left its time, and the next beat is as far away.
OFF_BEAT = 2
SYNC = "/usr/local/lib/edgectl/wireguard-sync"
# Below this no IPv4 network goes (RFC 791), so it is where the search for a size that passes begins.
SMALLEST_MTU = 576


def answers(address, size, wait=1):
    """Whether one unfragmented ICMP packet with `size` bytes of payload comes back."""
    command = ["ping", "-n", "-q", "-c", "1", "-W", str(wait), "-M", "do", "-s", str(size), address]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def largest_mtu(address, mtu):
    """The largest packet that reaches the peer, to a precision of 8 bytes, as a multiple of 4."""
    low, high = SMALLEST_MTU, mtu
    while high - low > 8:
        middle = (low + high) // 2
        if answers(address, middle - IP_AND_ICMP_HEADERS):
            low = middle
        else:
            high = middle
    return low - low % 4


def shown(interface, what):
    """The fields of each line of `wg show INTERFACE WHAT`; none where the interface has gone."""
    done = subprocess.run(["wg", "show", interface, what], capture_output=True, text=True, check=False)
    return [line.split("\t") for line in done.stdout.splitlines()]


def handshakes(interface):
    """{public key: age of the last handshake in seconds}, without peers that never had one."""
    pairs = shown(interface, "latest-handshakes")
    return {key: int(time.time()) - int(stamp) for key, stamp in pairs if stamp != "0"}


def never_met(interface, peer):
    """What is wrong where a peer that this host calls has never shaken hands with it."""
    name, where = peer["name"], peer["endpoint"]
    transfer = {key: (int(received), int(sent)) for key, received, sent in shown(interface, "transfer")}
    if peer["public_key"] not in transfer:
        look = f"`sudo systemctl status wg-quick@{interface}`"
        return f"{interface} here does not have it for a peer: is the tunnel up? {look}"
    received, sent = transfer[peer["public_key"]]
    question = f"is UDP to {where} let through, and is the tunnel up on {name}?"
    return f"no WireGuard handshake: {question} ({sent} bytes sent, {received} received)"


def handshake_problem(interface, peer, reaches):
    """What is wrong with the way to a peer that this host talks to directly; empty when small packets get through."""
    name, where = peer["name"], peer.get("endpoint")
    age = handshakes(interface).get(peer["public_key"])
    if age is None and not where:
        return f"it has never called: is the tunnel up on {name}, and is UDP from there to this host let through?"
    if age is None:
        return never_met(interface, peer)
    if age > STALE:
        return f"the last WireGuard handshake was {age} s ago: is {name} up, and its tunnel?"
    if not reaches:
        return f"handshake {age} s ago, but {peer['address']} does not answer a ping: look at the firewall there"
    return ""


def reason(interface, peer, mtu):
    """Why a peer is silent, in words that say where to look."""
    via = peer.get("via")
    reaches = answers(peer["address"], SMALL)
    if via and not reaches:
        return f"no answer through {via}: is the tunnel up on {peer['name']}, and does {via} reach it?"
    if not via and (problem := handshake_problem(interface, peer, reaches)):
        return problem
    passing = largest_mtu(peer["address"], mtu)
    return f"packets of {mtu} bytes do not get through, of {passing} they do: set `wireguard_mtu: {passing}`"


def calls_again(interface, peer):
    """Whether the two have never met, and it is for this host, not for the peer, to call again."""
    if peer.get("via") or not peer.get("endpoint") or peer["public_key"] in handshakes(interface):
        return False
    own = shown(interface, "public-key")
    return bool(own) and own[0][0] > peer["public_key"]


def call_again(interface, peer):
    """Have one of two hosts that have never met call the other now, off their beat.

    A host that is called while it waits for an answer answers itself, and takes no answer to its own call any more
    (drivers/net/wireguard/noise.c: consume_response wants the state that consume_initiation has overwritten). Two whose
    tunnels start at the same moment miss each other so, and perhaps again with every further try, since both make it
    5 s later (Rekey-Timeout). The longer packets take, the likelier (tests/bench/test_tunnel.py).
    """
    if calls_again(interface, peer):
        subprocess.run(["wg", "set", interface, "peer", peer["public_key"], "remove"], capture_output=True, check=False)
        subprocess.run([SYNC, interface], capture_output=True, check=False)


def examine(interface, peer, mtu, deadline):
    """A peer's row of the result; `problem` is empty when a packet of full size came back before the deadline."""
    call_at = time.monotonic() + OFF_BEAT
    while True:
        if answers(peer["address"], mtu - IP_AND_ICMP_HEADERS):
            problem = ""
            break
        now = time.monotonic()
        if now >= deadline:
            problem = reason(interface, peer, mtu)
            break
        if now >= call_at:
            call_again(interface, peer)
            call_at = math.inf
    return {"name": peer["name"], "address": peer["address"], "problem": problem}


def main():
    module = AnsibleModule(
        argument_spec={
            "interface": {"type": "str", "required": True},
            "peers": {"type": "list", "elements": "dict", "required": True},
            "required": {"type": "list", "elements": "str", "required": True},
            "timeout": {"type": "int", "default": 20},
        },
    )
    interface, peers, required = (module.params[name] for name in ("interface", "peers", "required"))
    mtu_file = Path("/sys/class/net", interface, "mtu")
    if not mtu_file.exists():
        module.fail_json(msg=f"The interface {interface} does not exist.")
    mtu = int(mtu_file.read_text())

    now = time.monotonic()
    deadlines = [now + (module.params["timeout"] if peer["name"] in required else 0) for peer in peers]
    with concurrent.futures.ThreadPoolExecutor(max_workers=32) as pool:
        rows = list(pool.map(lambda peer, deadline: examine(interface, peer, mtu, deadline), peers, deadlines))
    silent = [row for row in rows if row["problem"]]
    missing = [row for row in silent if row["name"] in required]
    result = {
        "changed": False,
        "peers": rows,
        "answering": [row["name"] for row in rows if not row["problem"]],
        "silent": [row["name"] for row in silent],
    }
    if missing:
        module.fail_json(msg="; ".join(f"{row['name']}: {row['problem']}" for row in missing), **result)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
