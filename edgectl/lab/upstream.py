"""Kubernetes' own release files and images, where they can be reached."""

from __future__ import annotations

import hashlib
import os
import urllib.error
import urllib.request
from pathlib import Path

from edgectl.errors import EdgectlError
from edgectl.lab import machine
from edgectl.lab.podman import command, environment, podman

RELEASE = "https://dl.k8s.io/release"
PROBE_TIMEOUT = 5.0
# Small, and one of those that are wanted anyway.
PROBE_IMAGE = "registry.k8s.io/pause:3.10.1"
_CHUNK = 1 << 20


def _url(name: str, version: str, arch: str) -> str:
    return f"{RELEASE}/{version}/bin/linux/{arch}/{name}"


def reachable(version: str, arch: str) -> bool:
    """Whether release files and images can be fetched: both, since half a release is of no use."""
    try:
        _digest("kubeadm", version, arch)
    except OSError:
        return False
    pull = ["timeout", "60", *command("pull", "--quiet", PROBE_IMAGE)]
    return machine.run(pull, root=True, env=environment(), check=False).returncode == 0


def _digest(name: str, version: str, arch: str) -> str:
    with urllib.request.urlopen(_url(name, version, arch) + ".sha256", timeout=PROBE_TIMEOUT) as reply:  # noqa: S310
        return str(reply.read(200).decode().split()[0])


def fetch_binary(name: str, version: str, arch: str, target: Path) -> None:
    """Fetch a program of the release; a digest other than the published one leaves nothing behind."""
    url = _url(name, version, arch)
    partial = target.with_name(target.name + ".part")
    digest = hashlib.sha256()
    try:
        expected = _digest(name, version, arch)
        with urllib.request.urlopen(url, timeout=60) as reply, partial.open("wb") as file:  # noqa: S310
            while chunk := reply.read(_CHUNK):
                digest.update(chunk)
                file.write(chunk)
    except (urllib.error.URLError, OSError) as error:
        partial.unlink(missing_ok=True)
        raise EdgectlError(f"cannot fetch {name} {version}", f"{url}: {error}", "edgectl lab build") from error
    if digest.hexdigest() != expected:
        partial.unlink()
        raise EdgectlError(f"{url} is not what upstream published", f"sha256 {digest.hexdigest()}, expected {expected}")
    partial.chmod(0o755)
    partial.replace(target)


def fetch_images(names: list[str], archive: Path) -> None:
    """Pull the images into the lab's own podman and save them in one archive, owned by the caller."""
    for name in names:
        podman("pull", "--quiet", name)
    podman("save", "--quiet", "--multi-image-archive", f"--output={archive}", *names)
    machine.run(["chown", f"{os.getuid()}:{os.getgid()}", archive], root=True)
