"""wireguard-sync reads the files right, and refuses those that would harm the tunnel."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.unit.wireguard.content import load

sync = load("roles/wireguard/files/wireguard_sync.py")

KEY_1 = "EADAEAC2KQTaOArPiC7c01oPOfmpQgwwm3Xs6b0AHFM="
KEY_2 = "7AEoLqFmsn4CyYXFCYDicDMSVgk0+Fyqq09+mvMbvBk="
INTERFACE = "[Interface]\nAddress = 10.200.0.1/32\nListenPort = 51871\nMTU = 1420\n"


def peer(key: str, networks: str) -> str:
    return (
        f"# a comment = not a setting\n[Peer]\nPublicKey = {key}\nAllowedIPs = {networks}\nPersistentKeepalive = 25\n"
    )


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "wg0.interface.conf").write_text(INTERFACE)
    (tmp_path / "wg0.peers").mkdir()
    (tmp_path / "wg0.peers" / "nuc3.conf").write_text(peer(KEY_2, "10.200.0.3/32, 10.244.3.0/24"))
    (tmp_path / "wg0.peers" / "nuc2.conf").write_text(peer(KEY_1, "10.200.0.2/32"))
    return tmp_path


def test_the_configuration_is_the_interface_and_then_the_peers_by_name(files: Path) -> None:
    text = sync.assemble("wg0", files)
    assert text.startswith("# Written by edgectl")
    assert text.index("[Interface]") < text.index(KEY_1) < text.index(KEY_2)


def test_the_files_say_address_size_port_and_routes(files: Path) -> None:
    tunnel = sync.tunnel(sync.assemble("wg0", files))
    assert (tunnel.address, tunnel.mtu, tunnel.listen_port) == ("10.200.0.1/32", 1420, 51871)
    assert tunnel.routes() == {"10.200.0.2/32", "10.200.0.3/32", "10.244.3.0/24"}
    assert tunnel.peers[KEY_1] == sync.Peer(frozenset({"10.200.0.2/32"}), "25")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (INTERFACE + peer(KEY_1, "0.0.0.0/0"), "default route"),
        (INTERFACE + peer(KEY_1, "10.200.0.2/32") + peer(KEY_1, "10.200.0.3/32"), "two peers"),
        (INTERFACE + peer("short=", "10.200.0.2/32"), "not a WireGuard public key"),
        (INTERFACE.replace("MTU = 1420", "MTU = large"), "MTU"),
        (peer(KEY_1, "10.200.0.2/32"), "Address"),
    ],
)
def test_files_that_would_harm_the_tunnel_are_refused(text: str, complaint: str) -> None:
    with pytest.raises(sync.SyncError, match=complaint):
        sync.tunnel(text)


def test_a_missing_interface_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(sync.SyncError, match="missing"):
        sync.assemble("wg0", tmp_path)


def test_the_private_key_goes_into_the_interface_section_and_nowhere_else(tmp_path: Path) -> None:
    key = tmp_path / "wg0.key"
    key.write_text("secret\n")
    text = sync.with_private_key(INTERFACE + peer(KEY_1, "10.200.0.2/32"), key)
    assert text.startswith("[Interface]\nPrivateKey = secret\nAddress")
    assert text.count("PrivateKey") == 1


def test_an_error_never_quotes_what_a_command_could_not_read() -> None:
    script = (
        "import sys; print('Key is not the correct length: `secret`\\nparsing error', file=sys.stderr); sys.exit(1)"
    )
    with pytest.raises(sync.SyncError, match=r"failed: parsing error$"):
        sync.run(sys.executable, "-c", script)


def test_under_check_a_change_is_named_and_not_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    changes = sync.Changes(check=True)
    sync.sync_file(tmp_path / "wg0.conf", "new", changes)
    assert not (tmp_path / "wg0.conf").exists()
    assert "wg0.conf" in capsys.readouterr().err
