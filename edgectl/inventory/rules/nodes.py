"""Labels and taints of nodes: such as Kubernetes accepts, and none that somebody else writes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from edgectl.inventory.model import Host, Inventory
from edgectl.inventory.problem import Problem

_LABELS = "cluster_node_labels"
_TAINTS = "cluster_node_taints"
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
# kubernetes.io, "Labels and Selectors", Syntax and character set.
_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
_KEY = re.compile(r"(?P<prefix>[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
# Keys, or beginnings of keys, that others write, and what to do instead (kubernetes.io, "Well-Known Labels, Annotations
# and Taints").
_OTHERS = {
    "nvidia.com/": ("role device_plugin writes these", "for a taint: device_plugin_taint: true"),
    "edgectl.io/": ("edgectl keeps these for itself", "take a prefix of your own, such as home.arpa/"),
    "node.kubernetes.io/": ("Kubernetes itself writes these, by the state of the node", "take a key of your own"),
    "node-role.kubernetes.io/control-plane": ("the distribution gives it to control planes", "take it out"),
    "node-role.kubernetes.io/etcd": ("the distribution gives it to control planes", "take it out"),
    "kubernetes.io/arch": ("kubelet writes it, and puts it back", "take it out"),
    "kubernetes.io/hostname": ("kubelet writes it, and puts it back", "take it out"),
    "kubernetes.io/os": ("kubelet writes it, and puts it back", "take it out"),
    "beta.kubernetes.io/": ("kubelet writes these, and puts them back", "take it out"),
}


def problems(inventory: Inventory) -> Iterator[Problem]:
    """Each label and each taint of a host can be on its node, and is the inventory's to give."""
    for host in inventory.hosts:
        labels, taints = host.option(_LABELS, None), host.option(_TAINTS, None)
        for key, value in labels.items() if isinstance(labels, Mapping) else ():
            yield from _key(inventory, host, _LABELS, str(key))
            yield from _value(inventory, host, str(key), value)
        for taint in taints if isinstance(taints, list) else ():
            yield from _taint(inventory, host, str(taint))


def _key(inventory: Inventory, host: Host, option: str, key: str) -> Iterator[Problem]:
    other = next((known for known in _OTHERS if key == known or (known.endswith("/") and key.startswith(known))), None)
    if other is not None:
        yield _problem(
            inventory, host, option, f"{option} names {key}, which is not the inventory's to set", *_OTHERS[other]
        )
    elif not _KEY.fullmatch(key):
        yield _problem(
            inventory,
            host,
            option,
            f"{option} names {key!r}, which can be no key",
            "allowed: letters, digits, and - _ . in between, at most 63; a domain and / may stand before it",
            f"for example {'camera' if option == _LABELS else 'battery=low:NoSchedule'}",
        )


def _value(inventory: Inventory, host: Host, key: str, value: object) -> Iterator[Problem]:
    if isinstance(value, bool):
        what, fix = (
            f"is {value}, because YAML takes it for a truth value",
            f'put it in quotes: {key}: "{str(value).lower()}"',
        )
    elif not isinstance(value, (str, int, float)) or not _VALUE.fullmatch(str(value)):
        what, fix = f"is {value!r}, which can be no value of a label", "for example: cellar"
    else:
        return
    why = "allowed: text of letters, digits, and - _ . in between, at most 63"
    yield _problem(inventory, host, _LABELS, f"{_LABELS}: {key} {what}", why, fix)


def _taint(inventory: Inventory, host: Host, taint: str) -> Iterator[Problem]:
    name, _, effect = taint.rpartition(":")
    key, _, value = name.partition("=")
    if effect not in _EFFECTS or not _VALUE.fullmatch(value):
        yield _problem(
            inventory,
            host,
            _TAINTS,
            f"{_TAINTS} has {taint!r}, which is no taint",
            f"it is KEY=VALUE:EFFECT or KEY:EFFECT, and EFFECT is one of {', '.join(_EFFECTS)}",
            "for example battery=low:NoSchedule",
        )
        return
    yield from _key(inventory, host, _TAINTS, key)


def _problem(inventory: Inventory, host: Host, option: str, what: str, why: str, fix: str) -> Problem:
    return Problem(host.place(option) or inventory.path, what, why, fix, key=option)
