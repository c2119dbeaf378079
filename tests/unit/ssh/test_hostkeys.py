"""First contact and changed host keys, against a real sshd."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from edgectl.errors import EdgectlError, Problems, UnreachableError
from edgectl.exitcodes import ExitCode
from edgectl.ssh import hostkeys
from edgectl.ssh.everywhere import run_on
from edgectl.ssh.hostkeys import Stranger
from edgectl.ssh.known_hosts import HostKey, add
from edgectl.ssh.result import Trouble

from .conftest import Server, free_port, make_key
from .test_everywhere import RELAY


def nobody(_strangers: Sequence[Stranger]) -> bool:
    raise AssertionError("nothing should be asked")


def other_key(directory: Path, kind: str = "ed25519") -> HostKey:
    make_key(directory / kind, kind)
    name, body, *_ = (directory / f"{kind}.pub").read_text().split()
    return HostKey(name, body)


def test_all_new_keys_are_asked_about_once_and_then_known(sshd: Server, known_hosts: Path) -> None:
    targets = [sshd.target(known_hosts), sshd.target(known_hosts, name="again", address="localhost")]
    asked: list[Sequence[Stranger]] = []

    def yes(strangers: Sequence[Stranger]) -> bool:
        asked.append(strangers)
        return True

    assert hostkeys.ensure(targets, accept_new=False, ask=yes) == {}
    assert [[s.key.fingerprint for s in call] for call in asked] == [[sshd.host_key.fingerprint] * 2]
    assert [run_on(target, "true").rc for target in targets] == [0, 0]
    hostkeys.ensure(targets, accept_new=False, ask=nobody)


def test_no_stores_nothing(sshd: Server, known_hosts: Path) -> None:
    with pytest.raises(UnreachableError):
        hostkeys.ensure([sshd.target(known_hosts)], accept_new=False, ask=lambda _: False)
    assert not known_hosts.exists()


def test_without_a_terminal_the_refusal_names_the_command(sshd: Server, known_hosts: Path) -> None:
    with pytest.raises(UnreachableError) as refusal:
        hostkeys.ensure([sshd.target(known_hosts)], accept_new=False, ask=None, command="edgectl bootstrap lab")
    assert sshd.host_key.fingerprint in refusal.value.why
    assert "edgectl bootstrap lab --accept-new-host-keys" in refusal.value.fix


def test_a_changed_key_is_refused_even_where_new_ones_are_accepted(
    sshd: Server, known_hosts: Path, tmp_path: Path
) -> None:
    target = sshd.target(known_hosts)
    old = other_key(tmp_path)
    add(known_hosts, [(f"[127.0.0.1]:{sshd.port}", old)])
    before = known_hosts.read_text()
    with pytest.raises(Problems) as refusal:
        hostkeys.ensure([target], accept_new=True, ask=nobody)
    problem: EdgectlError = refusal.value.problems[0]
    assert refusal.value.code is ExitCode.UNREACHABLE
    assert old.fingerprint in problem.why
    assert sshd.host_key.fingerprint in problem.why
    assert f"ssh-keygen -R '[127.0.0.1]:{sshd.port}' -f {known_hosts}" in problem.fix
    assert known_hosts.read_text() == before
    assert run_on(target, "true").trouble is Trouble.HOST_KEY


def test_a_known_host_that_shows_a_key_of_another_type_counts_as_changed(
    sshd: Server, known_hosts: Path, tmp_path: Path
) -> None:
    add(known_hosts, [(f"[127.0.0.1]:{sshd.port}", other_key(tmp_path, "ecdsa"))])
    with pytest.raises(Problems):
        hostkeys.ensure([sshd.target(known_hosts)], accept_new=True, ask=nobody)


def test_a_key_in_the_state_file_needs_no_question(sshd: Server, known_hosts: Path) -> None:
    recorded = {"node1": ["SHA256:another", sshd.host_key.fingerprint]}
    hostkeys.ensure([sshd.target(known_hosts)], accept_new=False, ask=nobody, recorded=recorded)
    assert run_on(sshd.target(known_hosts), "true").ok


def test_a_key_other_than_the_recorded_one_is_refused(sshd: Server, known_hosts: Path) -> None:
    with pytest.raises(Problems) as refusal:
        hostkeys.ensure([sshd.target(known_hosts)], accept_new=True, ask=nobody, recorded={"node1": ["SHA256:x"]})
    assert "edgectl.state.yml" in str(refusal.value.problems[0].what)


def test_a_dead_host_is_reported_and_the_others_go_on(sshd: Server, known_hosts: Path) -> None:
    dead = sshd.target(known_hosts, name="dead", port=free_port())
    silent = hostkeys.ensure([dead, sshd.target(known_hosts)], accept_new=True, ask=None)
    assert list(silent) == ["dead"]
    assert silent["dead"].trouble is Trouble.UNREACHABLE


def test_a_host_behind_a_proxy_shows_its_key_without_a_login(sshd: Server, known_hosts: Path, tmp_path: Path) -> None:
    relay = tmp_path / "relay.py"
    relay.write_text(RELAY.format(port=sshd.port))
    options = ("-F", "/dev/null", "-o", f"ProxyCommand=python3 {relay}")
    target = sshd.target(known_hosts, address="behind", port=None, ssh_args=options)
    hostkeys.ensure([target], accept_new=True, ask=None)
    assert known_hosts.read_text() == f"behind {sshd.host_key.type} {sshd.host_key.body}\n"
    assert run_on(target, "echo through").stdout == "through\n"
