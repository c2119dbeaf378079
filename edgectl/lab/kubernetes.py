"""Kubernetes' programs and images, fetched from upstream's release or built from Go modules."""

from __future__ import annotations

import shutil
from pathlib import Path

from edgectl import content
from edgectl.errors import EdgectlError
from edgectl.lab import debian, gobuild, imagearchive, toolchain, upstream
from edgectl.lab.imagearchive import Image, Layer
from edgectl.lab.machine import architecture, run
from edgectl.lab.manifest import Artifact
from edgectl.lab.parts import Part
from edgectl.lab.progress import Progress

# Raise it when this module makes something else from the same sources.
_FORM = 1
_TOOLS = ("dash", "iptables", "kmod", "nftables")
_IPTABLES_NAMES = tuple(
    f"{family}{suffix}" for family in ("iptables", "ip6tables") for suffix in ("", "-save", "-restore")
)


def source() -> Path:
    """The Go module that pins and builds everything."""
    return content.root() / "lab" / "kubernetes"


def part() -> Part:
    """What of the artifact directory is made here."""
    return Part("kubernetes", source(), _FORM, _fill)


def _fill(wanted: Path, log: Path, progress: Progress) -> list[Artifact]:
    version = gobuild.kubernetes_version(source())
    arch = architecture()
    relative = f"kubernetes/{version}/linux-{arch}"
    place = wanted / relative
    place.mkdir(parents=True, exist_ok=True)
    if upstream.reachable(version, arch):
        names = _fetch(place, version, arch, progress)
    else:
        progress.line("Kubernetes' release files cannot be reached from here: building from the Go modules instead")
        names = _build(place, version, arch, log, progress)
    binaries = [Artifact(f"{relative}/{name}", "binary", name, version, arch) for name in gobuild.PROGRAMS]
    images = Artifact(f"{relative}/images.tar", "images", "kubernetes", version, arch, tuple(names))
    return [*binaries, images]


def _fetch(place: Path, version: str, arch: str, progress: Progress) -> list[str]:
    with progress.phase(f"fetch Kubernetes {version}"):
        for name in gobuild.PROGRAMS:
            upstream.fetch_binary(name, version, arch, place / name)
        names = image_names(place / "kubeadm", version)
        upstream.fetch_images(names, place / "images.tar")
    return names


def _build(place: Path, version: str, arch: str, log: Path, progress: Progress) -> list[str]:
    work = place / "work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    go = toolchain.find_or_fetch(arch, progress)
    with progress.phase(f"build Kubernetes {version} (the first time takes 5 to 10 minutes)"):
        gobuild.build_kubernetes(go, source(), work, log)
    names = image_names(work / "kubeadm", version)
    with progress.phase("build CoreDNS"):
        gobuild.install(go, ["github.com/coredns/coredns"], _tag(names, "coredns"), work, log)
    with progress.phase("pack the images"):
        tools = work / "tools.tar"
        debian.mmdebstrap(debian.source("bookworm"), "extract", _TOOLS, tools, log)
        imagearchive.write(work / "images.tar", images(work, tools, names), arch)
    for name in (*gobuild.PROGRAMS, "images.tar"):
        (work / name).replace(place / name)
    shutil.rmtree(work)
    return names


def image_names(kubeadm: Path, version: str) -> list[str]:
    """The images that this kubeadm wants."""
    listed = run([kubeadm, "config", "images", "list", f"--kubernetes-version={version}"])
    return listed.stdout.split()


def _tag(names: list[str], image: str) -> str:
    for name in names:
        repository, _, tag = name.rpartition(":")
        if repository.endswith(f"/{image}"):
            return tag
    raise EdgectlError(f"kubeadm asks for no image {image!r}", f"it asks for {', '.join(names)}")


def images(built: Path, tools: Path, names: list[str]) -> list[Image]:
    """The three images that stand behind kubeadm's seven names."""
    etcd = _tag(names, "etcd").split("-")[0]
    pinned = gobuild.module_version(source(), "go.etcd.io/etcd/server/v3").removeprefix("v")
    if etcd != pinned:
        raise EdgectlError(
            f"kubeadm asks for etcd {etcd}, not {pinned}", "pinned in lab/kubernetes/go.mod", "pin it there"
        )

    def named(*wanted: str) -> tuple[str, ...]:
        return tuple(name for name in names if name.rpartition(":")[0].rpartition("/")[2] in wanted)

    wrapper = source() / "image" / "iptables"
    control_plane = Layer(
        files={"/usr/local/bin/controlplane": built / "controlplane", "/usr/local/lib/iptables": wrapper},
        links={
            **{f"/usr/local/bin/{name}": "controlplane" for name in gobuild.CONTROL_PLANE},
            **{f"/usr/sbin/{name}": "/usr/local/lib/iptables" for name in _IPTABLES_NAMES},
        },
    )
    return [
        Image(named(*gobuild.CONTROL_PLANE), (Layer(base=tools), control_plane)),
        Image(named("coredns"), (Layer(files={"/coredns": built / "coredns"}),), entrypoint=("/coredns",)),
        Image(named("pause"), (Layer(files={"/pause": built / "pause"}),), entrypoint=("/pause",)),
    ]
