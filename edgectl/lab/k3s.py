"""k3s for the lab: its release where that can be fetched, else a stand-in (lab/k3s), which is not k3s.

The stand-in is built on the Kubernetes that the lab's kubeadm cluster runs.
"""

from __future__ import annotations

import json
import shutil
import tarfile
import zipfile
from pathlib import Path

from edgectl import content
from edgectl.lab import debian, gobuild, imagearchive, kubernetes, manifest, toolchain, upstream
from edgectl.lab.imagearchive import Image, Layer
from edgectl.lab.machine import architecture, run
from edgectl.lab.manifest import Artifact
from edgectl.lab.parts import Part
from edgectl.lab.progress import Progress, Silent

# Raise it when this module makes something else from the same sources.
_FORM = 2
# What the file of k3s has inside of itself besides Kubernetes: module, release, programs, tags.
_BROUGHT = (
    (
        "github.com/containerd/containerd/v2/cmd",
        "v2.3.4",
        ("containerd", "containerd-shim-runc-v2", "ctr"),
        "no_btrfs,no_devmapper,no_tracing,no_zfs",
    ),
    (
        "github.com/containernetworking/plugins/plugins",
        "v1.9.1",
        ("main/bridge", "main/loopback", "ipam/host-local", "meta/portmap"),
        "",
    ),
)
# k3s-io/k3s, scripts/airgap/image-list.txt, has both under these names; of CoreDNS it is the lab's own release here.
_PAUSE = "rancher/mirrored-pause:3.6"
_COREDNS = "rancher/mirrored-coredns-coredns"


def source() -> Path:
    """The stand-in's sources."""
    return content.root() / "lab" / "k3s"


def part() -> Part:
    """What of an artifact directory is made here."""
    pins = (kubernetes.source() / "go.mod").read_text()
    return Part("k3s", source(), _FORM, _fill, inputs=f"{pins}{_BROUGHT}")


def version() -> str:
    """The release that it stands for, such as v1.35.4+k3s1: that of its Kubernetes."""
    return f"{gobuild.kubernetes_version(kubernetes.source())}+k3s1"


def what(artifacts: Path) -> str:
    """What the k3s of an artifact directory says of itself: a release, or a stand-in."""
    entries = json.loads((artifacts / manifest.NAME).read_text())["files"]
    program = next(entry["path"] for entry in entries if (entry["name"], entry["kind"]) == ("k3s", "binary"))
    return run([artifacts / program, "--version"]).stdout.splitlines()[0].removeprefix("k3s version ")


def _fill(wanted: Path, log: Path, progress: Progress) -> list[Artifact]:
    arch = architecture()
    relative = f"k3s/{version()}/linux-{arch}"
    place = wanted / relative
    place.mkdir(parents=True, exist_ok=True)
    digests = upstream.k3s_digests(version(), arch)
    if digests:
        return _fetch(place, relative, digests, arch, progress)
    progress.line("k3s' release files cannot be reached from here: building a stand-in from Go modules instead")
    return _build_all(wanted / "work", place, relative, arch, log, progress)


def _fetch(place: Path, relative: str, digests: dict[str, str], arch: str, progress: Progress) -> list[Artifact]:
    program, archive = upstream.k3s_files(arch)
    with progress.phase(f"fetch k3s {version()}"):
        upstream.fetch_k3s(program, version(), digests[program], place / "k3s")
        (place / "k3s").chmod(0o755)
        upstream.fetch_k3s(archive, version(), digests[archive], place / archive)
        images = upstream.k3s_images(version())
    return [
        Artifact(f"{relative}/k3s", "binary", "k3s", version(), arch),
        Artifact(f"{relative}/{archive}", "images", "k3s", version(), arch, images),
    ]


