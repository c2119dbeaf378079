"""Ansible's own reading of an inventory, in this process: groups, hosts, and variables with their templates.

Ansible is imported on first use only (half a second), and with edgectl's ansible.cfg, so that the CLI sees exactly
what `ansible-playbook` will see.
"""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from edgectl import content
from edgectl.inventory.options import role_defaults
from edgectl.inventory.problem import Problem
from edgectl.inventory.vault import Vault

Value: TypeAlias = Any
"""What a variable may hold: anything that YAML can write."""


class Unresolved(Exception):
    """A variable whose template cannot be evaluated (yet); `reason` says why."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class AnsibleSource:
    """One inventory directory, loaded."""

    def __init__(self, directory: Path, vault: Vault) -> None:
        _import_ansible()
        from ansible.errors import AnsibleError
        from ansible.inventory.manager import InventoryManager
        from ansible.parsing.dataloader import DataLoader
        from ansible.parsing.vault import VaultSecretsContext
        from ansible.utils.display import Display
        from ansible.vars.manager import VariableManager

        self._directory = directory
        self._loader = DataLoader()
        self._loader.set_vault_secrets(vault.secrets)
        # Inline `!vault` values are decrypted through this process-wide context. Its public setter works only once,
        # which is too little for a process that loads two inventories.
        VaultSecretsContext._current = VaultSecretsContext(vault.secrets)
        # Ansible gives a warning once in a process; here each inventory gets its own.
        Display()._warns.clear()
        with _captured() as said:
            try:
                # An absolute path, because Ansible remembers variable directories by the path it was given.
                self._manager = InventoryManager(loader=self._loader, sources=[str(directory.resolve())])
                self._variables = VariableManager(loader=self._loader, inventory=self._manager)
                self._defaults = self._load_defaults()
            except AnsibleError as error:
                evidence = f"{error}\n{said.getvalue()}".replace(str(directory.resolve()), str(directory))
                raise Problem(
                    directory,
                    "Ansible cannot read this inventory",
                    _first_lines(evidence),
                    f"ansible-inventory -i {directory} --list shows the whole message",
                ) from error

    def groups(self) -> dict[str, list[str]]:
        """Names of the hosts of each group, children included, in the order of the inventory."""
        return {name: [str(host) for host in group.get_hosts()] for name, group in self._manager.groups.items()}

    def groups_of(self, host: str) -> list[str]:
        """Groups that a host belongs to, the one whose variables have the last word first."""
        from ansible.inventory.helpers import sort_groups

        groups = sort_groups(self._manager.get_host(host).get_groups())
        return [str(group.name) for group in reversed(groups)]

    def raw(self, host: str) -> Mapping[str, Any]:
        """The user's variables of a host, templates not evaluated, without role defaults."""
        from ansible.errors import AnsibleError

        with _captured():  # group_vars/ and host_vars/ are read only now
            try:
                found: Mapping[str, Any] = self._variables.get_vars(host=self._manager.get_host(host), use_cache=False)
            except AnsibleError as error:
                raise Problem(
                    self._directory,
                    f"Ansible cannot read the variables of {host}",
                    _first_lines(str(error).replace(str(self._directory.resolve()), str(self._directory))),
                    f"ansible-inventory -i {self._directory} --host {host} shows the whole message",
                ) from error
        return found

    def with_defaults(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        """A host's variables laid over the defaults of all roles, as in a play that lists those roles."""
        return {**self._defaults, **raw}

    @staticmethod
    def encrypted(raw: object, value: Value) -> Iterator[str]:
        """What `!vault` protects within a variable: the decrypted texts at the places of its raw value."""
        from ansible.parsing.vault import EncryptedString

        if isinstance(raw, EncryptedString):
            yield str(value)
        elif isinstance(raw, Mapping) and isinstance(value, Mapping):
            for key, item in raw.items():
                yield from AnsibleSource.encrypted(item, value.get(str(key)))
        elif isinstance(raw, list) and isinstance(value, list):
            for item, plain in zip(raw, value, strict=True):
                yield from AnsibleSource.encrypted(item, plain)

    def evaluate(self, variables: Mapping[str, Any], name: str) -> Value:
        """The value of a variable with its templates evaluated, in plain Python types. Raises Unresolved."""
        from ansible.errors import AnsibleError
        from ansible.template import Templar

        with _captured():
            try:
                return _plain(Templar(loader=self._loader, variables=dict(variables)).template(variables[name]))
            except AnsibleError as error:
                raise Unresolved(str(error).splitlines()[0]) from error

    def _load_defaults(self) -> dict[str, Any]:
        defaults: dict[str, Any] = {}
        roles = content.root() / "roles"
        # Besides the defaults, what they make use of: the names that role cluster gives to all others.
        for file in (*role_defaults(roles), roles / "cluster" / "vars" / "main.yml"):
            # Without the tag, core 2.19 leaves the templates in these files as text.
            defaults.update(self._loader.load_from_file(str(file), trusted_as_template=True) or {})
        return defaults


@cache
def _import_ansible() -> None:
    ours = content.ansible_environment()
    before = {name: os.environ.get(name) for name in ours}
    os.environ.update(ours)  # Ansible reads its settings once, while it is being imported
    try:
        from ansible import constants
        from ansible.plugins.loader import init_plugin_loader

        constants.INVENTORY_ANY_UNPARSED_IS_FAILED = True
        with _captured():
            init_plugin_loader([])
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


@contextlib.contextmanager
def _captured() -> Iterator[io.StringIO]:
    """Ansible prints warnings as it reads; a library must not."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
        yield said


def _first_lines(text: str, count: int = 2) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return "; ".join(lines[:count])


def _plain(value: object) -> Value:
    """Strip the tags that Ansible hangs on values (origin, trust)."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, Mapping):
        return {_plain(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    for kind in (int, float):
        if isinstance(value, kind):
            return kind(value)
    return str(value)
