"""A directory for sites without internet: all files that a lock names, with the manifest that roles read.

What is there and right stays; a file that was begun goes on where it ended. The manifest is written last, and keeps
what else it named: such as images that somebody has added.
"""

from __future__ import annotations

import shutil
import tarfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal, cast

from edgectl import content
from edgectl.errors import EdgectlError
from edgectl.lab import manifest
from edgectl.lab.progress import Progress
from edgectl.upstream import images
from edgectl.upstream.file import File
from edgectl.upstream.lock import Lock
from edgectl.upstream.web import Web

_Kind = Literal["binary", "chart", "images", "layer", "model"]


@dataclass(frozen=True)
class Fetched:
    """What a directory has now. new: of these, what was not there before."""

    files: tuple[File, ...]
    new: tuple[File, ...]


def wanted(lock: Lock, architectures: Collection[str]) -> list[File]:
    """The files of a lock that hosts of these architectures need."""
    return [one for one in lock.files if one.arch in (*architectures, "any")]


def fetch(files: Collection[File], target: Path, web: Web, progress: Progress) -> Fetched:
    """Bring the files to a directory, and write its manifest. Raises EdgectlError."""
    new = []
    try:
        for one in (one for one in files if one.kind != images.KIND):
            place = target / one.path
            archive = place.with_name(one.url.rpartition("/")[2]) if one.member else place
            if not _is_there(archive, one):
                with progress.phase(_told(one)):
                    came = web.fetch(one.url, one.sha256, archive)
                new += [one] if came else []
            if one.member:
                _unpack(archive, one.member, place)
            if one.kind == "binary":
                place.chmod(0o755)
        packed = _packed(files)
        for path, inside in packed.items():
            new += inside if images.pack(inside, target / path, web, progress) else []
        manifest.add(target, [_artifact(one) for one in files if one.kind != images.KIND] + _archives(packed))
    except OSError as error:
        raise EdgectlError(
            f"{target} cannot be filled", str(error), "see that it can be written and has room"
        ) from error
    return Fetched(tuple(files), tuple(new))


def _told(one: File) -> str:
    what = f"images of {one.name}" if one.kind == "images" else one.name
    size = f", {one.size / 2**20:.0f} MiB" if one.size else ""
    return f"{what} {one.version}{f' for {one.arch}' if one.arch != 'any' else ''}{size}"


def _packed(files: Collection[File]) -> dict[str, list[File]]:
    """The images among files, by the archive that they go to."""
    found: dict[str, list[File]] = {}
    for one in files:
        if one.kind == images.KIND:
            found.setdefault(one.path, []).append(one)
    return found


def _archives(packed: Mapping[str, list[File]]) -> list[manifest.Artifact]:
    return [
        manifest.Artifact(path, "images", one.name, one.version, one.arch, tuple(image.images[0] for image in inside))
        for path, inside in packed.items()
        for one in inside[:1]
    ]


def _is_there(place: Path, one: File) -> bool:
    """By its sha256, which takes its time: only where the size may be right."""
    if not place.is_file() or (one.size is not None and place.stat().st_size != one.size):
        return False
    return bool(content.module_util("edgectl_fetch").digest_of(str(place)) == one.sha256)


def _unpack(archive: Path, member: str, place: Path) -> None:
    """Take one file out of an archive, in one step."""
    part = place.with_name(place.name + ".part")
    try:
        with tarfile.open(archive) as tar, part.open("wb") as file:
            shutil.copyfileobj(cast("IO[bytes]", tar.extractfile(member)), file)
    except (tarfile.TarError, KeyError, AttributeError) as error:  # the last: it is a directory
        part.unlink(missing_ok=True)
        raise EdgectlError(f"{archive} has no file {member}", str(error)) from error
    part.replace(place)


def _artifact(one: File) -> manifest.Artifact:
    return manifest.Artifact(one.path, cast("_Kind", one.kind), one.name, one.version, one.arch, one.images)
