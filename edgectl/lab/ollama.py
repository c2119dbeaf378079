"""The lab's Ollama: the real program from its Go module, in an image, and a tiny model with random weights."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import yaml

from edgectl import content
from edgectl.lab import debian, gguf, gobuild, imagearchive, toolchain
from edgectl.lab.imagearchive import Image, Layer
from edgectl.lab.machine import architecture
from edgectl.lab.manifest import Artifact
from edgectl.lab.parts import Part
from edgectl.lab.progress import Progress

# Raise it when this module, or the model's, makes something else from the same sources.
_FORM = 1
_MODULE = "github.com/ollama/ollama"


def source() -> Path:
    """What the image is made of."""
    return content.root() / "lab" / "ollama"


def part() -> Part:
    """What of the artifact directory is made here."""
    return Part("ollama", source(), _FORM, _fill, inputs=" ".join(image_names()))


def _recipe() -> dict[str, Any]:
    data: dict[str, Any] = yaml.safe_load((source() / "image.yml").read_text())
    return data


def image_names() -> tuple[str, ...]:
    """All names under which the catalogue asks for Ollama."""
    entry = yaml.safe_load((content.root() / "workloads" / "ollama" / "workload.yml").read_text())
    return tuple(sorted({image["image"] for image in entry["images"]}))


def _fill(wanted: Path, log: Path, progress: Progress) -> list[Artifact]:
    recipe = _recipe()
    version, arch = str(recipe["version"]), architecture()
    work = wanted / "work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    go = toolchain.find_or_fetch(arch, progress)
    with progress.phase(f"build Ollama {version} (the first time takes some minutes)"):
        gobuild.install(
            go, [_MODULE], f"v{version}", work, log, linker=f"-X {_MODULE}/version.Version={version}", cgo=True
        )
    place = wanted / f"ollama/{version}/linux-{arch}"
    place.mkdir(parents=True, exist_ok=True)
    with progress.phase("pack its image and its model"):
        base = work / "base.tar"
        debian.mmdebstrap(debian.source("bookworm"), "extract", recipe["packages"], base, log)
        layers = (Layer(base=base), Layer(files={"/usr/bin/ollama": work / "ollama"}))
        imagearchive.write(place / "images.tar", [Image(image_names(), layers, entrypoint=("/usr/bin/ollama",))], arch)
        gguf.write(place / f"{recipe['model']}.gguf", recipe["model"])
    shutil.rmtree(work)
    relative = place.relative_to(wanted)
    return [
        Artifact(f"{relative}/images.tar", "images", "ollama", version, arch, image_names()),
        Artifact(f"{relative}/{recipe['model']}.gguf", "model", recipe["model"], "1", arch),
    ]
