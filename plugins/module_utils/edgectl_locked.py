"""The lock file of an inventory, `.edgectl/artifacts.lock.yml`: which releases are meant, and their files' sha256.

`edgectl lock` writes it. Read here for the command line, the rules of an inventory, and the roles. Runs on the
controller only.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

import yaml

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

PATH = os.path.join(".edgectl", "artifacts.lock.yml")
SCHEMA_VERSION = 1
# By what name the lock has the release that cluster_version asks for.
NAMES = {"k3s": "k3s", "kubeadm": "kubernetes"}
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# As cluster_version has it: 1.35.4 (1.35.4+k3s2 for one of k3s' own releases of it), 1.35, or a channel's name.
_EXACT = re.compile(r"v?(\d+\.\d+\.\d+)(\+k3s\d+)?")
_MINOR = re.compile(r"v?(\d+\.\d+)")
_FIELDS = {"name": str, "kind": str, "version": str, "arch": str, "path": str, "url": str, "sha256": str}


class LockError(Exception):
    """What is wrong with a lock file, in one line."""


def read(directory: str) -> dict[str, Any]:
    """The lock of an inventory directory; empty where there is none. Raises LockError."""
    path = os.path.join(directory, PATH)
    try:
        with open(path, encoding="utf-8") as file:
            document = yaml.load(file, Loader=_LOADER)  # noqa: S506 - the C form of the safe loader
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise LockError("{} cannot be read ({})".format(path, str(error).splitlines()[0])) from error
    if not _has_form(document):
        raise LockError("{} has not the form that edgectl writes".format(path))
    return dict(document)


def _has_form(document: object) -> bool:
    if not isinstance(document, Mapping) or document.get("schema_version") != SCHEMA_VERSION:
        return False
    locked, files = document.get("locked"), document.get("files")
    return (
        isinstance(locked, Mapping)
        and all(isinstance(entry, Mapping) and {"asked", "version"} <= entry.keys() for entry in locked.values())
        and isinstance(files, list)
        and all(
            isinstance(file, Mapping) and all(isinstance(file.get(key), kind) for key, kind in _FIELDS.items())
            for file in files
        )
        and all(re.fullmatch("[0-9a-f]{64}", file["sha256"]) and _is_below(file["path"]) for file in files)
    )


def _is_below(path: str) -> bool:
    return not path.startswith("/") and ".." not in path.split("/")


def exact(asked: str) -> Optional[str]:
    """The Kubernetes release that cluster_version names by itself, such as 1.35.4; None for a minor or a channel."""
    found = _EXACT.fullmatch(asked)
    return found.group(1) if found else None


def minor(asked: str) -> Optional[str]:
    """The minor that cluster_version names, such as 1.35; None for a release or a channel."""
    found = _MINOR.fullmatch(asked)
    return found.group(1) if found else None


def fits(entry: Mapping[str, Any], asked: str) -> bool:
    """Whether a locked release is one that `asked` may stand for."""
    version = str(entry["version"]).lstrip("v")
    if exact(asked):
        return asked.lstrip("v") in (version, version.partition("+")[0])
    if minor(asked):
        return version.startswith("{}.".format(minor(asked)))
    return bool(entry["asked"] == asked)


def entry_of(document: Mapping[str, Any], distribution: str, asked: str) -> Optional[Mapping[str, Any]]:
    """What is locked of a distribution, where that is what `asked` stands for."""
    entry = (document.get("locked") or {}).get(NAMES.get(distribution, ""))
    return entry if entry and fits(entry, asked) else None


def release(document: Mapping[str, Any], distribution: str, asked: str) -> Optional[str]:
    """The Kubernetes release that cluster_version stands for, such as 1.35.4; None where the lock does not know."""
    entry = entry_of(document, distribution, asked)
    return exact(asked) or (exact(str(entry["version"])) if entry else None)


def files(document: Mapping[str, Any], distribution: str, asked: str) -> list[dict[str, Any]]:
    """The files of the distribution that are locked, for all architectures; none where another release is."""
    entry = entry_of(document, distribution, asked)
    return [dict(file) for file in document.get("files", []) if entry and file["version"] == entry["version"]]


def cache() -> str:
    """Where roles keep the files that they have fetched, on the controller."""
    return os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "edgectl", "artifacts")
