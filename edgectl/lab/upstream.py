"""Kubernetes' own release files and images, where they can be reached."""

from __future__ import annotations

import hashlib
import os
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path

from edgectl.errors import EdgectlError
from edgectl.lab import machine
from edgectl.lab.podman import command, environment, podman

RELEASE = "https://dl.k8s.io/release"
K3S = "https://github.com/k3s-io/k3s/releases/download"
PROBE_TIMEOUT = 5.0
# Small, and one of those that are wanted anyway.
PROBE_IMAGE = "registry.k8s.io/pause:3.10.1"
_CHUNK = 1 << 20


def _url(name: str, version: str, arch: str) -> str:
    return f"{RELEASE}/{version}/bin/linux/{arch}/{name}"


def _text(url: str) -> str:
    with urllib.request.urlopen(url, timeout=PROBE_TIMEOUT) as reply:  # noqa: S310
        return str(reply.read(1 << 16).decode())


def reachable(version: str, arch: str) -> bool:
    """Whether release files and images can be fetched: both, since half a release is of no use."""
    try:
        _digest("kubeadm", version, arch)
    except OSError:
        return False
    pull = ["timeout", "60", *command("pull", "--quiet", PROBE_IMAGE)]
    return machine.run(pull, root=True, env=environment(), check=False).returncode == 0


def _digest(name: str, version: str, arch: str) -> str:
    return _text(_url(name, version, arch) + ".sha256").split()[0]


def k3s_files(arch: str) -> tuple[str, str]:
    """The names of k3s' program and of its archive of images (docs.k3s.io, "Air-Gap Install")."""
    return ("k3s" if arch == "amd64" else f"k3s-{arch}"), f"k3s-airgap-images-{arch}.tar.zst"


def k3s_digests(version: str, arch: str) -> dict[str, str] | None:
    """Name -> sha256 of k3s' files, as its release publishes them; None where that can't be reached."""
    try:
        lines = _text(_k3s_url(version, f"sha256sum-{arch}.txt")).splitlines()
    except OSError:
        return None
    return {name: digest for digest, name in (line.split() for line in lines if line.strip())}


def fetch_k3s(name: str, version: str, digest: str, target: Path) -> None:
    """Fetch a file of k3s' release."""
    _fetch(_k3s_url(version, name), lambda: digest, target)


def k3s_images(version: str) -> tuple[str, ...]:
    """The images in its archive."""
    return tuple(_text(_k3s_url(version, "k3s-images.txt")).split())


def _k3s_url(version: str, name: str) -> str:
    return f"{K3S}/{urllib.parse.quote(version)}/{name}"


def fetch_binary(name: str, version: str, arch: str, target: Path) -> None:
    """Fetch a program of the release; a digest other than the published one leaves nothing behind."""
    _fetch(_url(name, version, arch), lambda: _digest(name, version, arch), target)
    target.chmod(0o755)


def _fetch(url: str, published: Callable[[], str], target: Path) -> None:
    partial = target.with_name(target.name + ".part")
    digest = hashlib.sha256()
    try:
        expected = published()
        with urllib.request.urlopen(url, timeout=60) as reply, partial.open("wb") as file:  # noqa: S310
            while chunk := reply.read(_CHUNK):
                digest.update(chunk)
                file.write(chunk)
    except (urllib.error.URLError, OSError) as error:
        partial.unlink(missing_ok=True)
        raise EdgectlError(f"cannot fetch {url.rpartition('/')[2]}", f"{url}: {error}", "edgectl lab build") from error
    if digest.hexdigest() != expected:
        partial.unlink()
        raise EdgectlError(f"{url} is not what upstream published", f"sha256 {digest.hexdigest()}, expected {expected}")
    partial.replace(target)


def fetch_images(names: list[str], archive: Path) -> None:
    """Pull the images into the lab's own podman and save them in one archive, owned by the caller."""
    for name in names:
        podman("pull", "--quiet", name)
    podman("save", "--quiet", "--multi-image-archive", f"--output={archive}", *names)
    machine.run(["chown", f"{os.getuid()}:{os.getgid()}", archive], root=True)
