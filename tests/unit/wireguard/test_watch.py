"""The watch asks again for the names of peers that have been silent for long, and leaves all others alone."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

from edgectl import content

WATCH = content.root() / "roles" / "wireguard" / "files" / "wireguard-watch"
WG = """#!/bin/sh
case $1-$3 in
show-latest-handshakes) cat "$HERE/handshakes" ;;
set-peer) echo "$*" >>"$HERE/set" ;;
esac
"""
# The watch sleeps two seconds a round; here it ends after 31 rounds, as many as there are in a minute and a bit.
SLEEP = """#!/bin/sh
echo . >>"$HERE/rounds"
[ "$(wc -l <"$HERE/rounds")" -le 31 ]
"""


def watched(directory: Path, peers: dict[str, tuple[str, int]]) -> list[str]:
    """What the watch sets, given peer -> (endpoint, seconds since its last handshake)."""
    for name, text in (("wg", WG), ("sleep", SLEEP)):
        (directory / name).write_text(text)
        (directory / name).chmod(0o755)
    files = directory / "wg0.peers"
    files.mkdir()
    for key, (endpoint, _) in peers.items():
        (files / f"{key}.conf").write_text(f"# {key}\n[Peer]\nPublicKey = {key}=\nEndpoint = {endpoint}\n")
    now = int(time.time())
    ages = [f"{key}=\t{now - age}\n" for key, (_, age) in peers.items()]
    (directory / "handshakes").write_text("".join(ages))
    script = directory / "watch"
    script.write_text(WATCH.read_text().replace("/etc/wireguard", str(directory)))
    subprocess.run(
        ["sh", str(script), "wg0"],
        env={"PATH": f"{directory}:{os.environ['PATH']}", "HERE": str(directory)},
        check=True,
        timeout=60,
    )
    done = directory / "set"
    return done.read_text().splitlines() if done.exists() else []


def test_a_silent_peer_with_a_name_is_looked_up_every_half_minute(tmp_path: Path) -> None:
    calls = watched(tmp_path, {"relay": ("relay.example.net:51871", 200), "other": ("other.example.net:51871", 60)})
    assert calls == ["set wg0 peer relay= endpoint relay.example.net:51871"] * 2


def test_an_address_stays_what_it_is(tmp_path: Path) -> None:
    assert watched(tmp_path, {"one": ("192.0.2.1:51871", 999), "two": ("[2001:db8::a]:51871", 999)}) == []
