"""From a host's variables to where the connection goes."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgectl.ssh.target import from_variables, parse_configuration, resolve

KNOWN = Path("known_hosts")


def test_ansible_variables_become_a_target() -> None:
    target = from_variables(
        "orin1",
        {
            "ansible_host": "10.0.0.3",
            "ansible_port": "2222",
            "ansible_user": "nvidia",
            "ansible_ssh_private_key_file": "~/.ssh/lab",
            "ansible_ssh_common_args": "-o 'ProxyJump=a b'",
            "ansible_become_password": "s3cret",
        },
        KNOWN,
    )
    assert (target.address, target.port, target.user, target.identity_file) == (
        "10.0.0.3",
        2222,
        "nvidia",
        "~/.ssh/lab",
    )
    assert target.ssh_args == ("-o", "ProxyJump=a b")
    assert "s3cret" not in repr(target)


@pytest.mark.parametrize(
    ("variables", "become"),
    [
        ({}, True),
        ({"ansible_become": False}, False),
        ({"ansible_become": "no"}, False),
        ({"ansible_become_method": "su"}, False),
    ],
)
def test_root_is_reached_through_sudo_unless_the_inventory_says_otherwise(
    variables: dict[str, object], become: bool
) -> None:
    assert from_variables("a", variables, KNOWN).become is become


def test_the_users_ssh_configuration_completes_a_target(tmp_path: Path) -> None:
    included = tmp_path / "included"
    included.write_text("Host orin1\n  HostName 10.9.9.9\n  User nvidia\n  Port 2200\n  IdentityFile ~/.ssh/lab\n")
    config = tmp_path / "config"
    config.write_text(f"Include {included}\nHost far\n  HostName 10.8.8.8\n  ProxyJump gate\n  HostKeyAlias far-away\n")
    arguments = {"ansible_ssh_common_args": f"-F {config}"}
    orin1 = resolve(from_variables("orin1", arguments, KNOWN))
    assert (orin1.hostname, orin1.port, orin1.user, orin1.proxied) == ("10.9.9.9", 2200, "nvidia", False)
    assert orin1.known_hosts_name == "[10.9.9.9]:2200"
    assert Path("~/.ssh/lab").expanduser() in orin1.identity_files
    far = resolve(from_variables("far", arguments, KNOWN))
    assert (far.proxied, far.known_hosts_name) == (True, "far-away")


def test_the_inventory_wins_over_the_ssh_configuration(tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text("Host *\n  User somebody\n  Port 99\n")
    variables = {"ansible_ssh_common_args": f"-F {config}", "ansible_user": "me", "ansible_port": 22}
    endpoint = resolve(from_variables("a", variables, KNOWN))
    assert (endpoint.user, endpoint.port, endpoint.known_hosts_name) == ("me", 22, "a")


def test_a_proxy_of_none_is_none() -> None:
    assert not parse_configuration("hostname a\nuser b\nproxycommand none\n").proxied