def _build_all(work: Path, place: Path, relative: str, arch: str, log: Path, progress: Progress) -> list[Artifact]:
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    go = toolchain.find_or_fetch(arch, progress)
    coredns = _coredns_version()
    with progress.phase("build the stand-in for k3s (the first time takes 5 to 10 minutes)"):
        _build(go, work, f"{_COREDNS}:{coredns.removeprefix('v')}", log)
    with progress.phase("build what it brings along"):
        brought = []
        for module, release, programs, tags in _BROUGHT:
            packages = [f"{module}/{program}" for program in programs]
            gobuild.install(go, packages, release, work, log, tags=tags)
            brought += [work / Path(program).name for program in programs]
        brought.append(_runc(work, log))
        gobuild.install(go, ["github.com/coredns/coredns"], coredns, work, log)
    with progress.phase("pack k3s and its images"):
        _pack(work / "k3s", brought, place / "k3s")
        images = _images(work, coredns)
        imagearchive.write(work / "images.tar", images, arch)
        (work / "images.tar").replace(place / f"k3s-airgap-images-{arch}.tar")
    shutil.rmtree(work)
    names = tuple(name for image in images for name in image.names)
    return [
        Artifact(f"{relative}/k3s", "binary", "k3s", version(), arch),
        Artifact(f"{relative}/k3s-airgap-images-{arch}.tar", "images", "k3s", version(), arch, names),
    ]


def _build(go: Path, work: Path, coredns: str, log: Path) -> None:
    """Build it with the pins of lab/kubernetes: the same Kubernetes, and no second list of modules."""
    module = work / "module"
    shutil.copytree(source(), module / "k3s")
    shutil.copytree(kubernetes.source() / "pause", module / "pause")
    for name in ("go.mod", "go.sum"):
        shutil.copy(kubernetes.source() / name, module / name)
    release = gobuild.kubernetes_version(kubernetes.source())
    gobuild.build(
        go,
        module,
        ["./k3s", "./pause"],
        work,
        log,
        linker=f"{gobuild.linker_flags(release)} -X main.corednsImage={coredns} -X main.pauseImage={_PAUSE}",
    )


def _runc(work: Path, log: Path) -> Path:
    """Debian's runc: built here it would lack seccomp, which takes a C library."""
    archive = work / "runc.tar"
    debian.mmdebstrap(debian.source("bookworm"), "extract", ("runc",), archive, log)
    with tarfile.open(archive) as tar:
        tar.extract(tar.getmember("./usr/sbin/runc"), work, filter="data")
    return work / "usr" / "sbin" / "runc"


def _coredns_version() -> str:
    """The release that this Kubernetes' kubeadm asks for, such as v1.13.1."""
    directory = kubernetes.part().build(Silent())
    release = gobuild.kubernetes_version(kubernetes.source())
    kubeadm = directory / "kubernetes" / release / f"linux-{architecture()}" / "kubeadm"
    listed = run([kubeadm, "config", "images", "list", f"--kubernetes-version={release}"]).stdout.split()
    return next(name.rpartition(":")[2] for name in listed if "/coredns:" in name)


def _pack(program: Path, brought: list[Path], target: Path) -> None:
    """One file: the program, and behind it a zip archive of what it unpacks when it starts."""
    shutil.copy(program, target)
    with target.open("r+b") as file:
        file.seek(0, 2)
        with zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED) as archive:
            for path in brought:
                # A fixed time, so that the same input makes the same bytes.
                archive.writestr(zipfile.ZipInfo(path.name), path.read_bytes(), zipfile.ZIP_DEFLATED)
    target.chmod(0o755)


def _images(work: Path, coredns: str) -> list[Image]:
    return [
        Image((f"docker.io/{_PAUSE}",), (Layer(files={"/pause": work / "pause"}),), entrypoint=("/pause",)),
        Image(
            (f"docker.io/{_COREDNS}:{coredns.removeprefix('v')}",),
            (Layer(files={"/coredns": work / "coredns"}),),
            entrypoint=("/coredns",),
        ),
    ]
