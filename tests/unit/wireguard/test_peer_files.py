"""The files of a host's peers: what is kept, what goes, and what a newcomer writes."""

from __future__ import annotations

from typing import Any

from tests.unit.wireguard.content import load

module = load("plugins/modules/edgectl_wireguard_peers.py")
sync = load("roles/wireguard/files/wireguard_sync.py")

NUC2: dict[str, Any] = {
    "name": "nuc2",
    "public_key": "bm90IGEga2V5LCBvbmx5IHRoZSBsb29rIG9mIG9uZSE=",
    "allowed_ips": ["10.200.0.2/32", "10.244.1.0/24"],
    "endpoint": "192.168.1.2:51871",
}
FILE = """\
# nuc2
[Peer]
PublicKey = bm90IGEga2V5LCBvbmx5IHRoZSBsb29rIG9mIG9uZSE=
AllowedIPs = 10.200.0.2/32, 10.244.1.0/24
Endpoint = 192.168.1.2:51871
PersistentKeepalive = 25
"""


def wanted(current: dict[str, str], peers: list[dict[str, Any]], known: list[str] | None, forget: list[str]) -> Any:
    return module.wanted(current, peers, 25, known, forget)


def test_a_peer_is_one_file() -> None:
    assert wanted({}, [NUC2], ["nuc2"], []) == {"nuc2": FILE}


def test_a_host_that_left_the_inventory_is_forgotten() -> None:
    assert wanted({"nuc2": FILE, "gone": "[Peer]"}, [NUC2], ["nuc2"], []) == {"nuc2": FILE}


def test_a_host_whose_state_is_missing_keeps_its_entry_while_the_inventory_names_it() -> None:
    assert wanted({"nuc2": FILE}, [], ["nuc1", "nuc2"], []) == {"nuc2": FILE}


def test_a_newcomer_adds_itself_and_touches_nobody_else() -> None:
    assert wanted({"orin1": "[Peer]"}, [NUC2], None, []) == {"orin1": "[Peer]", "nuc2": FILE}


def test_a_host_that_leaves_takes_only_its_own_entry_along() -> None:
    assert wanted({"orin1": "[Peer]", "nuc2": FILE}, [], None, ["nuc2"]) == {"orin1": "[Peer]"}


def test_a_peer_whose_address_nobody_can_tell_keeps_the_one_it_had() -> None:
    assert wanted({"nuc2": FILE}, [{**NUC2, "endpoint": ""}], ["nuc2"], []) == {"nuc2": FILE}


def test_a_peer_that_calls_loses_the_address_at_which_it_was_called_before() -> None:
    caller = {**NUC2, "endpoint": "", "keepalive": 0}
    assert "Endpoint" not in wanted({"nuc2": FILE}, [caller], ["nuc2"], [])["nuc2"]


def test_a_peer_that_nobody_calls_gets_no_keepalive_and_wireguard_sees_no_difference() -> None:
    laptop = {**NUC2, "name": "laptop", "endpoint": "", "keepalive": 0, "allowed_ips": ["10.200.0.9/32"]}
    text = wanted({}, [laptop], None, [])["laptop"]
    assert "Keepalive" not in text
    # `wg show` prints `off` for it, and a difference would make every run call `wg syncconf`.
    interface = "[Interface]\nAddress = 10.200.0.1/32\nListenPort = 51871\nMTU = 1420\n"
    assert sync.tunnel(interface + text).peers[NUC2["public_key"]].keepalive == "off"
