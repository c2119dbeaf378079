"""How one host is reached: what the inventory says, completed by the user's own SSH configuration.

`ssh -G` is asked for the second part, because it alone knows `Include`, `Match` and canonical names the way
Ansible's `ssh` will see them a moment later. It opens no connection and answers in some milliseconds.
"""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgectl.errors import EdgectlError

if TYPE_CHECKING:
    from edgectl.inventory import Inventory

DEFAULT_PORT = 22


@dataclass(frozen=True)
class Target:
    """One host as the inventory describes it. Passwords stay out of its `repr`."""

    name: str
    address: str
    known_hosts: Path
    user: str | None = None
    port: int | None = None
    identity_file: str | None = None
    ssh_args: tuple[str, ...] = ()
    local: bool = False
    become: bool = True
    password: str | None = field(default=None, repr=False)
    become_password: str | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Endpoint:
    """A target after the user's SSH configuration: where the connection really goes."""

    hostname: str
    port: int
    user: str
    identity_files: tuple[Path, ...]
    key_alias: str
    proxied: bool

    @property
    def known_hosts_name(self) -> str:
        """The name under which OpenSSH files this host's key: `host`, or `[host]:port` off port 22."""
        if self.key_alias:
            return self.key_alias
        return self.hostname if self.port == DEFAULT_PORT else f"[{self.hostname}]:{self.port}"


def from_variables(name: str, variables: Mapping[str, Any], known_hosts: Path) -> Target:
    """Build a target from a host's (templated) Ansible variables."""

    def text(*names: str) -> str | None:
        return next((str(variables[key]) for key in names if variables.get(key) not in (None, "")), None)

    port = text("ansible_port", "ansible_ssh_port")
    arguments = " ".join(filter(None, (text("ansible_ssh_common_args"), text("ansible_ssh_extra_args"))))
    return Target(
        name=name,
        address=text("ansible_host", "ansible_ssh_host") or name,
        known_hosts=known_hosts,
        user=text("ansible_user", "ansible_ssh_user"),
        port=int(port) if port else None,
        identity_file=text("ansible_ssh_private_key_file", "ansible_private_key_file"),
        ssh_args=tuple(shlex.split(arguments)),
        local=text("ansible_connection") == "local",
        become=str(variables.get("ansible_become", True)).lower() not in ("false", "no", "0")
        and (text("ansible_become_method") or "sudo").removeprefix("ansible.builtin.") == "sudo",
        password=text("ansible_password", "ansible_ssh_pass", "ansible_ssh_password"),
        become_password=text("ansible_become_password", "ansible_become_pass", "ansible_sudo_pass"),
    )


def of_inventory(inventory: Inventory) -> list[Target]:
    """A target for every host, in the order of the inventory."""
    targets = []
    for host in inventory.hosts:
        connection = {name: host.option(name, None) for name in host.variables if name.startswith("ansible_")}
        targets.append(from_variables(host.name, connection, inventory.known_hosts.absolute()))
    return targets


def client_arguments(target: Target) -> list[str]:
    """Options and destination for OpenSSH programs, as the inventory asks for them."""
    arguments = list(target.ssh_args)
    if target.user:
        arguments += ["-l", target.user]
    if target.port:
        arguments += ["-p", str(target.port)]
    if target.identity_file:
        arguments += ["-i", str(Path(target.identity_file).expanduser())]
    return [*arguments, "--", target.address]


def resolve(target: Target) -> Endpoint:
    """Complete a target by the user's SSH configuration."""
    command = ["ssh", "-G", *client_arguments(target)]
    try:
        # `Match exec` may run a command of the user's own; it must not read our terminal.
        answer = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=20, stdin=subprocess.DEVNULL
        )
    except FileNotFoundError as error:
        raise EdgectlError(
            "the OpenSSH client is not installed here", "there is no `ssh` in PATH", "sudo apt install openssh-client"
        ) from error
    if answer.returncode != 0:
        raise EdgectlError(
            f"{target.name}: the SSH configuration cannot be read",
            answer.stderr.strip().splitlines()[-1] if answer.stderr.strip() else f"exit code {answer.returncode}",
            shlex.join(command),
        )
    return parse_configuration(answer.stdout)


def parse_configuration(text: str) -> Endpoint:
    """Read the answer of `ssh -G`: one lower-case option a line, some of them repeated."""
    single: dict[str, str] = {}
    identities: list[Path] = []
    for line in text.splitlines():
        option, _, value = line.partition(" ")
        if option == "identityfile":
            identities.append(Path(value).expanduser())
        else:
            single.setdefault(option, value)
    proxies = (single.get("proxyjump", "none"), single.get("proxycommand", "none"))
    return Endpoint(
        hostname=single["hostname"],
        port=int(single.get("port", DEFAULT_PORT)),
        user=single["user"],
        identity_files=tuple(identities),
        key_alias=single.get("hostkeyalias", "").replace("none", ""),
        proxied=any(proxy not in ("none", "") for proxy in proxies),
    )
