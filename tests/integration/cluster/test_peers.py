"""`edgectl peer` with real Ansible on hosts that are this machine: state file and configuration file."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from edgectl.inventory import state
from tests.unit.cli.conftest import Answer
from tests.unit.cluster.enrolled import host, network_play

Edgectl = Callable[..., Answer]
Write = Callable[[str], None]


def remembered(lab: Path) -> dict[str, state.PeerState]:
    return dict(state.read(lab / "edgectl.state.yml").peers)


def sections(text: str) -> list[dict[str, str]]:
    found: list[dict[str, str]] = []
    for line in text.splitlines():
        if line.startswith("["):
            found.append({})
        elif " = " in line:
            key, _, value = line.partition(" = ")
            found[-1][key] = value
    return found


def test_a_peer_gets_an_address_and_a_configuration_with_every_node_and_its_pods(edgectl: Edgectl, lab: Path) -> None:
    answer = edgectl("peer", "add", "laptop", "-i", lab)
    assert answer.code == 0, answer.out + answer.err
    file = Path("laptop.conf")
    assert file.stat().st_mode & 0o777 == 0o600
    own, *nodes = sections(file.read_text())
    assert (own["Address"], own["MTU"]) == ("10.200.0.4/32", "1420")
    assert [node["AllowedIPs"] for node in nodes] == [f"10.200.0.{n}/32, 10.244.{n}.0/24" for n in (1, 2, 3)]
    assert [node["Endpoint"] for node in nodes] == [f"10.0.0.{n}:51871" for n in (1, 2, 3)]
    assert nodes[0]["PublicKey"] == host(1)["edgectl_state"]["wireguard_public_key"]
    assert "laptop is 10.200.0.4" in answer.out


def test_the_private_key_is_in_the_file_and_nowhere_else(edgectl: Edgectl, lab: Path, tmp_path: Path) -> None:
    answer = edgectl("peer", "add", "laptop", "-i", lab)
    private = sections(Path("laptop.conf").read_text())[0]["PrivateKey"]
    public = X25519PrivateKey.from_private_bytes(base64.b64decode(private)).public_key().public_bytes_raw()
    assert remembered(lab)["laptop"] == state.PeerState(base64.b64encode(public).decode(), "10.200.0.4")
    assert private not in answer.out + answer.err
    written = [path for path in tmp_path.rglob("*") if path.is_file() and path.name != "laptop.conf"]
    assert any(path.name == "edgectl.state.yml" for path in written)
    assert [path for path in written if private in path.read_text(errors="replace")] == []


def test_a_second_peer_gets_the_next_address_and_a_removed_one_is_forgotten(edgectl: Edgectl, lab: Path) -> None:
    edgectl("peer", "add", "laptop", "-i", lab)
    assert edgectl("peer", "add", "phone", "-i", lab, "-o", "p.conf", "--qr").code == 0
    assert sections(Path("p.conf").read_text())[0]["Address"] == "10.200.0.5/32"
    answer = edgectl("peer", "remove", "laptop", "-i", lab)
    assert answer.code == 0
    assert "laptop is no peer any more." in answer.out
    assert list(remembered(lab)) == ["phone"]
    unknown = edgectl("peer", "remove", "laptop", "-i", lab)
    assert unknown.code == 2
    assert "edgectl.state.yml has: phone" in unknown.err


def test_variables_of_the_command_line_count_as_in_a_bootstrap(edgectl: Edgectl, lab: Path) -> None:
    answer = edgectl("peer", "add", "laptop", "-i", lab, "-e", "wireguard_port=51999")
    assert answer.code == 0, answer.out + answer.err
    assert "Endpoint = 10.0.0.1:51999" in Path("laptop.conf").read_text()
    assert edgectl("peer", "remove", "laptop", "-i", lab, "-e", "wireguard_network=10.99.0.0/24").code == 1


def test_a_repeated_add_is_refused_with_the_command_that_makes_a_new_key(edgectl: Edgectl, lab: Path) -> None:
    edgectl("peer", "add", "laptop", "-i", lab)
    before = remembered(lab)
    answer = edgectl("peer", "add", "laptop", "-i", lab, "-o", "other.conf")
    assert answer.code == 2
    assert "there is a peer laptop already" in answer.err
    assert f"edgectl peer remove laptop -i {lab}" in answer.err
    assert remembered(lab) == before
    assert not Path("other.conf").exists()


def test_a_run_that_fails_before_the_state_file_leaves_nothing(edgectl: Edgectl, lab: Path, playbook: Write) -> None:
    fails = {"name": "Lock", "ansible.builtin.fail": {"msg": "sam@desk is at work here"}}
    playbook(yaml.safe_dump([{"name": "Preflight", "hosts": "cluster", "gather_facts": False, "tasks": [fails]}]))
    answer = edgectl("peer", "add", "laptop", "-i", lab)
    assert answer.code == 1
    assert "error: laptop was not let in" in answer.err
    assert "sam@desk is at work here" in answer.err
    assert f"edgectl peer add laptop -i {lab}" in answer.err
    assert list(Path().iterdir()) == []
    assert remembered(lab) == {}


def test_a_host_that_fails_afterwards_is_named_with_the_command_that_tells_it(
    edgectl: Edgectl, lab: Path, playbook: Write
) -> None:
    fails = {"name": "Sync", "ansible.builtin.fail": {"msg": "no"}, "when": "inventory_hostname == 'nuc2'"}
    playbook(network_play([fails]))
    answer = edgectl("peer", "add", "laptop", "-i", lab)
    assert answer.code == 1
    assert f"edgectl bootstrap {lab} --limit nuc2" in answer.out
    assert "10.200.0.4/32" in Path("laptop.conf").read_text()


def test_a_host_may_not_take_the_name_of_a_peer(edgectl: Edgectl, lab: Path) -> None:
    edgectl("peer", "add", "laptop", "-i", lab)
    hosts = lab / "hosts.yml"
    hosts.write_text(hosts.read_text().replace("orin1: {ansible_host", "laptop: {ansible_host"))
    answer = edgectl("bootstrap", lab)
    assert answer.code == 2
    assert "laptop is the name of a host and of a peer" in answer.err


def test_the_list_says_when_the_control_plane_last_heard_of_each(
    edgectl: Edgectl, lab: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "no peers yet" in edgectl("peer", "list", "-i", lab).out
    edgectl("peer", "add", "laptop", "-i", lab)
    edgectl("peer", "add", "phone", "-i", lab)
    known = remembered(lab)
    programs = tmp_path / "bin"
    programs.mkdir()
    wg = programs / "wg"
    wg.write_text(
        '#!/bin/sh\n[ "$*" = "show wg-edgectl-test latest-handshakes" ] || exit 9\n'
        f'printf "%s\\t%s\\n" {known["laptop"].wireguard_public_key} $(($(date +%s) - 30))\n'
        f'printf "%s\\t%s\\n" {known["phone"].wireguard_public_key} 0\n'
    )
    wg.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    document = json.loads(edgectl("peer", "list", "-i", lab, "--json").out)
    laptop, phone = document["peers"]
    assert laptop["public_key"] == known["laptop"].wireguard_public_key
    # `wg` looks at the clock after the host's own time was taken.
    assert 0 < laptop["handshake_age_s"]["nuc1"] <= 30
    assert phone["handshake_age_s"] == {"nuc1": None}
    rows = edgectl("peer", "list", "-i", lab).out.splitlines()
    assert rows[0].split("  ")[-1] == "HANDSHAKE WITH nuc1"
    assert "10.200.0.4" in rows[1]
    assert rows[1].endswith(" ago")
    assert rows[2].endswith("never")


def test_behind_a_hub_a_peer_knows_the_hub_alone_and_the_hub_is_asked_about_it(edgectl: Edgectl, lab: Path) -> None:
    hosts = lab / "hosts.yml"
    hosts.write_text(hosts.read_text() + "    hub: {hosts: {nuc2: }}\n")
    (lab / "group_vars" / "all.yml").write_text("wireguard_interface: wg-edgectl-test\nwireguard_topology: hub\n")
    answer = edgectl("peer", "add", "laptop", "-i", lab)
    assert answer.code == 0, answer.out + answer.err
    _, hub = sections(Path("laptop.conf").read_text())
    assert hub["AllowedIPs"] == "10.200.0.0/24, 10.244.0.0/16"
    assert hub["Endpoint"] == "10.0.0.2:51871"
    assert "nuc2 was not asked for handshakes" in edgectl("peer", "list", "-i", lab).out


def test_a_control_plane_without_a_tunnel_is_named_and_the_peers_are_listed_all_the_same(
    edgectl: Edgectl, lab: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    edgectl("peer", "add", "laptop", "-i", lab)
    wg = tmp_path / "wg"
    wg.write_text("#!/bin/sh\necho 'Unable to access interface: No such device' >&2\nexit 1\n")
    wg.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    answer = edgectl("peer", "list", "-i", lab)
    assert answer.code == 0
    assert "laptop  10.200.0.4" in answer.out
    assert "nuc1 was not asked for handshakes: Unable to access interface: No such device" in answer.out
