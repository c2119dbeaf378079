"""Upstreams on this machine, over real HTTP: a mirror that has each below its host name, with small files."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

_K3S = "github.com/k3s-io/k3s/releases/download"
_CHARTS = "nvidia.github.io/k8s-device-plugin"


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


class Upstreams:
    """What the server has, by path, and what it was asked for. broken_off: after how many bytes it hangs up."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.asked: list[tuple[str, str | None]] = []
        self.broken_off: int | None = None
        self.knows_ranges = True
        self.url = ""
        self.channels: dict[str, str] = {}
        self.k3s("v1.34.6+k3s1", channel="v1.34")
        self.k3s("v1.35.4+k3s1", channel="stable", minor="v1.35")
        self.kubernetes("v1.34.6", "1.34")
        self.kubernetes("v1.35.4", "1.35", stable=True)
        self.helm("v3.22.0")
        self.charts("0.19.0", "0.20.0")

    def k3s(self, version: str, channel: str, minor: str = "") -> None:
        """A release of k3s, which a channel has from now on."""
        self.channels |= {name: version for name in (channel, minor) if name}
        document = {"type": "collection", "data": [{"id": key, "latest": one} for key, one in self.channels.items()]}
        self.files["update.k3s.io/v1-release/channels"] = json.dumps(document).encode()
        place = f"{_K3S}/{version}"
        self.files[f"{place}/k3s-images.txt"] = b"docker.io/rancher/mirrored-pause:3.6\n"
        for arch, program in (("amd64", "k3s"), ("arm64", "k3s-arm64")):
            archive = f"k3s-airgap-images-{arch}.tar.zst"
            own = {program: f"{program} {version}".encode() * 1000, archive: f"{archive} {version}".encode() * 1000}
            listed = {**own, f"k3s-airgap-images-{arch}.tar": b"another form of the same"}
            lines = [f"{sha256(content)}  {name}\n" for name, content in listed.items()]
            self.files[f"{place}/sha256sum-{arch}.txt"] = "".join(lines).encode()
            self.files |= {f"{place}/{name}": content for name, content in own.items()}

    def kubernetes(self, version: str, minor: str, *, stable: bool = False) -> None:
        """A release of Kubernetes, the newest of its minor, or of all."""
        for name in (f"stable-{minor}.txt", *(["stable.txt"] if stable else [])):
            self.files[f"dl.k8s.io/release/{name}"] = version.encode()
        for arch in ("amd64", "arm64"):
            for program in ("kubeadm", "kubectl", "kubelet"):
                content = f"{program} {version} {arch}".encode()
                place = f"dl.k8s.io/release/{version}/bin/linux/{arch}/{program}"
                self.files |= {place: content, f"{place}.sha256": sha256(content).encode()}

        constants = (
            'const (\n\tCoreDNSVersion = "v1.13.1"\n\tPauseVersion = "3.10.1"\n\tDefaultEtcdVersion = "3.6.6-0"\n)\n'
        )
        place = f"raw.githubusercontent.com/kubernetes/kubernetes/{version}/cmd/kubeadm/app/constants/constants.go"
        self.files[place] = constants.encode()
        for name in ("kube-apiserver", "kube-controller-manager", "kube-proxy", "kube-scheduler"):
            self.image(name, version)
        for name, tag in (("coredns/coredns", "v1.13.1"), ("pause", "3.10.1"), ("etcd", "3.6.6-0")):
            self.image(name, tag)

    def image(self, name: str, tag: str, layer: bytes = b"base") -> None:
        """An image of Kubernetes' registry, for both architectures; all have a layer in common."""
        place, platforms = f"registry.k8s.io/v2/{name}", []
        for arch in ("amd64", "arm64"):
            blobs = [
                json.dumps({"os": "linux", "architecture": arch, "of": name}).encode(),
                layer,
                f"{name} {tag}".encode(),
            ]
            parts = [{"digest": f"sha256:{sha256(blob)}", "size": len(blob)} for blob in blobs]
            media = "application/vnd.oci.image.manifest.v1+json"
            manifest = json.dumps(
                {"schemaVersion": 2, "mediaType": media, "config": parts[0], "layers": parts[1:]}
            ).encode()
            self.files |= {f"{place}/blobs/{part['digest']}": blob for part, blob in zip(parts, blobs, strict=True)}
            self.files[f"{place}/manifests/sha256:{sha256(manifest)}"] = manifest
            platform = {"os": "linux", "architecture": arch}
            platforms.append({"digest": f"sha256:{sha256(manifest)}", "size": len(manifest), "platform": platform})
        self.files[f"{place}/manifests/{tag}"] = json.dumps({"manifests": platforms}).encode()

    def helm(self, version: str) -> None:
        """The newest release of Helm 3."""
        self.files["get.helm.sh/helm3-latest-version"] = version.encode()
        for arch in ("amd64", "arm64"):
            packed = io.BytesIO()
            with tarfile.open(fileobj=packed, mode="w:gz") as tar:
                program = f"helm {version} {arch}".encode()
                member = tarfile.TarInfo(f"linux-{arch}/helm")
                member.size = len(program)
                tar.addfile(member, io.BytesIO(program))
            place = f"get.helm.sh/helm-{version}-linux-{arch}.tar.gz"
            self.files |= {place: packed.getvalue(), f"{place}.sha256": sha256(packed.getvalue()).encode()}

    def charts(self, *versions: str) -> None:
        """NVIDIA's Helm repository."""
        entries = []
        for version in versions:
            place, content = f"stable/nvidia-device-plugin-{version}.tgz", f"chart {version}".encode()
            self.files[f"{_CHARTS}/{place}"] = content
            entries.append({"version": version, "digest": sha256(content), "urls": [f"https://{_CHARTS}/{place}"]})
        self.files[f"{_CHARTS}/index.yaml"] = json.dumps({"entries": {"nvidia-device-plugin": entries}}).encode()

    def paths(self) -> list[str]:
        """What it was asked for, in order."""
        return [path for path, _ in self.asked]

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        path, wanted = unquote(request.path).lstrip("/"), request.headers.get("Range")
        self.asked.append((path, wanted))
        content = self.files.get(path)
        if content is None:
            request.send_error(404)
            return
        first, _, last = (wanted or "bytes=0-").removeprefix("bytes=").partition("-")
        start, end = int(first), int(last) + 1 if last else len(content)
        if wanted and self.knows_ranges:
            if start >= len(content):
                request.send_error(416)
                return
            request.send_response(206)
            request.send_header("Content-Range", f"bytes {start}-{end - 1}/{len(content)}")
            body = content[start:end]
        else:
            request.send_response(200)
            body = content
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body[: self.broken_off])


@contextmanager
def serving() -> Iterator[Upstreams]:
    """Upstreams that answer on loopback."""
    upstreams = Upstreams()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            upstreams.answer(self)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    upstreams.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield upstreams
    finally:
        server.shutdown()
        server.server_close()
