"""`.edgectl/artifacts.lock.yml` of an inventory: made from what the inventory asks for and from what upstreams say.

What is locked stays as long as it is what the inventory asks for; so a channel stands for the same release until
somebody wants the next. Files are written down for all architectures that edgectl knows: which one a host has, no
inventory says.
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TypeAlias

import yaml

from edgectl import content
from edgectl.errors import EdgectlError, UsageError
from edgectl.inventory.model import Host, Inventory
from edgectl.inventory.problem import Problem
from edgectl.inventory.rules.versions import known_minors
from edgectl.upstream import helm, images, k3s, kubernetes
from edgectl.upstream.file import File
from edgectl.upstream.web import Web

_HEADER = """\
# Written by `edgectl lock`; commit it. It says which releases the inventory's wishes stand for, and the sha256 of their
# files as upstream publishes them. `edgectl lock --upgrade` asks upstream anew.
"""
_CHANNELS = ("stable", "latest")
_Resolve: TypeAlias = Callable[[Web], str]
_Files: TypeAlias = Callable[[Web, str], Iterator[File]]


@dataclass(frozen=True)
class Wish:
    """One thing that an inventory needs of an upstream. asked: as the inventory has it. key: the option that asks."""

    name: str
    asked: str
    key: str
    resolve: _Resolve
    files: _Files
    known: bool = False
    """Whether its release must be one of a minor that edgectl knows."""


@dataclass(frozen=True)
class Locked:
    """The release that a wish stands for."""

    asked: str
    version: str


@dataclass(frozen=True)
class Lock:
    """The whole file."""

    locked: Mapping[str, Locked] = field(default_factory=dict)
    files: tuple[File, ...] = ()

    def of(self, name: str) -> tuple[File, ...]:
        """The files of one thing that is locked."""
        version = self.locked[name].version if name in self.locked else None
        return tuple(one for one in self.files if one.version == version and _belongs(one, name))


@dataclass(frozen=True)
class Move:
    """What another lock has in place of an older one; `was` or `now` is empty where there is none."""

    name: str
    asked: str
    was: str
    now: str


def path(inventory: Path) -> Path:
    """The lock file of an inventory directory."""
    return inventory / str(_shared().PATH)


def read(inventory: Path) -> Lock:
    """The lock of an inventory directory, an empty one where there is none. Raises UsageError."""
    try:
        document = _shared().read(str(inventory))
    except _shared().LockError as error:
        fix = f"git checkout -- {path(inventory)}, or delete it and run: edgectl lock {inventory}"
        raise UsageError(str(error), fix=fix) from error
    return Lock(
        {name: Locked(str(one["asked"]), str(one["version"])) for name, one in document.get("locked", {}).items()},
        tuple(File.of(one) for one in document.get("files", [])),
    )


def current(inventory: Inventory) -> Lock:
    """The lock of an inventory, where it is what the inventory asks for. Raises UsageError."""
    old = read(inventory.path)
    again = f"edgectl lock {inventory.path}"
    if not old.locked:
        raise UsageError(f"nothing is locked for {inventory.path} yet", f"there is no {path(inventory.path)}", again)
    for wish in wishes(inventory):
        kept = old.locked.get(wish.name)
        if kept is None or not _fits(kept, wish):
            held = f"the lock has {kept.version}, for {kept.asked}" if kept else f"the lock has no {wish.name}"
            place = inventory.place(wish.key)
            raise Problem(place, f"{wish.name} {wish.asked} is asked for, and is not locked", held, again, key=wish.key)
    return old


def wishes(inventory: Inventory) -> list[Wish]:
    """What an inventory needs of upstreams. Raises Problem for what cannot be asked for."""
    return [_release(inventory), *_charts(inventory)]


def web(inventory: Inventory) -> Web:
    """How this inventory's upstreams are reached."""
    mirror = str(inventory.option("cluster_artifacts_mirror", "") or "")
    if mirror and not re.fullmatch(r"https?://\S+", mirror):
        key = "cluster_artifacts_mirror"
        fix = f"for example {key}: https://mirror.lan/artifacts"
        raise Problem(inventory.place(key), f"{key} is {mirror!r}", "allowed: a URL", fix, key=key)
    return Web(mirror)


def resolve(inventory: Inventory, old: Lock, *, upgrade: bool = False) -> Lock:
    """The lock that an inventory should have. upgrade: what is locked counts for nothing. Raises EdgectlError."""
    reach = web(inventory)
    locked: dict[str, Locked] = {}
    files: list[File] = []
    for wish in wishes(inventory):
        kept = old.locked.get(wish.name)
        if kept and not upgrade and _fits(kept, wish):
            locked[wish.name] = Locked(wish.asked, kept.version)
            files += old.of(wish.name)
            continue
        version = wish.resolve(reach)
        if wish.known:
            _require_known(inventory, wish, version)
        found = list(wish.files(reach, version))
        _require_same_bytes(old, found)
        locked[wish.name] = Locked(wish.asked, version)
        files += found
    return Lock(locked, tuple(sorted(files, key=lambda one: (one.name, one.kind, one.arch, one.images))))


def moves(old: Lock, new: Lock) -> list[Move]:
    """What differs between two locks, by name."""
    names = sorted({*old.locked, *new.locked})
    found = [
        Move(
            name,
            new.locked[name].asked if name in new.locked else "",
            old.locked[name].version if name in old.locked else "",
            new.locked[name].version if name in new.locked else "",
        )
        for name in names
    ]
    return [move for move in found if move.was != move.now]


