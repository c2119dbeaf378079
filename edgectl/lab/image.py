"""The node image: a Debian root directory made by mmdebstrap, imported into the lab's podman, named by its content."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from edgectl import content
from edgectl.lab import machine
from edgectl.lab.paths import SYSTEM
from edgectl.lab.podman import LABEL, image_exists, podman
from edgectl.lab.progress import Progress

REPOSITORY = "localhost/edgectl-lab-node"
_CERTIFICATES = Path("/usr/local/share/ca-certificates")


@dataclass(frozen=True)
class Recipe:
    """All that an image is made from."""

    directory: Path
    suite: str
    packages: tuple[str, ...]
    prefetch: tuple[str, ...]
    # How this machine's apt fetches (proxies and the like), which the nodes must do too.
    apt_options: str
    # Sources in place of Debian's own, "" for these.
    sources: str
    certificates: tuple[Path, ...]

    @property
    def reference(self) -> str:
        """The image's name; the tag changes with anything the image is made from."""
        digest = hashlib.sha256()
        for path in sorted(self.directory.rglob("*")):
            if path.is_file() and "jetson" not in path.relative_to(self.directory).parts:
                digest.update(f"{path.relative_to(self.directory)}\0".encode() + path.read_bytes() + b"\0")
        for path in self.certificates:
            digest.update(path.read_bytes())
        digest.update(json.dumps([self.apt_options, self.sources]).encode())
        return f"{REPOSITORY}:{digest.hexdigest()[:16]}"


def recipe() -> Recipe:
    """Read the recipe in lab/node and what this machine adds to it."""
    directory = content.root() / "lab" / "node"
    data: dict[str, Any] = yaml.safe_load((directory / "image.yml").read_text())
    mirror = os.environ.get("EDGECTL_LAB_DEBIAN_MIRROR", "")
    return Recipe(
        directory=directory,
        suite=data["suite"],
        packages=tuple(data["packages"]),
        prefetch=tuple(data["prefetch"]),
        apt_options=fetch_options(_apt_settings(), os.environ),
        sources=f"deb {mirror} {data['suite']} main\n" if mirror else _host_sources(data["suite"]),
        certificates=tuple(sorted(_CERTIFICATES.glob("*.crt"))),
    )


def _apt_settings() -> str:
    return machine.run(["apt-config", "dump", "--format=%f %v%n", "Acquire"]).stdout


def fetch_options(settings: str, environment: Mapping[str, str]) -> str:
    """From `apt-config dump`, the lines of apt.conf that decide how files are fetched.

    A proxy that is only in the environment is added: nobody's environment reaches apt on a node.
    """
    wanted = ("Acquire::http::", "Acquire::https::", "Acquire::Retries", "Acquire::Check-", "Acquire::ForceIPv")
    options = {}
    for line in settings.splitlines():
        key, _, value = line.partition(" ")
        # `User-Agent` and empty values are apt's own defaults; list items (`::`) hold nothing about fetching.
        if key.startswith(wanted) and value and not key.endswith(("::User-Agent", "::")):
            options[key] = value
    for scheme in ("http", "https"):
        proxy = environment.get(f"{scheme}_proxy") or environment.get(f"{scheme.upper()}_PROXY")
        if proxy:
            options.setdefault(f"Acquire::{scheme}::Proxy", proxy)
    return "".join(f'{key} "{value}";\n' for key, value in sorted(options.items()))


def _host_sources(suite: str) -> str:
    """This machine's own mirrors, when it runs the same Debian; else Debian's, which mmdebstrap knows."""
    release = Path("/etc/os-release").read_text()
    if "ID=debian\n" not in release or f"VERSION_CODENAME={suite}\n" not in release:
        return ""
    files = [Path("/etc/apt/sources.list"), Path("/etc/apt/sources.list.d/debian.sources")]
    return "\n".join(path.read_text() for path in files if path.is_file())


def build(progress: Progress, *, rebuild: bool = False) -> str:
    """Make the image unless this very one exists; its reference."""
    made_from = recipe()
    if not rebuild and image_exists(made_from.reference):
        return made_from.reference
    with progress.phase("node image"), tempfile.TemporaryDirectory(prefix="edgectl-lab-") as scratch:
        work = Path(scratch)
        archive = SYSTEM / "node.tar"
        (work / "apt.conf").write_text(made_from.apt_options)
        (work / "sources").write_text(made_from.sources)
        log = work / "mmdebstrap.log"
        with log.open("w") as output:
            machine.run(mmdebstrap_command(made_from, work, archive), root=True, output=output)
        podman("import", f"--change=LABEL={LABEL}=image", archive, made_from.reference)
        machine.run(["rm", "-f", archive], root=True)
    return made_from.reference


def mmdebstrap_command(made_from: Recipe, work: Path, archive: Path) -> list[str]:
    """The command that writes the root directory into an archive.

    apt's lists and cache are kept: `customize.sh` lays the packages there that nodes install later.
    """
    hook = f'sh "{made_from.directory}/customize.sh" "$1" "{" ".join(made_from.prefetch)}"'
    certificates = [f"--customize-hook=copy-in {path} {_CERTIFICATES}" for path in made_from.certificates]
    return [
        "mmdebstrap",
        "--variant=minbase",
        "--mode=root",
        f"--include={','.join(made_from.packages)}",
        "--skip=cleanup/apt",
        f"--aptopt={work / 'apt.conf'}",
        *certificates,
        f"--customize-hook=sync-in {made_from.directory}/rootfs /",
        f"--customize-hook={hook}",
        made_from.suite,
        str(archive),
        *([str(work / "sources")] if made_from.sources else []),
    ]
