"""A silent peer is explained."""

from __future__ import annotations

import pytest

from tests.unit.wireguard.content import load

verify = load("plugins/modules/edgectl_wireguard_verify.py")
PEER = {"name": "nuc2", "public_key": "key", "address": "10.200.0.2", "endpoint": "192.168.1.2:51871"}


@pytest.mark.parametrize(
    ("age", "passing_mtu", "words"),
    [
        (None, 0, "no WireGuard handshake: is UDP to 192.168.1.2:51871 let through"),
        (3600, 0, "the last WireGuard handshake was 3600 s ago"),
        (20, 0, "look at the firewall there"),
        (20, 1400, "set `wireguard_mtu: 1396`"),
    ],
)
def test_the_reason_says_where_to_look(
    monkeypatch: pytest.MonkeyPatch, age: int | None, passing_mtu: int, words: str
) -> None:
    monkeypatch.setattr(verify, "handshakes", lambda _: {} if age is None else {"key": age})
    monkeypatch.setattr(verify, "shown", lambda _interface, _what: [["key", "0", "888"]])
    monkeypatch.setattr(verify, "answers", lambda _address, size, wait=1: size + 28 <= passing_mtu)
    assert words in verify.reason("wg0", PEER, 1420)


@pytest.mark.parametrize(
    ("transfer", "words"),
    [
        ([["other", "0", "0"], ["key", "0", "888"]], "is the tunnel up on nuc2? (888 bytes sent, 0 received)"),
        ([["other", "92", "148"]], "wg0 here does not have it for a peer: is the tunnel up?"),
        ([], "wg0 here does not have it for a peer: is the tunnel up?"),
    ],
)
def test_who_never_met_is_told_by_what_went_to_and_fro(
    monkeypatch: pytest.MonkeyPatch, transfer: list[list[str]], words: str
) -> None:
    monkeypatch.setattr(verify, "shown", lambda _interface, what: transfer if what == "transfer" else [])
    monkeypatch.setattr(verify, "answers", lambda _address, _size, wait=1: False)
    assert words in verify.reason("wg0", PEER, 1420)


def test_a_spoke_that_never_called_its_hub_is_looked_for_at_the_spoke(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify, "handshakes", lambda _: {})
    monkeypatch.setattr(verify, "answers", lambda _address, _size, wait=1: False)
    assert verify.reason("wg0", {**PEER, "endpoint": ""}, 1420).startswith("it has never called: is the tunnel up on")


@pytest.mark.parametrize(
    ("passing_mtu", "words"), [(0, "no answer through relay"), (1400, "set `wireguard_mtu: 1396`")]
)
def test_a_host_behind_the_hub_has_no_handshake_of_its_own(
    monkeypatch: pytest.MonkeyPatch, passing_mtu: int, words: str
) -> None:
    monkeypatch.setattr(verify, "handshakes", lambda _: {})
    monkeypatch.setattr(verify, "answers", lambda _address, size, wait=1: size + 28 <= passing_mtu)
    assert words in verify.reason("wg0", {**PEER, "via": "relay"}, 1420)


class Tunnel:
    """A pair of hosts that miss each other until one of them calls off the beat."""

    def __init__(self, own_key: str) -> None:
        self.own_key = own_key
        self.now = 0.0
        self.met = False
        self.calls: list[float] = []

    def shown(self, _interface: str, what: str) -> list[list[str]]:
        stamp = "1700000000" if self.met else "0"
        return {"public-key": [[self.own_key]], "latest-handshakes": [["key", stamp]], "transfer": [["key", "0", "9"]]}[
            what
        ]

    def answers(self, _address: str, _size: int, wait: int = 1) -> bool:
        self.now += wait
        return self.met

    def run(self, command: list[str], **_: object) -> None:
        if command[0] == verify.SYNC:
            self.calls.append(self.now)
            self.met = True

    def patch(self, monkeypatch: pytest.MonkeyPatch) -> Tunnel:
        monkeypatch.setattr(verify, "shown", self.shown)
        monkeypatch.setattr(verify, "answers", self.answers)
        monkeypatch.setattr(verify.subprocess, "run", self.run)
        monkeypatch.setattr(verify.time, "monotonic", lambda: self.now)
        return self


def test_of_two_hosts_that_missed_each_other_one_calls_again_between_the_beats(monkeypatch: pytest.MonkeyPatch) -> None:
    tunnel = Tunnel(own_key="larger").patch(monkeypatch)
    assert verify.examine("wg0", PEER, 1420, 30.0)["problem"] == ""
    assert tunnel.calls == [verify.OFF_BEAT]


@pytest.mark.parametrize(
    ("own_key", "peer"),
    [("a smaller one", PEER), ("larger", {**PEER, "endpoint": ""}), ("larger", {**PEER, "via": "h"})],
)
def test_the_other_of_them_waits_to_be_called(
    monkeypatch: pytest.MonkeyPatch, own_key: str, peer: dict[str, str]
) -> None:
    tunnel = Tunnel(own_key).patch(monkeypatch)
    assert verify.examine("wg0", peer, 1420, 30.0)["problem"]
    assert tunnel.calls == []


def test_a_peer_with_a_session_keeps_it(monkeypatch: pytest.MonkeyPatch) -> None:
    tunnel = Tunnel(own_key="larger").patch(monkeypatch)
    tunnel.met = True
    verify.call_again("wg0", PEER)
    assert tunnel.calls == []
