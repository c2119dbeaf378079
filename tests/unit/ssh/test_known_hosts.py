"""Reading and writing OpenSSH's known_hosts files."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from edgectl.ssh import known_hosts as files
from edgectl.ssh.known_hosts import HostKey, KnownHosts, parse

from .conftest import make_key


@pytest.fixture
def key(tmp_path: Path) -> HostKey:
    make_key(tmp_path / "host")
    kind, body, *_ = (tmp_path / "host.pub").read_text().split()
    return HostKey(kind, body)


def known(text: str) -> KnownHosts:
    return KnownHosts(parse(text, Path("known_hosts")))


def test_the_fingerprint_is_the_one_that_ssh_keygen_prints(key: HostKey, tmp_path: Path) -> None:
    printed = subprocess.run(["ssh-keygen", "-lf", str(tmp_path / "host.pub")], capture_output=True, text=True)
    assert key.fingerprint == printed.stdout.split()[1]
    assert key.short_type == "ED25519"


def test_names_hashed_by_ssh_keygen_are_recognised(key: HostKey, tmp_path: Path) -> None:
    file = tmp_path / "known_hosts"
    file.write_text(f"[node]:2222,10.0.0.9 {key.type} {key.body}\n")
    subprocess.run(["ssh-keygen", "-q", "-H", "-f", str(file)], check=True, capture_output=True)
    hashed = known(file.read_text())
    assert "node" not in file.read_text()
    assert hashed.trusts("[node]:2222", key)
    assert hashed.trusts("10.0.0.9", key)
    assert not hashed.trusts("node", key)


@pytest.mark.parametrize(
    ("names", "name", "expected"),
    [
        ("node", "node", True),
        ("node", "NODE", True),
        ("node", "[node]:2222", False),
        ("[node]:2222", "[node]:2222", True),
        ("[node]:2222", "node", False),
        ("*.lab,!bad.lab", "good.lab", True),
        ("*.lab,!bad.lab", "bad.lab", False),
        ("10.0.0.?", "10.0.0.7", True),
        ("10.0.0.?", "10.0.0.77", False),
    ],
)
def test_names_match_as_in_openssh(key: HostKey, names: str, name: str, expected: bool) -> None:
    assert known(f"{names} {key.type} {key.body} a comment").trusts(name, key) is expected


def test_a_revoked_key_is_trusted_nowhere(key: HostKey) -> None:
    assert not known(f"node {key.type} {key.body}\n@revoked * {key.type} {key.body}").trusts("node", key)


def test_an_authority_is_no_plain_key(key: HostKey) -> None:
    authority = known(f"@cert-authority *.lab {key.type} {key.body}")
    assert not authority.trusts("a.lab", key)
    assert authority.authorities("a.lab")
    assert not authority.authorities("elsewhere")


def test_lines_that_are_none_are_passed_over(key: HostKey) -> None:
    nonsense = f"# comment\n\nnode\nnode ssh-ed25519 not*base64\n|1|broken {key.type} {key.body}\n"
    assert known(f"{nonsense}node {key.type} {key.body}\n").trusts("node", key)


def test_our_file_and_its_directory_are_private(key: HostKey, tmp_path: Path) -> None:
    file = tmp_path / ".edgectl" / "known_hosts"
    files.add(file, [("node", key)])
    files.add(file, [("[node]:2222", key)])
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    assert known(file.read_text()).trusts("[node]:2222", key)
