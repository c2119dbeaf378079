"""Debian root directories by mmdebstrap, fetched the way this machine's own apt fetches."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from edgectl.lab import machine

_WANTED = ("Acquire::http::", "Acquire::https::", "Acquire::Retries", "Acquire::Check-", "Acquire::ForceIPv")
_DEFAULTS = ("::User-Agent", "::")


@dataclass(frozen=True)
class Source:
    """Where a release comes from. sources: the text of a sources file, "" for Debian's own mirrors."""

    suite: str
    apt_options: str
    sources: str


def source(suite: str) -> Source:
    """This machine's own mirrors when it runs the same release of Debian, else Debian's, or those the user names."""
    mirror = os.environ.get("EDGECTL_LAB_DEBIAN_MIRROR", "")
    settings = machine.run(["apt-config", "dump", "--format=%f %v%n", "Acquire"]).stdout
    return Source(
        suite,
        fetch_options(settings, os.environ),
        f"deb {mirror} {suite} main\n" if mirror else _own_sources(suite),
    )


def fetch_options(settings: str, environment: Mapping[str, str]) -> str:
    """From `apt-config dump`, the lines of apt.conf that decide how files are fetched.

    A proxy that is only in the environment is added: nobody's environment reaches apt on a node.
    """
    options = {}
    for line in settings.splitlines():
        key, _, value = line.partition(" ")
        if key.startswith(_WANTED) and value and not key.endswith(_DEFAULTS):
            options[key] = value
    for scheme in ("http", "https"):
        proxy = environment.get(f"{scheme}_proxy") or environment.get(f"{scheme.upper()}_PROXY")
        if proxy:
            options.setdefault(f"Acquire::{scheme}::Proxy", proxy)
    return "".join(f'{key} "{value}";\n' for key, value in sorted(options.items()))


def _own_sources(suite: str) -> str:
    release = Path("/etc/os-release").read_text()
    if "ID=debian\n" not in release or f"VERSION_CODENAME={suite}\n" not in release:
        return ""
    files = [Path("/etc/apt/sources.list"), Path("/etc/apt/sources.list.d/debian.sources")]
    return "\n".join(path.read_text() for path in files if path.is_file())


def mmdebstrap(
    release: Source, variant: str, packages: Sequence[str], archive: Path, log: Path, options: Sequence[str] = ()
) -> None:
    """Write a root directory with these packages into a tar archive. options: more of mmdebstrap's."""
    with tempfile.TemporaryDirectory(prefix="edgectl-lab-") as scratch, log.open("a") as output:
        apt_conf, sources = Path(scratch) / "apt.conf", Path(scratch) / "sources"
        apt_conf.write_text(release.apt_options)
        sources.write_text(release.sources)
        command = [
            "mmdebstrap",
            f"--variant={variant}",
            "--mode=root",
            f"--include={','.join(packages)}",
            f"--aptopt={apt_conf}",
            *options,
            release.suite,
            str(archive),
            *([str(sources)] if release.sources else []),
        ]
        machine.run(command, root=True, output=output)
