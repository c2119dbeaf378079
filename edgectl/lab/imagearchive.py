"""Writes container images into one archive that `ctr images import` and `podman load` read, without a container engine.

The form is Docker's (`manifest.json`, a configuration and layers for each image). The same input makes the same bytes.
"""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

EXECUTABLE = 0o755
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True)
class Layer:
    """What a layer puts into the image.

    files: path in the image -> file on this machine, all executable. links: path -> target of a symbolic link.
    trees: path in the image -> directory on this machine, all that is in it, as root's. base: an archive whose members
    come first.
    """

    files: dict[str, Path] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    trees: dict[str, Path] = field(default_factory=dict)
    base: Path | None = None


@dataclass(frozen=True)
class Image:
    """An image, with all names it goes by."""

    names: tuple[str, ...]
    layers: tuple[Layer, ...]
    entrypoint: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)


def write(archive: Path, images: Sequence[Image], architecture: str) -> None:
    """Write the images into a new archive. architecture: Go's and Docker's name, such as amd64."""
    manifest = []
    with tarfile.open(archive, "w") as tar:
        for image in images:
            layers = [_add_layer(tar, layer, archive.parent) for layer in image.layers]
            config = json.dumps(_config(image, architecture, layers), sort_keys=True).encode()
            config_name = hashlib.sha256(config).hexdigest() + ".json"
            _add_bytes(tar, config_name, config)
            entry = {
                "Config": config_name,
                "RepoTags": list(image.names),
                "Layers": [f"{digest}.tar" for digest in layers],
            }
            manifest.append(entry)
        _add_bytes(tar, "manifest.json", json.dumps(manifest).encode())


def _config(image: Image, architecture: str, layers: Iterable[str]) -> dict[str, object]:
    environment = {"PATH": PATH, **image.environment}
    settings: dict[str, object] = {"Env": [f"{key}={value}" for key, value in sorted(environment.items())]}
    if image.entrypoint:
        settings["Entrypoint"] = list(image.entrypoint)
    return {
        "architecture": architecture,
        "os": "linux",
        "created": "1970-01-01T00:00:00Z",
        "config": settings,
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}" for digest in layers]},
    }


def _add_layer(tar: tarfile.TarFile, layer: Layer, scratch: Path) -> str:
    """Add a layer; its digest."""
    path = scratch / "layer.tar"
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as inner:
        _fill(inner, layer)
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    name = f"{digest}.tar"
    if name not in tar.getnames():
        with path.open("rb") as file:
            entry = tarfile.TarInfo(name)
            entry.size = path.stat().st_size
            tar.addfile(entry, file)
    path.unlink()
    return digest


def _fill(tar: tarfile.TarFile, layer: Layer) -> None:
    if layer.base:
        with tarfile.open(layer.base) as base:
            for member in base:
                # Device nodes are the container runtime's business.
                if not member.isdev():
                    member.mtime = 0
                    tar.addfile(member, base.extractfile(member) if member.isreg() else None)
    for name, tree in layer.trees.items():
        for path in (tree, *sorted(tree.rglob("*"))):
            tar.add(path, Path(name) / path.relative_to(tree), recursive=False, filter=_of_root)
    for name, source in layer.files.items():
        entry = tarfile.TarInfo(name.lstrip("/"))
        entry.size = source.stat().st_size
        entry.mode = EXECUTABLE
        with source.open("rb") as file:
            tar.addfile(entry, file)
    for name, target in layer.links.items():
        entry = tarfile.TarInfo(name.lstrip("/"))
        entry.type = tarfile.SYMTYPE
        entry.linkname = target
        tar.addfile(entry)


def _of_root(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """The same, whoever made it on this machine and when."""
    entry.uid = entry.gid = entry.mtime = 0
    entry.uname = entry.gname = ""
    return entry


def _add_bytes(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(data)
    tar.addfile(entry, io.BytesIO(data))
