"""The watch finds peers again that have moved, or have lost their sessions."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

WG = """#!/bin/sh
case $1-$3 in
show-latest-handshakes) cat "$HERE/handshakes" ;;
set-peer) echo "$*" >>"$HERE/done" ;;
esac
"""
PING = """#!/bin/sh
for last; do :; done
echo "ping $last" >>"$HERE/done"
"""
# The watch sleeps two seconds a round; here it ends after 31 rounds, as many as there are in a minute and a bit.
SLEEP = """#!/bin/sh
echo . >>"$HERE/rounds"
[ "$(wc -l <"$HERE/rounds")" -le 31 ]
"""


@pytest.fixture
def watch(tmp_path: Path, outside: Path) -> Callable[..., list[str]]:
    """Runs the watch of a host for a minute's rounds, given peer -> (endpoint, seconds since its last handshake); gives
    what it set and whom it asked."""

    def run(peers: dict[str, tuple[str, int]] | None = None, host: str = "relay") -> list[str]:
        for name, text in (("wg", WG), ("sleep", SLEEP), ("ping", PING)):
            (tmp_path / name).write_text(text)
            (tmp_path / name).chmod(0o755)
        files = tmp_path / "wg0.peers"
        files.mkdir()
        for key, (endpoint, _) in (peers or {}).items():
            (files / f"{key}.conf").write_text(f"# {key}\n[Peer]\nPublicKey = {key}=\nEndpoint = {endpoint}\n")
        now = int(time.time())
        ages = [f"{key}=\t{now - age}\n" for key, (_, age) in (peers or {}).items()]
        (tmp_path / "handshakes").write_text("".join(ages))
        script = tmp_path / "watch"
        script.write_text((outside / f"{host}.watch").read_text().replace("/etc/wireguard", str(tmp_path)))
        subprocess.run(
            ["sh", str(script), "wg0"],
            env={"PATH": f"{tmp_path}:{os.environ['PATH']}", "HERE": str(tmp_path)},
            check=True,
            timeout=60,
        )
        done = tmp_path / "done"
        return done.read_text().splitlines() if done.exists() else []

    return run


def test_a_silent_peer_with_a_name_is_looked_up_every_half_minute(watch: Callable[..., list[str]]) -> None:
    calls = watch({"one": ("one.example.net:51871", 200), "two": ("two.example.net:51871", 60)})
    assert calls == ["set wg0 peer one= endpoint one.example.net:51871"] * 2


def test_an_address_stays_what_it_is(watch: Callable[..., list[str]]) -> None:
    assert watch({"one": ("192.0.2.1:51871", 999), "two": ("[2001:db8::a]:51871", 999)}) == []


def test_a_spoke_asks_its_hub_every_half_minute_whether_it_still_knows_it(watch: Callable[..., list[str]]) -> None:
    assert watch(host="nuc2") == ["ping 10.200.0.4"] * 2


def test_hosts_that_can_be_called_ask_nobody(mesh: Path) -> None:
    assert 'called=""' in (mesh / "nuc2.watch").read_text()
