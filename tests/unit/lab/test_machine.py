"""What the lab reads from, and puts back on, the machine under it."""

from pathlib import Path

import pytest

from edgectl.errors import EdgectlError
from edgectl.lab import debian, footprint, machine, podman
from edgectl.lab.machine import Traits

SAVED = """\
-P FORWARD ACCEPT
-N DOCKER-USER
-N NETAVARK_FORWARD
-A FORWARD -m comment --comment "netavark firewall plugin rules" -j NETAVARK_FORWARD
-A FORWARD -j DOCKER-USER
-A NETAVARK_FORWARD -d 10.213.1.0/24 -j ACCEPT
"""


def test_netavarks_chains_go_and_nobody_elses():
    assert footprint.removal_rules(SAVED) == [
        ["-D", "FORWARD", "-m", "comment", "--comment", "netavark firewall plugin rules", "-j", "NETAVARK_FORWARD"],
        ["-F", "NETAVARK_FORWARD"],
        ["-X", "NETAVARK_FORWARD"],
    ]


def test_a_machine_without_netavark_has_nothing_to_remove():
    assert footprint.removal_rules("-P FORWARD ACCEPT\n-N DOCKER\n") == []


def test_limits_of_nodes_are_those_that_this_machine_may_set():
    text = podman.settings(Traits(1, False, 20000, 5000))
    assert '"nofile=20000:20000"' in text
    assert '"nproc=5000:5000"' in text


def test_podman_never_uses_the_users_directories():
    words = podman.command("ps")
    for flag in ("--root=", "--runroot=", "--tmpdir=", "--network-config-dir="):
        [word] = [word for word in words if word.startswith(flag)]
        assert "edgectl-lab" in word


def test_capabilities_are_read_from_the_bounding_set():
    status = "CapEff:\t0000000000000000\nCapBnd:\t000001fffeffffff\n"
    assert not machine._bounding_capability(status, machine.CAP_SYS_RESOURCE)
    assert machine._bounding_capability(status, 21)


def test_a_command_that_fails_tells_what_it_said():
    with pytest.raises(EdgectlError) as raised:
        machine.run(["sh", "-c", "echo no such thing >&2; exit 3"])
    assert "exit code 3" in raised.value.what
    assert "no such thing" in raised.value.why


def test_a_command_that_is_not_installed_is_told_by_name():
    with pytest.raises(EdgectlError, match="edgectl-no-such-command"):
        machine.run(["edgectl-no-such-command"])


def test_a_failing_commands_log_is_named(tmp_path):
    log = tmp_path / "log"
    with log.open("w") as output, pytest.raises(EdgectlError) as raised:
        machine.run(["sh", "-c", "exit 1"], output=output)
    assert raised.value.log == Path(log)


def test_apt_on_nodes_fetches_as_this_machine_does():
    settings = """\
Acquire::http::Proxy http://proxy:3128
Acquire::https::User-Agent x
Acquire::Retries 3
Acquire::Languages en
Acquire::https::CAInfo
"""
    assert debian.fetch_options(settings, {}) == ('Acquire::Retries "3";\nAcquire::http::Proxy "http://proxy:3128";\n')


def test_a_proxy_from_the_environment_reaches_apt_unless_apt_has_its_own():
    assert 'Acquire::http::Proxy "http://a:1";' in debian.fetch_options("", {"http_proxy": "http://a:1"})
    assert "http://a:1" not in debian.fetch_options("Acquire::http::Proxy http://b:2\n", {"http_proxy": "http://a:1"})
