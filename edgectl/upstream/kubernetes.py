"""Kubernetes: the newest release of all or of a minor, and its programs.

`stable.txt`, `stable-1.35.txt`, the programs and their `.sha256` (a digest and nothing else): kubernetes.io, "Install
and Set Up kubectl on Linux" and "Installing kubeadm" (without a package manager). What upstream calls `latest` there is
a release that is still being tested.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from edgectl.errors import EdgectlError, UsageError
from edgectl.upstream import file
from edgectl.upstream.file import File
from edgectl.upstream.web import Web, checksum

RELEASES = "https://dl.k8s.io/release"
PROGRAMS = ("kubeadm", "kubectl", "kubelet")


def newest(web: Web, minor: str = "") -> str:
    """The newest release, of a minor (1.35) if one is given, such as v1.35.4."""
    url = f"{RELEASES}/stable-{minor}.txt" if minor else f"{RELEASES}/stable.txt"
    told = web.find(url) if minor else web.text(url)
    if told is None:
        raise UsageError(f"Kubernetes has no minor release {minor}", f"there is no {web.at(url)}", "name another minor")
    if not re.fullmatch(r"v\d+\.\d+\.\d+", told.strip()):
        raise EdgectlError(f"{web.at(url)} names no release", f"it says {told.strip()[:60]!r}")
    return told.strip()


def files(web: Web, version: str) -> Iterator[File]:
    """The programs of a release for each architecture."""
    for arch in file.ARCHITECTURES:
        for name in PROGRAMS:
            url = f"{RELEASES}/{version}/bin/linux/{arch}/{name}"
            told = web.find(f"{url}.sha256")
            if told is None:
                raise UsageError(
                    f"Kubernetes has no release {version.lstrip('v')}",
                    f"there is no {web.at(url)}.sha256",
                    f'ask for the newest of its minor: cluster_version: "{version.lstrip("v").rpartition(".")[0]}"',
                )
            yield File(
                name=name,
                kind="binary",
                version=version,
                arch=arch,
                path=f"kubernetes/{version}/linux-{arch}/{name}",
                url=url,
                sha256=checksum(told, f"{web.at(url)}.sha256"),
                size=web.size(url),
            )