def write(inventory: Path, lock: Lock) -> Path:
    """Replace the lock file in one step; its path."""
    target = path(inventory)
    document = {
        "schema_version": _shared().SCHEMA_VERSION,
        "locked": {name: {"asked": one.asked, "version": one.version} for name, one in sorted(lock.locked.items())},
        "files": [one.document() for one in lock.files],
    }
    text = f"{_HEADER}---\n{yaml.safe_dump(document, sort_keys=False, width=1000)}"
    target.parent.mkdir(exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=".artifacts.lock.", dir=target.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fchmod(stream.fileno(), 0o644)
            os.fsync(stream.fileno())
        Path(temporary).replace(target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            Path(temporary).unlink()
        raise
    return target


def _release(inventory: Inventory) -> Wish:
    """The Kubernetes of the cluster."""
    distribution, value = str(inventory.option("cluster_distribution", "")), inventory.option("cluster_version", None)
    how = {"k3s": _of_k3s, "kubeadm": _of_kubernetes}.get(distribution)
    if how is None:
        raise Problem(
            inventory.place("cluster_distribution"),
            f"cluster_distribution is {distribution}, of which nothing can be locked",
            "edgectl lock knows k3s and kubeadm",
            key="cluster_distribution",
        )
    asked, names = str(value), _shared()
    if not isinstance(value, str) or not (names.exact(asked) or names.minor(asked) or asked in _CHANNELS):
        raise _refused(inventory, value, "allowed, in quotes: a release (1.35.4), a minor (1.35), stable or latest")
    resolve, files = how(inventory, asked)
    return Wish(names.NAMES[distribution], asked, "cluster_version", resolve, files, known=True)


def _of_k3s(_: Inventory, asked: str) -> tuple[_Resolve, _Files]:
    exact, minor = _shared().exact(asked), _shared().minor(asked)
    if "+" in asked:
        return _given(f"v{asked.lstrip('v')}"), k3s.files
    if exact:
        return partial(k3s.newest, release=exact), k3s.files
    return partial(k3s.channel, name=f"v{minor}" if minor else asked), k3s.files


def _of_kubernetes(inventory: Inventory, asked: str) -> tuple[_Resolve, _Files]:
    exact, minor = _shared().exact(asked), _shared().minor(asked)
    if asked == "latest":
        raise _refused(inventory, asked, "what Kubernetes calls latest is still being tested")
    if "+" in asked:
        raise _refused(inventory, asked, "that is a release of k3s, and cluster_distribution is kubeadm")
    return _given(f"v{exact}") if exact else partial(kubernetes.newest, minor=minor or ""), _kubernetes_files


def _kubernetes_files(web: Web, version: str) -> Iterator[File]:
    yield from kubernetes.files(web, version)
    yield from images.files(web, version)


def _refused(inventory: Inventory, value: object, why: str) -> Problem:
    fix = f'for example cluster_version: "{known_minors()[-1]}"'
    return Problem(inventory.place("cluster_version"), f"cluster_version is {value!r}", why, fix, key="cluster_version")


def _given(version: str) -> _Resolve:
    return lambda _: version


def _charts(inventory: Inventory) -> Iterator[Wish]:
    """Helm and NVIDIA's chart, where a host wants them and has no files of its own for them."""
    wanting = [host for host in inventory.hosts if host.option("device_plugin_install", "") == "chart"]
    if any(not host.option("device_plugin_helm", {}) for host in wanting):
        yield Wish("helm", "3", "device_plugin_install", helm.newest_helm, helm.helm_files)
    if host := next((host for host in wanting if not host.option("device_plugin_chart", {})), None):
        version = _chart_version(host)
        yield Wish(helm.CHART_ARTIFACT, version, "device_plugin_image", _given(version), helm.chart_files)


def _chart_version(host: Host) -> str:
    """That of the device plugin's image: they are released together."""
    image = str(host.option("device_plugin_image", ""))
    version = image.rpartition(":")[2].removeprefix("v")
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        raise Problem(
            host.place("device_plugin_image") or "device_plugin_image",
            f"device_plugin_image {image} does not tell which release of NVIDIA's chart belongs to it",
            "the chart has the number of the image's tag, such as v0.20.0",
            "name the chart's file in device_plugin_chart",
            key="device_plugin_image",
        )
    return version


def _require_known(inventory: Inventory, wish: Wish, version: str) -> None:
    minor, known = ".".join(version.lstrip("v").split(".")[:2]), known_minors()
    if minor not in known:
        raise Problem(
            inventory.place(wish.key),
            f"{wish.key} {wish.asked} is {version} now, no release that this edgectl knows",
            f"it knows Kubernetes {known[0]} to {known[-1]}",
            f'set {wish.key}: "{known[-1]}"',
            key=wish.key,
        )


def _require_same_bytes(old: Lock, found: Iterable[File]) -> None:
    """A release that has been published stays as it was; other bytes under its name are somebody else's."""
    before = {_identity(one): one.sha256 for one in old.files}
    for one in found:
        known = before.get(_identity(one), one.sha256)
        if known != one.sha256:
            raise EdgectlError(
                f"{one.url} is not the file any more that the lock names",
                f"its sha256 was {known}, and upstream now publishes {one.sha256}",
                "find out why; to believe it, delete the lock and run this again",
            )


def _identity(one: File) -> tuple[str, ...]:
    """What must not change its bytes: a file of a release, an image with its tag."""
    return (one.path, *(one.images if one.kind == images.KIND else ()))


def _fits(kept: Locked, wish: Wish) -> bool:
    if not wish.known:  # what else is asked for has a number of its own, or is the newest
        return kept.asked == wish.asked
    return bool(_shared().fits({"asked": kept.asked, "version": kept.version}, wish.asked))


def _belongs(one: File, name: str) -> bool:
    return one.name in ((*kubernetes.PROGRAMS, name) if name == "kubernetes" else (name,))


def _shared() -> ModuleType:
    """The code that the roles read the lock with, too."""
    return content.module_util("edgectl_locked")
