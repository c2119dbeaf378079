"""Options: known names, right types and choices, one value for the whole cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from edgectl import content
from edgectl.inventory.ansible_source import Unresolved
from edgectl.inventory.documents import Documents, did_you_mean
from edgectl.inventory.model import Host, Inventory
from edgectl.inventory.options import Option, known_options, mistakes, role_prefixes
from edgectl.inventory.problem import Problem, Where

# Known only once a host has been asked, or enrolled.
_LATER = ("ansible_facts", "edgectl_state")
# One value for all hosts: half a cluster with another pod network is no cluster.
PER_HOST = ("cluster_gpu", "cluster_lan_address", "cluster_node_labels", "cluster_node_taints")
SHARED = (
    *("device_plugin_ngc_key", "device_plugin_ngc_namespaces", "device_plugin_quotas"),
    *("wireguard_network", "wireguard_topology"),
)
# How Ansible logs in and becomes root (ansible.constants.MAGIC_VARIABLE_MAPPING and the variables of its connection
# plugin ssh, core 2.19). Others may start with ansible_ too, so only what is nearly one of these is a slip.
CONNECTION_VARIABLES = (
    *("ansible_become", "ansible_become_exe", "ansible_become_flags", "ansible_become_method", "ansible_become_pass"),
    *("ansible_become_password", "ansible_become_user", "ansible_connection", "ansible_host", "ansible_password"),
    *("ansible_host_key_checking", "ansible_pipelining", "ansible_port", "ansible_private_key", "ansible_remote_tmp"),
    *("ansible_private_key_file", "ansible_private_key_passphrase", "ansible_python_interpreter"),
    *("ansible_scp_executable", "ansible_scp_extra_args", "ansible_sftp_executable", "ansible_sftp_extra_args"),
    *("ansible_shell_executable", "ansible_shell_type", "ansible_ssh_args", "ansible_ssh_common_args"),
    *("ansible_ssh_executable", "ansible_ssh_extra_args", "ansible_ssh_host", "ansible_ssh_host_key_checking"),
    *("ansible_ssh_pass", "ansible_ssh_password", "ansible_ssh_pipelining", "ansible_ssh_port", "ansible_sudo_pass"),
    *("ansible_ssh_private_key", "ansible_ssh_private_key_file", "ansible_ssh_private_key_passphrase"),
    *("ansible_ssh_retries", "ansible_ssh_timeout", "ansible_ssh_transfer_method", "ansible_ssh_use_tty"),
    *("ansible_ssh_user", "ansible_timeout", "ansible_user"),
)


def problems(inventory: Inventory) -> Iterator[Problem]:
    """Every variable with one of our prefixes is an option with a value that fits."""
    options = known_options()
    yield from unknown(inventory.documents)
    written = {setting.key for setting in inventory.documents.settings}
    for key in sorted({key for host in inventory.hosts for key in host.variables} - written):
        yield from _unknown(key, inventory.path)  # from a script or a plugin: no file of ours to point at
    for host in inventory.hosts:
        for name in host.variables:
            if name in options:
                yield from _misfits(inventory, host, options[name])
    yield from _differing(inventory, options)


def unknown(documents: Documents) -> Iterator[Problem]:
    """What is written like an option and is none. Needs no Ansible, so that it can be told beside broken YAML."""
    for setting in documents.settings:
        yield from _unknown(setting.key, setting.place)


def _unknown(key: str, where: Where) -> Iterator[Problem]:
    options = known_options()
    if key in options or key in CONNECTION_VARIABLES:
        return
    prefix = next((prefix for prefix in role_prefixes() if key.startswith(prefix)), None)
    nearest = _nearest(key, options)
    if prefix is not None:
        why = f"variables that start with {prefix} belong to edgectl"
        fix = f"did you mean {nearest}?" if nearest else f"the options are in {_readme(prefix)}"
        yield Problem(where, f"there is no option {key}", why, fix, key=key)
    elif nearest is not None and _is_slip(key, nearest):
        yield Problem(where, f"there is no option {key}", fix=f"did you mean {nearest}?", key=key)
    elif key.startswith("ansible_") and (nearest := did_you_mean(key, CONNECTION_VARIABLES, cutoff=0.88)):
        yield Problem(where, f"Ansible has no variable {key}", fix=f"did you mean {nearest}?", key=key)


def _nearest(key: str, options: Mapping[str, Option]) -> str | None:
    """The option that a key most likely stands for; one that is written the same but for hyphens and capitals first."""
    plain = key.replace("-", "_").lower()
    return plain if plain in options else did_you_mean(key, options)


def _readme(prefix: str) -> Path:
    return content.root() / "roles" / prefix.removesuffix("_") / "README.md"


def _is_slip(key: str, option: str) -> bool:
    """A slip in the prefix (`clutser_version`), or hyphens, capitals, a lost underscore."""
    squeezed = key.replace("-", "").replace("_", "").lower()
    return squeezed == option.replace("_", "") or key.partition("_")[2] == option.partition("_")[2] != ""


def _misfits(inventory: Inventory, host: Host, option: Option) -> Iterator[Problem]:
    place = host.place(option.name) or inventory.path
    try:
        value = host.evaluate(option.name)
    except Unresolved as error:
        if not any(word in str(host.variables[option.name]) or word in error.reason for word in _LATER):
            yield Problem(
                place,
                f"{option.name} cannot be evaluated",
                f"{error.reason} (for {host.name})",
                "correct the template, or set the variable that it uses",
                key=option.name,
            )
        return
    for what, fix in mistakes(option, value):
        yield Problem(place, what, fix=fix, key=option.name)


def _differing(inventory: Inventory, options: Mapping[str, Option]) -> Iterator[Problem]:
    of_cluster = [name for name, option in options.items() if option.role == "cluster" and name not in PER_HOST]
    shared = [*of_cluster, *SHARED]
    for name in shared:
        values = {host.name: host.option(name, None) for host in inventory.hosts}
        first = next(iter(values), None)
        for host, value in values.items():
            if first is not None and value != values[first]:
                differing = f"{name} is {value!r} for {host} and {values[first]!r} for {first}"
                if options[name].secret:
                    differing = f"{name} is not the same for {host} and {first}"
                yield Problem(
                    inventory.host(host).place(name) or inventory.path,
                    differing,
                    "the whole cluster shares this option",
                    "set it once, in group_vars/all.yml",
                    key=name,
                )
                break
