"""Options: known names, right types and choices, and what this release can do with them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from edgectl import content
from edgectl.errors import UsageError
from edgectl.inventory.ansible_source import Unresolved
from edgectl.inventory.documents import Place, did_you_mean
from edgectl.inventory.model import Host, Inventory
from edgectl.inventory.options import Option, known_options, mistakes, role_prefixes
from edgectl.inventory.rules.hosts import DNS_LABEL

# Known only once a host has been asked, or enrolled.
_LATER = ("ansible_facts", "edgectl_state")
# One value for all hosts: half a cluster with another pod network is no cluster.
PER_HOST = ("cluster_lan_address",)
_DOMAIN = re.compile(rf"{DNS_LABEL.pattern}(\.{DNS_LABEL.pattern})+")


def problems(inventory: Inventory) -> Iterator[UsageError]:
    """Every variable with one of our prefixes is an option with a value that fits."""
    options = known_options()
    yield from _unknown(inventory, options)
    for host in inventory.hosts:
        for name in host.variables:
            if name in options:
                yield from _misfits(inventory, host, options[name])
    yield from _differing(inventory, options)
    if inventory.hosts:
        yield from _distribution(inventory)
        yield from _version(inventory)
        yield from _names(inventory)


def _unknown(inventory: Inventory, options: Mapping[str, Option]) -> Iterator[UsageError]:
    written = [(setting.key, setting.place) for setting in inventory.documents.settings]
    elsewhere = {key for host in inventory.hosts for key in host.variables} - {key for key, _ in written}
    for key, place in [*written, *((key, inventory.path) for key in sorted(elsewhere))]:
        if key in options:
            continue
        prefix = next((prefix for prefix in role_prefixes() if key.startswith(prefix)), None)
        nearest = did_you_mean(key, options)
        if prefix is None and (nearest is None or not _same_tail(key, nearest)):
            continue
        yield UsageError(
            f"{place}: there is no option {key}",
            f"variables that start with {prefix} belong to edgectl" if prefix else "",
            f"did you mean {nearest}?" if nearest else f"the options are in {_readme(prefix or '')}",
        )


def _readme(prefix: str) -> Path:
    return content.root() / "roles" / prefix.removesuffix("_") / "README.md"


def _same_tail(key: str, option: str) -> bool:
    """A slip in the prefix (`clutser_version`): what follows the first underscore is an option's."""
    return key.partition("_")[2] == option.partition("_")[2] != ""


def _misfits(inventory: Inventory, host: Host, option: Option) -> Iterator[UsageError]:
    place = host.place(option.name) or inventory.path
    try:
        value = host.evaluate(option.name)
    except Unresolved as error:
        if not any(word in str(host.variables[option.name]) or word in error.reason for word in _LATER):
            yield UsageError(
                f"{place}: {option.name} cannot be evaluated",
                f"{error.reason} (for {host.name})",
                "correct the template, or set the variable that it uses",
            )
        return
    for what, fix in mistakes(option, value):
        yield UsageError(f"{place}: {what}", fix=fix)
    if option.name.endswith("_port") and str(value).isdigit() and not 1 <= int(value) <= 65535:
        yield UsageError(
            f"{place}: {option.name} is {value}, which is no port",
            "a port is a number from 1 to 65535",
            f"leave it out, and it is {option.default}",
        )


def _differing(inventory: Inventory, options: Mapping[str, Option]) -> Iterator[UsageError]:
    shared = [name for name, option in options.items() if option.role == "cluster" and name not in PER_HOST]
    for name in shared:
        values = {host.name: host.option(name, None) for host in inventory.hosts}
        first = next(iter(values), None)
        for host, value in values.items():
            if first is not None and value != values[first]:
                place = _place(inventory, name, host)
                yield UsageError(
                    f"{place}: {name} is {value!r} for {host} and {values[first]!r} for {first}",
                    "the whole cluster shares this option",
                    "set it once, in group_vars/all.yml",
                )
                break


def _distribution(inventory: Inventory) -> Iterator[UsageError]:
    distribution = inventory.option("cluster_distribution", None)
    if distribution in ("k3s", "eks"):
        yield UsageError(
            f"{_place(inventory, 'cluster_distribution')}: cluster_distribution {distribution} is not in this "
            "release yet",
            "this release has: kubeadm",
            "set cluster_distribution: kubeadm",
        )


def _version(inventory: Inventory) -> Iterator[UsageError]:
    version = str(inventory.option("cluster_version", None))
    if version == "None" or re.fullmatch(r"\d+\.\d+\.\d+", version):
        return
    without_v = version.lstrip("vV")
    if re.fullmatch(r"\d+\.\d+\.\d+", without_v):
        fix = f'did you mean "{without_v}"?'
    elif re.fullmatch(r"\d+\.\d+", without_v):
        fix = f'name the patch release too, in quotes: "{without_v}.4"'
    else:
        fix = 'for example cluster_version: "1.35.4"'
    yield UsageError(
        f"{_place(inventory, 'cluster_version')}: cluster_version is {version!r}",
        "a Kubernetes release has three numbers, without a v",
        fix,
    )


def _names(inventory: Inventory) -> Iterator[UsageError]:
    name = inventory.option("cluster_name", None)
    if not isinstance(name, str):  # said already
        return
    if not DNS_LABEL.fullmatch(name):
        yield UsageError(
            f"{_place(inventory, 'cluster_name')}: cluster_name is {name!r}, which cannot be part of a host name",
            "allowed: lower-case letters, digits and hyphens, at most 63",
            f"did you mean {re.sub('[^a-z0-9]+', '-', name.lower()).strip('-') or 'edgectl'}?",
        )
        return
    endpoint = inventory.option("cluster_endpoint", None)
    if not isinstance(endpoint, str):
        return
    if endpoint.endswith(".local"):
        yield UsageError(
            f"{_place(inventory, 'cluster_endpoint')}: cluster_endpoint {endpoint} ends in .local",
            "that domain belongs to mDNS: Ubuntu and JetPack would ask the network for it, not /etc/hosts",
            f"did you mean {endpoint.removesuffix('.local')}.internal?",
        )
    elif not _DOMAIN.fullmatch(endpoint) or re.fullmatch(r"[\d.]+", endpoint):
        yield UsageError(
            f"{_place(inventory, 'cluster_endpoint')}: cluster_endpoint is {endpoint!r}",
            "it must be a host name with a domain: it stands in the API's certificate and outlives every address",
            f"leave it out, and it is api.{name}.internal",
        )


def _place(inventory: Inventory, option: str, host: str | None = None) -> Place | str:
    owner = inventory.host(host) if host else inventory.hosts[0]
    return owner.place(option) or str(inventory.path)
