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
