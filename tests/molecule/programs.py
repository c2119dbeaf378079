"""Builds what scenarios put on their nodes and Debian 12 does not have: containerd 2.x with ctr, and crictl.

They are made once, in the cache of the lab; a change of programs/ makes them anew. Prints the directory they are in.
"""

from __future__ import annotations

from pathlib import Path

from edgectl.lab import gobuild, toolchain
from edgectl.lab.machine import architecture, run
from edgectl.lab.manifest import Artifact
from edgectl.lab.parts import Part
from edgectl.lab.progress import Progress, Silent

SOURCE = Path(__file__).parent / "programs"
MODULES = {
    "containerd": ("github.com/containerd/containerd/v2", ("containerd", "ctr")),
    "crictl": ("sigs.k8s.io/cri-tools", ("crictl",)),
}
# What no scenario needs and takes long to compile.
TAGS = "no_btrfs,no_devmapper,no_tracing,no_zfs"


def fill(wanted: Path, log: Path, progress: Progress) -> list[Artifact]:
    """Build all programs into a directory."""
    go = toolchain.find_or_fetch(architecture(), progress)
    made = []
    for name, (module, programs) in MODULES.items():
        version = gobuild.module_version(SOURCE / name, module)
        packages = [f"{module}/cmd/{program}" for program in programs]
        with log.open("a") as output:
            run(
                [go, "build", "-trimpath", f"-tags={TAGS}", "-ldflags", "-s -w", "-o", f"{wanted}/", *packages],
                cwd=SOURCE / name,
                env={"GOFLAGS": "-mod=readonly -buildvcs=false", "CGO_ENABLED": "0", "GOWORK": "off"},
                output=output,
            )
        made += [Artifact(program, "binary", program, version, architecture()) for program in programs]
    return made


if __name__ == "__main__":
    print(Part("molecule-programs", SOURCE, 1, fill).build(Silent()))
