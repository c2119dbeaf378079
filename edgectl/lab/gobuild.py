"""Builds programs from Go modules: those that the lab pins in a go.mod of its own, and those that pin themselves."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from edgectl.errors import EdgectlError
from edgectl.lab.machine import run

PROGRAMS = ("kubeadm", "kubelet", "kubectl")
CONTROL_PLANE = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-proxy", "kube-scheduler")
_VERSION_PACKAGES = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")


def kubernetes_version(source: Path) -> str:
    """The release that go.mod pins, such as v1.35.4."""
    return module_version(source, "k8s.io/kubernetes")


def module_version(source: Path, module: str) -> str:
    """The version of a module that go.mod requires."""
    for line in (source / "go.mod").read_text().splitlines():
        words = line.split()
        if words[:1] == [module] and "=>" not in words:
            return words[1]
    raise ValueError(f"{source}/go.mod does not require {module}")


def linker_flags(version: str) -> str:
    """What upstream's release process stamps into its programs, as far as it is known here."""
    major, minor, _ = version.removeprefix("v").split(".")
    stamps = {
        "gitVersion": version,
        "gitMajor": major,
        "gitMinor": minor,
        "gitTreeState": "clean",
        "gitCommit": "unknown",
    }
    return " ".join(
        ["-s", "-w", *(f"-X {package}.{key}={value}" for package in _VERSION_PACKAGES for key, value in stamps.items())]
    )


def build_kubernetes(go: Path, source: Path, into: Path, log: Path) -> None:
    """Build kubeadm, kubelet, kubectl, the control plane's program and pause into a directory."""
    upstream = [f"k8s.io/kubernetes/cmd/{program}" for program in PROGRAMS]
    flags = ["-trimpath", "-ldflags", linker_flags(kubernetes_version(source))]
    with log.open("a") as output:
        run(
            [go, "build", *flags, "-o", f"{into}/", "./controlplane", "./pause", *upstream],
            cwd=source,
            env=_environment("-mod=readonly -buildvcs=false"),
            output=output,
        )


def module_source(go: Path, module: str, version: str, pinned: str) -> Path:
    """Where the sources of a module's release are, fetched where they lack.

    version: such as v0.19.0. pinned: its sum, as Go's checksum database has it, such as h1:3JBG....
    """
    told = json.loads(run([go, "mod", "download", "-json", f"{module}@{version}"], env=_environment("")).stdout)
    if told["Sum"] != pinned:
        raise EdgectlError(f"{module} {version} is not what the lab pins", f"its sum is {told['Sum']}, not {pinned}")
    return Path(told["Dir"])


def build(
    go: Path,
    source: Path,
    packages: Sequence[str],
    into: Path,
    log: Path,
    *,
    linker: str = "",
    tags: str = "",
    cgo: bool = False,
) -> None:
    """Build programs of a module where its sources are, by the pins in its go.sum; nothing is written there.

    packages: such as ./cmd/kubectl. linker: flags besides those that strip symbols.
    """
    with log.open("a") as output:
        run(
            [go, "build", *_flags(linker, tags), "-o", f"{into}/", *packages],
            cwd=source,
            env={**_environment("-mod=readonly -buildvcs=false"), "CGO_ENABLED": "1" if cgo else "0"},
            output=output,
        )


def install(
    go: Path,
    packages: Sequence[str],
    version: str,
    into: Path,
    log: Path,
    *,
    linker: str = "",
    tags: str = "",
    cgo: bool = False,
) -> None:
    """Build programs of another module, which has its own pins. linker: flags besides those that strip symbols."""
    with log.open("a") as output:
        run(
            [go, "install", *_flags(linker, tags), *(f"{package}@{version}" for package in packages)],
            cwd=into,
            env={**_environment("-buildvcs=false"), "CGO_ENABLED": "1" if cgo else "0", "GOBIN": str(into)},
            output=output,
        )


def _flags(linker: str, tags: str) -> list[str]:
    return ["-trimpath", f"-tags={tags}", "-ldflags", f"-s -w {linker}".strip()]


def _environment(flags: str) -> dict[str, str]:
    # The caller's GOPROXY, GOCACHE and the like stay in force; what decides the outcome does not come from outside.
    return {"GOFLAGS": flags, "CGO_ENABLED": "0", "GOWORK": "off", "GOTOOLCHAIN": os.environ.get("GOTOOLCHAIN", "auto")}
