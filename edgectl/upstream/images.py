"""The images of a Kubernetes that kubeadm makes: which they are, their digests, and an archive of them.

Which: kubeadm's own constants (cmd/kubeadm/app/constants/constants.go of the release) under the names that its
`config images list` makes of them (cmd/kubeadm/app/images/images.go). Whence: registry.k8s.io by the API of the OCI
distribution specification, which asks for no login. The archive is an OCI image layout in a tar file, with the
annotation by which `ctr images import` names an image (containerd, images/annotations.go).
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import shutil
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from edgectl.errors import EdgectlError
from edgectl.lab.progress import Progress
from edgectl.upstream import file
from edgectl.upstream.file import File
from edgectl.upstream.web import Web

KIND = "image"
REGISTRY = "registry.k8s.io"
CONSTANTS = "https://raw.githubusercontent.com/kubernetes/kubernetes/{version}/cmd/kubeadm/app/constants/constants.go"
_OWN = ("kube-apiserver", "kube-controller-manager", "kube-proxy", "kube-scheduler")
_OTHERS = {"CoreDNSVersion": "coredns/coredns", "PauseVersion": "pause", "DefaultEtcdVersion": "etcd"}
_INDEX = "application/vnd.oci.image.index.v1+json, application/vnd.docker.distribution.manifest.list.v2+json"
_MANIFEST = "application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json"
_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")
_NAME = "io.containerd.image.name"


def names(web: Web, version: str) -> list[str]:
    """The images that kubeadm of a release (v1.35.4) wants."""
    url = CONSTANTS.format(version=version)
    text = web.text(url)
    found = [f"{REGISTRY}/{name}:{version}" for name in _OWN]
    for constant, name in _OTHERS.items():
        value = re.search(rf'^\s*{constant}\s*=\s*"([\w.-]+)"', text, re.MULTILINE)
        if value is None:
            raise EdgectlError(f"{web.at(url)} has no constant {constant}", "kubeadm used to keep an image's tag there")
        found.append(f"{REGISTRY}/{name}:{value[1]}")
    return sorted(found)


def files(web: Web, version: str) -> Iterator[File]:
    """Each image for each architecture: the manifest that its tag leads to now, by digest."""
    for name in names(web, version):
        repository, _, tag = name.removeprefix(f"{REGISTRY}/").rpartition(":")
        url = f"https://{REGISTRY}/v2/{repository}/manifests/{tag}"
        listed = _document(web.text(url, accept=_INDEX), web.at(url))
        platforms = {one["platform"]["architecture"]: one for one in listed.get("manifests", []) if _is_linux(one)}
        for arch in file.ARCHITECTURES:
            digest = _DIGEST.fullmatch(str(platforms.get(arch, {}).get("digest")))
            if digest is None:
                raise EdgectlError(f"{name} is not there for {arch}", f"{web.at(url)} lists {', '.join(platforms)}")
            own = f"https://{REGISTRY}/v2/{repository}/manifests/{digest[0]}"
            blobs = _blobs(_manifest(web, own, digest[1]))
            yield File(
                name="kubernetes",
                kind=KIND,
                version=version,
                arch=arch,
                path=f"kubernetes/{version}/linux-{arch}/images.tar",
                url=own,
                sha256=digest[1],
                size=sum(int(blob["size"]) for blob in blobs),
                images=(name,),
            )


def pack(images: Sequence[File], archive: Path, web: Web, progress: Progress) -> bool:
    """Bring images of one architecture, and pack them in an archive; whether it was not there as it should be.

    Their parts lie beside it until it is done, so that what has come once is not fetched again.
    """
    if _holds(archive, {one.sha256 for one in images}):
        return False
    parts = archive.with_name("images.parts")
    parts.mkdir(parents=True, exist_ok=True)
    index, members = [], set()
    for one in images:
        manifest = _manifest(web, one.url, one.sha256)
        (parts / one.sha256).write_text(manifest)
        members.add(one.sha256)
        with progress.phase(f"{one.images[0]} for {one.arch}, {(one.size or 0) / 2**20:.0f} MiB"):
            for blob in _blobs(manifest):
                digest = str(blob["digest"]).removeprefix("sha256:")
                web.fetch(f"{one.url.partition('/manifests/')[0]}/blobs/{blob['digest']}", digest, parts / digest)
                members.add(digest)
        index.append(_descriptor(one, manifest))
    part = archive.with_name(archive.name + ".part")
    with tarfile.open(part, "w") as tar:
        _add(tar, "oci-layout", json.dumps({"imageLayoutVersion": "1.0.0"}).encode())
        _add(tar, "index.json", json.dumps({"schemaVersion": 2, "manifests": index}).encode())
        for digest in sorted(members):
            member = tarfile.TarInfo(f"blobs/sha256/{digest}")
            member.size = (parts / digest).stat().st_size
            with (parts / digest).open("rb") as content:
                tar.addfile(member, content)
    part.replace(archive)
    shutil.rmtree(parts)
    return True


def _holds(archive: Path, manifests: set[str]) -> bool:
    """Whether an archive has these images, and each of its parts is what its name says."""
    try:
        with tarfile.open(archive) as tar:
            index = json.load(tar.extractfile("index.json") or io.BytesIO())
            if {one["digest"] for one in index["manifests"]} != {f"sha256:{one}" for one in manifests}:
                return False
            for member in tar:
                content = tar.extractfile(member)
                digest = member.name.removeprefix("blobs/sha256/")
                if content and digest != member.name and hashlib.file_digest(content, "sha256").hexdigest() != digest:  # type: ignore[arg-type]
                    return False
    except (OSError, tarfile.TarError, ValueError, KeyError, TypeError):
        return False
    return True


def _manifest(web: Web, url: str, sha256: str) -> str:
    text = web.text(url, accept=_MANIFEST)
    seen = hashlib.sha256(text.encode()).hexdigest()
    if seen != sha256:
        raise EdgectlError(f"{web.at(url)} is not what its name says", f"its sha256 is {seen}")
    return text


def _blobs(manifest: str) -> list[Mapping[str, Any]]:
    """Configuration and layers."""
    document = _document(manifest, "the manifest of an image")
    blobs = [document.get("config", {}), *document.get("layers", [])]
    if not all(_DIGEST.fullmatch(str(blob.get("digest"))) and str(blob.get("size")).isdigit() for blob in blobs):
        raise EdgectlError("the manifest of an image has a part without a sha256", manifest[:200])
    return blobs


def _document(text: str, what: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise EdgectlError(f"{what} is no JSON document", str(error)) from error
    return found if isinstance(found, dict) else {}


def _is_linux(entry: Mapping[str, Any]) -> bool:
    platform = entry.get("platform") or {}
    return platform.get("os") == "linux" and "architecture" in platform


def _descriptor(one: File, manifest: str) -> dict[str, Any]:
    return {
        "mediaType": _document(manifest, one.url).get("mediaType") or _MANIFEST.partition(",")[0],
        "digest": f"sha256:{one.sha256}",
        "size": len(manifest.encode()),
        "annotations": {_NAME: one.images[0], "org.opencontainers.image.ref.name": one.images[0].rpartition(":")[2]},
    }


def _add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(content)
    tar.addfile(member, io.BytesIO(content))
