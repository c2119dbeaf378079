"""k3s: channels, the releases of a Kubernetes release, and their files.

Channels are a JSON document (k3s-io/k3s, install.sh: INSTALL_K3S_CHANNEL_URL; channel.yaml: `stable`, `latest` and one
a minor). A release's files lie on GitHub under its tag; sha256sum-ARCH.txt has lines of `sha256sum`, where the program
for amd64 is `k3s`, that for arm64 `k3s-arm64` (install.sh, setup_verify_arch and download_hash). Archives of images and
k3s-images.txt: docs.k3s.io, "Air-Gap Install".
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from urllib.parse import quote

from edgectl.errors import EdgectlError, UsageError
from edgectl.upstream import file
from edgectl.upstream.file import File
from edgectl.upstream.web import Web, checksum

CHANNELS = "https://update.k3s.io/v1-release/channels"
RELEASES = "https://github.com/k3s-io/k3s/releases/download"
_PROGRAMS = {"amd64": "k3s", "arm64": "k3s-arm64"}
# How many releases of k3s' own of one of Kubernetes are looked for; there were three at most.
_MOST = 9


def channel(web: Web, name: str) -> str:
    """The release that a channel (`stable`, `latest`, `v1.35`) has now, such as v1.35.4+k3s1."""
    try:
        channels = {str(one["id"]): str(one.get("latest") or "") for one in json.loads(web.text(CHANNELS))["data"]}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise EdgectlError(f"{web.at(CHANNELS)} is not the list of k3s' channels", str(error)) from error
    if not channels.get(name):
        known = ", ".join(sorted(one for one in channels if channels[one] and not one.endswith("-testing")))
        raise UsageError(
            f"k3s has no channel {name}", f"it has {known or 'none'}", "set cluster_version to one of these"
        )
    if not re.fullmatch(r"v\d+\.\d+\.\d+\+k3s\d+", channels[name]):
        raise EdgectlError(f"channel {name} of k3s names no release", f"it says {channels[name][:60]!r}")
    return channels[name]


def newest(web: Web, release: str) -> str:
    """k3s' newest release of one of Kubernetes (1.35.4), such as v1.35.4+k3s1. The first may have been withdrawn."""
    found = ""
    for number in range(1, _MOST + 1):
        version = f"v{release}+k3s{number}"
        if web.find(_checksums(version, file.ARCHITECTURES[0])) is not None:
            found = version
        elif found or number > 2:
            break
    if not found:
        raise UsageError(
            f"k3s has no release of Kubernetes {release}",
            f"there is no {web.at(_checksums(f'v{release}+k3s1', file.ARCHITECTURES[0]))}",
            f'ask for the newest of its minor: cluster_version: "{release.rpartition(".")[0]}"',
        )
    return found


def files(web: Web, version: str) -> Iterator[File]:
    """Program and archive of images of a release, for each architecture."""
    images = tuple(web.text(_url(version, "k3s-images.txt")).split())
    for arch in file.ARCHITECTURES:
        sums = _checksums(version, arch)
        listed = web.text(sums)
        archive = f"k3s-airgap-images-{arch}.tar.zst"
        for kind, name, path in (("binary", _PROGRAMS[arch], "k3s"), ("images", archive, archive)):
            url = _url(version, name)
            yield File(
                name="k3s",
                kind=kind,
                version=version,
                arch=arch,
                path=f"k3s/{version}/linux-{arch}/{path}",
                url=url,
                sha256=checksum(listed, web.at(sums), name),
                size=web.size(url),
                images=images if kind == "images" else (),
            )


def _checksums(version: str, arch: str) -> str:
    return _url(version, f"sha256sum-{arch}.txt")


def _url(version: str, name: str) -> str:
    return f"{RELEASES}/{quote(version)}/{name}"
