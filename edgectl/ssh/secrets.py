"""Passwords: found in files, asked for once, handed on through 0600 files, never through arguments or logs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from edgectl.errors import EdgectlError, Problems, UsageError
from edgectl.inventory.load import needs_password
from edgectl.inventory.vault import Vault, require_password
from edgectl.ssh.everywhere import run_everywhere
from edgectl.ssh.result import Result
from edgectl.ssh.target import Target

BECOME_FILE_VARIABLE = "EDGECTL_BECOME_PASSWORD_FILE"
VAULT_FILE_VARIABLES = ("ANSIBLE_VAULT_PASSWORD_FILE", "ANSIBLE_VAULT_IDENTITY_LIST")

_TRIES = 3

# Asks for one password by its prompt, without echo; raises Interrupted when the user gives up.
Ask = Callable[[str], str]


@dataclass(frozen=True)
class Secrets:
    """The passwords of one run. `hidden` are those that the inventory itself gives for single hosts."""

    become_password: str | None = field(default=None, repr=False)
    vault: Vault | None = field(default=None, repr=False)
    hidden: frozenset[str] = field(default=frozenset(), repr=False)

    def values(self) -> Iterator[str]:
        """What must never appear in a log."""
        if self.become_password:
            yield self.become_password
        if self.vault is not None and self.vault.password:
            yield self.vault.password
        yield from self.hidden


def find_vault(inventory: Path, file: Path | None, ask: Ask | None) -> Vault | None:
    """Where the vault password comes from: the file given, Ansible's own setting, or the user, asked up front.

    Asks only when the inventory holds something encrypted.
    """
    if file is not None:
        read_password(file, "--vault-password-file")
        return Vault(password_file=file.absolute())
    vaulted = needs_password(inventory)
    if not vaulted:
        return Vault.from_environment()
    if ask is None:
        raise require_password(vaulted)
    return Vault(password=ask(f"Vault password for {inventory}: "))


def find_become_password(environment: Mapping[str, str] = os.environ) -> str | None:
    """The sudo password from the file that EDGECTL_BECOME_PASSWORD_FILE names, if it names one."""
    name = environment.get(BECOME_FILE_VARIABLE)
    return read_password(Path(name).expanduser(), BECOME_FILE_VARIABLE) if name else None


def become_password(ask: Ask | None, *, ask_first: bool) -> str | None:
    """The sudo password from its file, or else, with --ask-become-pass, from the user."""
    password = find_become_password()
    if password is not None or not ask_first:
        return password
    if ask is None:
        raise UsageError("--ask-become-pass needs a terminal", fix=f"set {BECOME_FILE_VARIABLE}")
    return ask("sudo password: ")


def read_password(path: Path, origin: str) -> str:
    """The first line of a password file."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise UsageError(f"{origin}: {path} cannot be read", str(error.strerror)) from error
    if not lines or not lines[0]:
        raise UsageError(f"{origin}: {path} holds no password", "its first line is empty")
    return lines[0]


def with_password(targets: Sequence[Target], password: str | None) -> list[Target]:
    """The targets, with the password for those to which the inventory gives none of their own."""
    return [t if t.become_password or password is None else replace(t, become_password=password) for t in targets]


def wants_password(result: Result) -> bool:
    """Whether sudo refused because it wants a password (or another one)."""
    return result.rc not in (0, None) and "password" in result.stderr.lower() and "sudo" in result.stderr.lower()


def ask_for_sudo(targets: Sequence[Target], ask: Ask | None) -> str | None:
    """Ask once for the sudo password of hosts that want one, and see that it opens them.

    Asked again only when it opens none of them; Problems naming each host that it does not open.
    """
    if not targets:
        return None
    names = ", ".join(target.name for target in targets)
    if ask is None:
        raise UsageError(
            f"sudo on {names} wants a password and there is no terminal to ask for it",
            "`sudo -n true` was refused",
            f"{BECOME_FILE_VARIABLE}=FILE edgectl ..., or `ansible_become_password` in a vaulted file of the inventory",
        )
    refused = list(targets)
    for _ in range(_TRIES):
        password = ask(f"sudo password for {names}: ")
        results = run_everywhere(with_password(targets, password), "true", as_root=True)
        refused = [target for target in targets if not results[target.name].ok]
        if not refused:
            return password
        if len(refused) < len(targets):
            break
    raise Problems([wrong_password(target) for target in refused])


def wrong_password(target: Target) -> EdgectlError:
    """What to say about a host that does not take the sudo password."""
    return UsageError(
        f"{target.name}: sudo does not accept the password",
        "other hosts may have another one",
        f"put `ansible_become_password` for {target.name} in a vaulted file: "
        f"ansible-vault create INVENTORY/host_vars/{target.name}.yml",
    )
