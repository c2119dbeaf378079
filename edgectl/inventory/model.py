"""An inventory as the rest of edgectl sees it: hosts in order, their roles in the cluster, variables on demand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from edgectl.errors import UsageError
from edgectl.inventory.ansible_source import AnsibleSource, Unresolved, Value
from edgectl.inventory.documents import STATE_FILE, Documents, did_you_mean
from edgectl.inventory.problem import Place
from edgectl.inventory.state import StateFile

_MISSING = object()
# What Ansible adds to every host's variables by itself.
_MAGIC = {
    *("ansible_config_file", "ansible_facts", "ansible_local", "ansible_playbook_python", "ansible_version"),
    *("group_names", "groups", "inventory_dir", "inventory_file", "inventory_hostname", "inventory_hostname_short"),
    "playbook_dir",
}


@dataclass(frozen=True, eq=False)
class Host:
    """One machine of the inventory."""

    name: str
    groups: tuple[str, ...]
    source: AnsibleSource = field(repr=False)
    documents: Documents = field(repr=False)

    @cached_property
    def variables(self) -> Mapping[str, Any]:
        """The user's variables for this host, templates not evaluated, without role defaults."""
        # YAML lets a key be a number; a variable of such a name can be used by nothing.
        return {key: value for key, value in self._raw.items() if isinstance(key, str) and key not in _MAGIC}

    def option(self, name: str, default: object = _MISSING) -> Value:
        """A variable or role option with its templates evaluated.

        Without `default`, one that is not set, or not known before the host has been asked for its facts, is a
        UsageError that names it.
        """
        variables = self._all_variables
        try:
            if name in variables:
                return self.source.evaluate(variables, name)
            reason = "it is not set"
        except Unresolved as error:
            reason = error.reason
        if default is not _MISSING:
            return default
        raise UsageError(f"{name} of host {self.name} has no value", reason, f"set {name} for {self.name}")

    def evaluate(self, name: str) -> Value:
        """Like `option`, but raises Unresolved with Ansible's reason."""
        return self.source.evaluate(self._all_variables, name)

    def has(self, name: str) -> bool:
        """Whether a variable or role option has any value, a default included."""
        return name in self._all_variables

    def needs_facts(self, name: str) -> bool:
        """Whether a variable is computed from what the probe finds on the host."""
        return "ansible_facts" in str(self._all_variables.get(name))

    def place(self, key: str | None = None) -> Place | None:
        """Where this host, or one of its variables, is written down."""
        if key is None:
            return self.documents.hosts.get(self.name)
        return self.documents.place(key, self.name, self.groups)

    @cached_property
    def _raw(self) -> Mapping[str, Any]:
        return self.source.raw(self.name)

    @cached_property
    def _all_variables(self) -> Mapping[str, Any]:
        return self.source.with_defaults(self._raw)


@dataclass(frozen=True, eq=False)
class Inventory:
    """An inventory directory. `hosts` are those of the groups `cluster` and `hub`, the control plane first."""

    path: Path
    hosts: tuple[Host, ...]
    groups: Mapping[str, list[str]]
    state: StateFile
    vaulted: tuple[Path, ...]
    documents: Documents = field(repr=False)

    @property
    def control_plane(self) -> tuple[Host, ...]:
        """Hosts that run the Kubernetes API."""
        return self._members("control_plane")

    @property
    def workers(self) -> tuple[Host, ...]:
        """Hosts that only run workloads."""
        return self._members("workers")

    @property
    def hub(self) -> tuple[Host, ...]:
        """The host, a node or not, that all others reach each other through (`wireguard_topology: hub`)."""
        return self._members("hub")

    @property
    def state_file(self) -> Path:
        """What edgectl remembers; itself a source of the inventory."""
        return self.path / STATE_FILE

    @property
    def private_directory(self) -> Path:
        """Our files that Ansible must not parse."""
        return self.path / ".edgectl"

    @property
    def known_hosts(self) -> Path:
        """SSH host keys that the user has accepted for these hosts."""
        return self.private_directory / "known_hosts"

    def host(self, name: str) -> Host:
        """A host by its name; raises UsageError naming the near ones."""
        for host in self.hosts:
            if host.name == name:
                return host
        names = [host.name for host in self.hosts]
        nearest = did_you_mean(name, names)
        raise UsageError(
            f"{name} is no host of {self.path}",
            f"its hosts: {', '.join(names)}",
            f"did you mean {nearest}?" if nearest else "",
        )

    def option(self, name: str, default: object = _MISSING) -> Value:
        """An option that is the same for the whole cluster, such as `cluster_pod_cidr`."""
        if not self.hosts:
            raise UsageError(f"{self.path} has no hosts, so {name} has no value")
        return self.hosts[0].option(name, default)

    def place(self, name: str) -> Place:
        """Where an option of the whole cluster is written; the directory when it is not."""
        return (self.hosts[0].place(name) if self.hosts else None) or Place(self.path)

    def vars(self, name: str) -> dict[str, Any]:
        """All of the user's variables of a host, evaluated; those that need facts are left out."""
        host = self.host(name)
        unknown = object()
        values = {key: host.option(key, unknown) for key in host.variables}
        return {key: value for key, value in values.items() if value is not unknown}

    def _members(self, group: str) -> tuple[Host, ...]:
        names = set(self.groups.get(group, ()))
        return tuple(host for host in self.hosts if host.name in names)
