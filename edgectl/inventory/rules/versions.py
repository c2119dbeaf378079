"""The Kubernetes release: well-formed, one that the roles know, and the same wherever it is named."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import yaml

from edgectl import content
from edgectl.inventory.model import Inventory
from edgectl.inventory.options import known_options
from edgectl.inventory.problem import Problem
from edgectl.inventory.rules import distribution

_RELEASE = re.compile(r"(\d+\.\d+)\.\d+")


def problems(inventory: Inventory) -> Iterator[Problem]:
    """cluster_version is a release of a minor that is known, or is locked; repository and artifacts offer that one."""
    if not inventory.hosts:
        return
    value = inventory.option("cluster_version", None)
    if value is None or isinstance(value, list | dict):  # said already
        return
    asked, names = str(value), content.module_util("edgectl_locked")
    wanted = str(inventory.option("cluster_distribution", None))
    to_be_locked = isinstance(value, str) and _needs_lock(asked, wanted)
    if not _RELEASE.fullmatch(asked) and not to_be_locked:
        yield _malformed(inventory, value)
        return
    try:
        lock = names.read(str(inventory.path))
    except names.LockError as error:
        yield Problem(inventory.path / names.PATH, str(error), "", f"delete it and run: edgectl lock {inventory.path}")
        return
    needs_files = wanted == "k3s" and not inventory.option("cluster_artifacts_dir", None)
    if (to_be_locked or needs_files) and wanted in distribution.MADE and not names.entry_of(lock, wanted, asked):
        fix = f"edgectl lock {inventory.path}" + (", or set cluster_artifacts_dir" if not to_be_locked else "")
        yield _not_locked(inventory, asked, lock.get("locked", {}).get(names.NAMES[wanted]), fix)
    release = names.release(lock, wanted, asked)
    if release is None:
        return
    minor = release.rpartition(".")[0]
    if minor not in known_minors():
        yield _unknown(inventory, release)
    yield from _other_repository(inventory, release, minor)
    yield from _other_artifacts(inventory, release)


def _needs_lock(asked: str, wanted: str) -> bool:
    """Whether it is a form of cluster_version that stands for a release which only a lock can tell."""
    names = content.module_util("edgectl_locked")
    forms = {"kubeadm": ("stable",), "k3s": ("stable", "latest")}
    if wanted not in forms:
        return False
    of_k3s = wanted == "k3s" and bool(names.exact(asked)) and "+" in asked
    return asked in forms[wanted] or bool(names.minor(asked)) or of_k3s


def _not_locked(inventory: Inventory, asked: str, held: Mapping[str, str] | None, fix: str) -> Problem:
    return Problem(
        inventory.place("cluster_version"),
        f"cluster_version {asked} is not locked",
        f"the lock has {held['version']}, for {held['asked']}"
        if held
        else "a lock says which release that is, and has the sha256 of its files",
        fix,
        key="cluster_version",
    )


@cache
def known_minors() -> tuple[str, ...]:
    """Minor releases of Kubernetes that the roles know, oldest first: those whose pause image is recorded."""
    roles = content.root() / "roles"
    recorded = yaml.safe_load((roles / "containerd" / "vars" / "main.yml").read_text())["__containerd_pause"]
    return tuple(sorted(recorded, key=lambda minor: [int(number) for number in minor.split(".")]))


def _malformed(inventory: Inventory, value: object) -> Problem:
    default = known_options()["cluster_version"].default
    text = str(value).lstrip("vV")
    why = "a Kubernetes release has three numbers, without a v"
    if isinstance(value, float):
        why += "; without quotes YAML reads two numbers as one, and 1.30 becomes 1.3"
    if _RELEASE.fullmatch(text):
        fix = f'did you mean "{text}"?'
    elif str(default).startswith(f"{text}."):
        fix = f'name the patch release too, in quotes: "{default}"'
    else:
        fix = f'for example cluster_version: "{default}"'
    return Problem(inventory.place("cluster_version"), f"cluster_version is {value!r}", why, fix, key="cluster_version")


def _unknown(inventory: Inventory, version: str) -> Problem:
    minors = known_minors()
    return Problem(
        inventory.place("cluster_version"),
        f"cluster_version {version} is no release that this edgectl knows",
        f"it knows Kubernetes {minors[0]} to {minors[-1]}",
        f'set cluster_version: "{known_options()["cluster_version"].default}"',
        key="cluster_version",
    )


def _other_repository(inventory: Inventory, version: str, minor: str) -> Iterator[Problem]:
    for host in inventory.hosts:
        named = re.search(r"/v(\d+\.\d+)/", str(host.option("kubeadm_repository", "")))
        if named and named[1] != minor:
            yield Problem(
                host.place("kubeadm_repository") or inventory.path,
                f"kubeadm_repository holds Kubernetes {named[1]}, and cluster_version is {version}",
                "a repository of Kubernetes' packages holds one minor release",
                "leave kubeadm_repository out, and it follows cluster_version",
                key="kubeadm_repository",
            )


def _other_artifacts(inventory: Inventory, version: str) -> Iterator[Problem]:
    directory = str(inventory.option("cluster_artifacts_dir", None) or "")
    if not directory.startswith(("/", "~")):  # said already
        return
    manifest = Path(directory).expanduser() / "manifest.json"
    place = inventory.place("cluster_artifacts_dir")
    try:
        document = json.loads(manifest.read_text(encoding="utf-8"))
        wanted = "k3s" if inventory.option("cluster_distribution", None) == "k3s" else "kubelet"
        programs = [file for file in document["files"] if file["name"] == wanted and file["kind"] == "binary"]
        # k3s counts its own releases of one of Kubernetes: v1.35.4+k3s1.
        offered = sorted({str(file["version"]).removeprefix("v").partition("+")[0] for file in programs})
    except (OSError, ValueError, KeyError, TypeError):
        yield Problem(
            place,
            "cluster_artifacts_dir holds no manifest.json that can be read",
            f"it is {directory}, on this machine",
            "name a directory that `edgectl fetch` has filled, or leave it out to fetch from upstream",
            key="cluster_artifacts_dir",
        )
        return
    if version not in offered:
        yield Problem(
            place,
            f"cluster_artifacts_dir has no {'k3s' if wanted == 'k3s' else 'Kubernetes'} {version}, "
            "which cluster_version asks for",
            f"its manifest.json names {', '.join(offered) or 'no ' + wanted}",
            f'set cluster_version: "{offered[-1]}"' if offered else "",
            key="cluster_artifacts_dir",
        )
