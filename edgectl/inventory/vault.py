"""Ansible Vault: which files of an inventory need a password, and how their text is read with it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from edgectl.errors import UsageError
from edgectl.inventory.documents import source_files, variable_files
from edgectl.inventory.problem import Place, Problem

_FILE_HEADER = "$ANSIBLE_VAULT;"
_INLINE_TAG = "!vault"


@dataclass(frozen=True)
class Vault:
    """Where the vault password comes from: given as text, or in a file (a script when it is executable)."""

    password: str | None = field(default=None, repr=False)
    password_file: Path | None = None

    @classmethod
    def from_environment(cls) -> Vault | None:
        """The password file that the user has set for Ansible itself, if any."""
        file = os.environ.get("ANSIBLE_VAULT_PASSWORD_FILE")
        return cls(password_file=Path(file).expanduser()) if file else None

    @cached_property
    def secrets(self) -> list[tuple[str, Any]]:
        """The password in the form that Ansible's loader takes."""
        from ansible.errors import AnsibleError
        from ansible.parsing.dataloader import DataLoader
        from ansible.parsing.vault import VaultSecret, get_file_vault_secret

        if self.password is not None:
            return [("default", VaultSecret(self.password.encode()))]
        if self.password_file is None:
            return []
        try:
            secret = get_file_vault_secret(filename=str(self.password_file), loader=DataLoader())
            secret.load()
        except AnsibleError as error:
            raise UsageError(
                f"the vault password file {self.password_file} cannot be used",
                str(error),
                "name a file that holds the password alone, or an executable that prints it",
            ) from error
        return [("default", secret)]

    def read(self, file: Path) -> str:
        """The text of a file, decrypted when the whole file is vaulted.

        Single vaulted values are tried as well, so that a wrong password shows before any host is contacted.
        """
        text = file.read_text(encoding="utf-8")
        if text.startswith(_FILE_HEADER):
            return self._decrypt(Place(file), text)
        if _INLINE_TAG in text:
            with contextlib.suppress(yaml.YAMLError):  # told where the file is read for its structure
                for node in _vaulted_values(yaml.compose(text, Loader=yaml.SafeLoader)):
                    self._decrypt(Place(file, node.start_mark.line + 1), node.value)
        return text

    @staticmethod
    def read_plain(file: Path) -> str:
        """The text of a file without any password: nothing, when the whole file is vaulted."""
        text = file.read_text(encoding="utf-8")
        return "" if text.startswith(_FILE_HEADER) else text

    def _decrypt(self, place: Place, text: str) -> str:
        from ansible.errors import AnsibleError
        from ansible.parsing.vault import VaultLib

        try:
            plain: bytes = VaultLib(self.secrets).decrypt(text.strip())
        except AnsibleError as error:
            raise Problem(
                place,
                f"the vault password does not open this {'value' if place.line else 'file'}",
                "it was encrypted with another password, or has been damaged",
                "give the password that it was encrypted with",
            ) from error
        return plain.decode()


def vaulted_files(directory: Path) -> list[Path]:
    """Files of the inventory that need the vault password, whole or for single values."""
    return [file for file in _all_files(directory) if _is_vaulted(file)]


def is_encrypted(file: Path) -> bool:
    """Whether the whole file is vaulted."""
    with file.open("rb") as stream:
        return stream.read(len(_FILE_HEADER)) == _FILE_HEADER.encode()


def require_password(files: list[Path]) -> UsageError:
    """What to say when the inventory is vaulted and nobody has given a password."""
    named = ", ".join(str(file) for file in files[:3]) + (f" and {len(files) - 3} more" if len(files) > 3 else "")
    return UsageError(
        "the inventory is encrypted with Ansible Vault and no password was given",
        f"vaulted: {named}",
        "give --vault-password-file FILE, or set ANSIBLE_VAULT_PASSWORD_FILE, or run at a terminal to be asked",
    )


def _vaulted_values(node: yaml.Node | None) -> Iterator[yaml.ScalarNode]:
    if isinstance(node, yaml.MappingNode):
        for _, value in node.value:
            yield from _vaulted_values(value)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _vaulted_values(item)
    elif isinstance(node, yaml.ScalarNode) and node.tag == _INLINE_TAG:
        yield node


def _all_files(directory: Path) -> Iterator[Path]:
    yield from source_files(directory)
    yield from (file for file, _, _ in variable_files(directory))


def _is_vaulted(file: Path) -> bool:
    text = file.read_text(encoding="utf-8", errors="replace")
    # The tag stands before a value; a comment that speaks of it does not count.
    lines = (line.split(" #", 1)[0] for line in text.splitlines() if not line.lstrip().startswith("#"))
    return text.startswith(_FILE_HEADER) or any(f"{_INLINE_TAG} " in f"{line} " for line in lines)
