"""GPUs, as far as it can be judged without knowing them: how they are shared, and what namespaces get of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from edgectl import content
from edgectl.inventory.model import Host, Inventory
from edgectl.inventory.problem import Problem
from edgectl.inventory.rules.hosts import DNS_LABEL

_SHARING = "device_plugin_sharing"
_QUOTAS = "device_plugin_quotas"
_KEY = "device_plugin_ngc_key"
_NAMESPACES = "device_plugin_ngc_namespaces"


def problems(inventory: Inventory) -> Iterator[Problem]:
    """A GPU is offered several times where that is asked for, and only there; namespaces are such, and numbers too."""
    for host in inventory.hosts:
        yield from _sharing(inventory, host)
        yield from _quotas(inventory, host)
        yield from _registry(inventory, host)


def _sharing(inventory: Inventory, host: Host) -> Iterator[Problem]:
    sharing = host.option(_SHARING, None)
    rule = content.module_util("edgectl_gpu_sharing")
    mistake = rule.misnumbered(sharing) if isinstance(sharing, Mapping) else None
    if mistake:
        yield _problem(inventory, host, _SHARING, f"{_SHARING}: {mistake.what}", mistake.why, mistake.fix)


def _quotas(inventory: Inventory, host: Host) -> Iterator[Problem]:
    quotas = host.option(_QUOTAS, None)
    for namespace, limit in quotas.items() if isinstance(quotas, Mapping) else ():
        if not DNS_LABEL.fullmatch(str(namespace)):
            yield _no_namespace(inventory, host, _QUOTAS, namespace)
        elif isinstance(limit, bool) or not str(limit).isdecimal():
            yield _problem(
                inventory,
                host,
                _QUOTAS,
                f"{_QUOTAS}.{namespace} is {limit!r}, and must be a number of GPUs",
                "allowed: whole numbers from 0 (none) on",
                f"for example {_QUOTAS}: {{{namespace}: 1}}",
            )


def _registry(inventory: Inventory, host: Host) -> Iterator[Problem]:
    key, namespaces = host.option(_KEY, None) or "", host.option(_NAMESPACES, None) or []
    for namespace in namespaces if isinstance(namespaces, list) else ():
        if not DNS_LABEL.fullmatch(str(namespace)):
            yield _no_namespace(inventory, host, _NAMESPACES, namespace)
    if namespaces and not key:
        yield _problem(
            inventory,
            host,
            _NAMESPACES,
            f"{_NAMESPACES} names namespaces, and {_KEY} is empty",
            "pods there could pull nothing from nvcr.io",
            f"put {_KEY} into a vaulted file, or set the variable of the environment that it is read from",
        )
    elif key and not namespaces:
        yield _problem(
            inventory,
            host,
            _KEY,
            f"{_KEY} is set, and {_NAMESPACES} is empty",
            "no namespace would get the key",
            f"for example {_NAMESPACES}: [default]",
        )
    elif re.search(r"\s", str(key)):
        yield _problem(
            inventory, host, _KEY, f"{_KEY} has a space or a line's end in it", "no key of NGC has", "copy it once more"
        )


def _no_namespace(inventory: Inventory, host: Host, option: str, name: object) -> Problem:
    return _problem(
        inventory,
        host,
        option,
        f"{option} names {name!r}, which can be no namespace",
        "allowed: lower-case letters, digits and hyphens, at most 63",
        f"did you mean {re.sub('[^a-z0-9]+', '-', str(name).lower()).strip('-') or 'default'}?",
    )


def _problem(inventory: Inventory, host: Host, option: str, what: str, why: str, fix: str) -> Problem:
    return Problem(host.place(option) or inventory.path, what, why, fix, key=option)
