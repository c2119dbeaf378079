"""`manifest.json` of an artifact directory: each file with its kind, version, size and sha256."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from edgectl.errors import EdgectlError

SCHEMA_VERSION = 1
NAME = "manifest.json"


@dataclass(frozen=True)
class Artifact:
    """One file. path: below the directory, with slashes. images: the names in an image archive."""

    path: str
    kind: Literal["binary", "chart", "images", "layer", "model"]
    name: str
    version: str
    arch: str
    images: tuple[str, ...] = ()


def write(directory: Path, artifacts: Sequence[Artifact]) -> None:
    """Measure the files and write the manifest, last: a directory that has one is complete."""
    _write(directory, [_entry(directory, artifact) for artifact in artifacts])


def add(directory: Path, artifacts: Sequence[Artifact]) -> None:
    """Measure files and name them in the manifest, after those that it names already."""
    try:
        entries = list(json.loads((directory / NAME).read_text())["files"])
    except FileNotFoundError:
        entries = []
    except (ValueError, KeyError, TypeError) as error:
        raise EdgectlError(f"{directory / NAME} is no manifest", str(error), "name another directory") from error
    own = {artifact.path for artifact in artifacts}
    kept = [entry for entry in entries if entry.get("path") not in own]
    _write(directory, [*kept, *(_entry(directory, artifact) for artifact in artifacts)])


def join(directory: Path, parts: Sequence[Path]) -> None:
    """Make a directory with all files that the parts' manifests name: hard links, so they take no more disk."""
    entries: list[dict[str, Any]] = []
    for part in parts:
        for entry in json.loads((part / NAME).read_text())["files"]:
            path = directory / entry["path"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink(missing_ok=True)
            path.hardlink_to(part / entry["path"])
            entries.append(entry)
    _write(directory, entries)


def _write(directory: Path, entries: list[dict[str, Any]]) -> None:
    document = {"schema_version": SCHEMA_VERSION, "files": entries}
    temporary = directory / (NAME + ".new")
    temporary.write_text(json.dumps(document, indent=2) + "\n")
    temporary.replace(directory / NAME)


def _entry(directory: Path, artifact: Artifact) -> dict[str, Any]:
    path = directory / artifact.path
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    entry = {**asdict(artifact), "sha256": digest, "size": path.stat().st_size}
    images = entry.pop("images")
    return {**entry, "images": list(images)} if images else entry


def complete(directory: Path) -> bool:
    """Whether the directory has a manifest and all its files in the right size (their digests are read on use)."""
    try:
        document = json.loads((directory / NAME).read_text())
    except (OSError, ValueError):
        return False
    files = document.get("files", [])
    return document.get("schema_version") == SCHEMA_VERSION and all(
        (directory / entry["path"]).is_file() and (directory / entry["path"]).stat().st_size == entry["size"]
        for entry in files
    )
