"""The node image: a Debian root directory, imported into the lab's podman under a name that tells its content."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import yaml

from edgectl import content
from edgectl.lab import debian, machine
from edgectl.lab.parts import build_log, one_at_a_time
from edgectl.lab.paths import SYSTEM
from edgectl.lab.podman import LABEL, image_exists, podman
from edgectl.lab.progress import Progress

REPOSITORY = "localhost/edgectl-lab-node"
_CERTIFICATES = Path("/usr/local/share/ca-certificates")


@dataclass(frozen=True)
class Recipe:
    """All that an image is made from."""

    directory: Path
    packages: tuple[str, ...]
    # Laid into apt's cache, not installed.
    prefetch: tuple[str, ...]
    release: debian.Source
    # Certificate authorities that this machine trusts besides the usual ones, such as a proxy's.
    certificates: tuple[Path, ...]

    @property
    def reference(self) -> str:
        """The image's name; the tag changes with anything the image is made from."""
        digest = hashlib.sha256("\0".join(astuple(self.release)).encode())
        for path in (*_ingredients(self.directory), *self.certificates):
            digest.update(f"{path.name}\0".encode() + path.read_bytes() + b"\0")
        return f"{REPOSITORY}:{digest.hexdigest()[:16]}"


def _ingredients(directory: Path) -> Iterable[Path]:
    """Files of the recipe; what makes a node a Jetson comes later, with its seed."""
    yield directory / "image.yml"
    yield directory / "customize.sh"
    yield from sorted(path for path in (directory / "rootfs").rglob("*") if path.is_file())


def recipe() -> Recipe:
    """Read the recipe in lab/node and what this machine adds to it."""
    directory = content.root() / "lab" / "node"
    data: dict[str, Any] = yaml.safe_load((directory / "image.yml").read_text())
    return Recipe(
        directory=directory,
        packages=tuple(data["packages"]),
        prefetch=tuple(data["prefetch"]),
        release=debian.source(data["suite"]),
        certificates=tuple(sorted(_CERTIFICATES.glob("*.crt"))),
    )


def build(progress: Progress) -> str:
    """Make the image unless this very one exists; its reference."""
    made_from = recipe()
    if image_exists(made_from.reference):
        return made_from.reference
    with one_at_a_time("image", progress), progress.phase("build the node image"):
        if not image_exists(made_from.reference):
            _build(made_from)
            _forget_others(made_from.reference)
    return made_from.reference


def _forget_others(reference: str) -> None:
    """Remove earlier node images; those that a lab still uses refuse, and stay."""
    listed = podman("image", "ls", f"--filter=reference={REPOSITORY}", "--format={{.Repository}}:{{.Tag}}")
    for other in set(listed.stdout.split()) - {reference}:
        podman("image", "rm", other, check=False)


def _build(made_from: Recipe) -> None:
    archive = SYSTEM / "node.tar"
    log = build_log("image")
    log.write_text("")
    debian.mmdebstrap(made_from.release, "minbase", made_from.packages, archive, log, customisation(made_from))
    podman("import", f"--change=LABEL={LABEL}=image", archive, made_from.reference)
    machine.run(["rm", "-f", archive], root=True)


def customisation(made_from: Recipe) -> list[str]:
    """mmdebstrap's options: its hooks, and that apt's lists and cache stay for what the nodes install later."""
    script = f'sh "{made_from.directory}/customize.sh" "$1" "{" ".join(made_from.prefetch)}"'
    return [
        "--skip=cleanup/apt",
        *(f"--customize-hook=copy-in {path} {_CERTIFICATES}" for path in made_from.certificates),
        f"--customize-hook=sync-in {made_from.directory}/rootfs /",
        f"--customize-hook={script}",
    ]
