"""What a node finds at its first boot: the key that may log in, what it is, and what makes it a recorded host.

The node's `first-boot` script copies `files/` onto its root directory, builds `packages/` into entries of dpkg's
database and installs what `install` lists from the repository that the node mounts. The probe reads files below
/etc/edgectl-lab.d/root in place of those of the machine's own kernel.
"""

from __future__ import annotations

import fnmatch
import json
import re
import shutil
from pathlib import Path

from edgectl.lab import nvidia
from edgectl.lab.record import Lab, Node
from edgectl.lab.spec import NodeSpec
from edgectl.recording import catalogue
from edgectl.recording.model import Recording, lay_out_files

OVERLAY = "etc/edgectl-lab.d/root"
# The usual recording of a platform.
USUAL = {"jetson": "orin-nx-jp6.2", "dgpu": "pc-gpu-debian12"}

# Files of a recording that the probe reads in place of the node's own, and what is pretended by them. All others are
# the node's: its network, swap, cgroups, loaded modules and services are real, and roles act on them.
LAID_OVER = (
    ("/proc/device-tree/*", "device-tree"),
    ("/sys/devices/soc0/family", "device-tree"),
    ("/proc/config.gz", "kernel"),
    ("/boot/config-*", "kernel"),
    ("/proc/sys/kernel/osrelease", "kernel"),
    ("/proc/sys/kernel/version", "kernel"),
    ("/proc/cmdline", "kernel"),
    ("/proc/meminfo", "memory"),
    ("/etc/os-release", "operating-system"),
    ("/sys/bus/pci/devices/*", "gpu"),
    ("/etc/nvpmodel.conf", "power-mode"),
    ("/var/lib/nvpmodel/status", "power-mode"),
)
# Others than the probe look for this one: NVIDIA's container toolkit does.
REAL = ("/etc/nv_tegra_release",)
# Packages of which a node gets the lab's own or, where there is none, an empty one; others would keep roles from
# installing the real ones.
PRETENDED_PACKAGES = re.compile(r"^installed (nvidia-l4t-\S+) (\S+)$", re.MULTILINE)


def write_seed(lab: Lab, node: Node) -> Path:
    """Lay the seed of a node ready; its directory."""
    seed = lab.seed(node.name)
    shutil.rmtree(seed, ignore_errors=True)
    files = seed / "files"
    (files / "etc").mkdir(parents=True)
    (seed / "authorized_keys").write_text(lab.private_key.with_suffix(".pub").read_text())
    simulated: list[str] = []
    recording = _recording(node.spec)
    if recording:
        simulated = _add_recording(seed, recording)
    mark = {"lab": lab.name, "node": node.name, "platform": node.platform, "simulated": simulated}
    (files / "etc" / "edgectl-lab").write_text(json.dumps(mark) + "\n")
    return seed


def _recording(node: NodeSpec) -> Recording | None:
    wanted = node.recording or USUAL.get(node.platform, "")
    return catalogue.load(wanted) if wanted else None


def needs_repository(node: NodeSpec) -> bool:
    """Whether the lab has packages for what a node pretends to run: its release of JetPack, or Debian with a GPU."""
    recording = _recording(node)
    return recording is not None and (bool(_packages(recording)[0]) or _is_debian_with_a_gpu(recording))


def _is_debian_with_a_gpu(recording: Recording) -> bool:
    """A host whose driver and toolkit come from the lab's stand-ins for Debian's and NVIDIA's repositories."""
    system = recording.files.get("/etc/os-release", "")
    return recording.has_discrete_gpu and "ID=debian\n" in system and "VERSION_CODENAME=bookworm\n" in system


def _packages(recording: Recording) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Names and versions of a recorded host's packages: those that the lab builds, and those that it only pretends."""
    recorded = PRETENDED_PACKAGES.findall(recording.commands.get("dpkg", ""))
    built = {(wanted.package.name, wanted.package.version) for wanted in nvidia.packages()}
    return [entry for entry in recorded if entry in built], [entry for entry in recorded if entry not in built]


def _add_recording(seed: Path, recording: Recording) -> list[str]:
    """Add what of a recorded host a node can show; what of it is pretended."""
    shown = {path: what for path in recording.files for pattern, what in LAID_OVER if fnmatch.fnmatch(path, pattern)}
    # The probe looks at /proc/config.gz first, and the machine under the lab may have one.
    laid_over = {
        "/proc/config.gz" if path.startswith("/boot/config-") else path: recording.files[path] for path in sorted(shown)
    }
    lay_out_files(laid_over, seed / "files" / OVERLAY)
    lay_out_files({path: recording.files[path] for path in REAL if path in recording.files}, seed / "files")
    built, pretended = _packages(recording)
    if built:
        (seed / "install").write_text("".join(f"{name}={version}\n" for name, version in built))
        lay_out_files({nvidia.SOURCES_LIST: nvidia.sources_list()}, seed / "files")
    if _is_debian_with_a_gpu(recording):
        lay_out_files({nvidia.DEBIAN_LIST: nvidia.sources_list("dgpu")}, seed / "files")
    for name, version in pretended:
        control = seed / "packages" / name / "DEBIAN" / "control"
        control.parent.mkdir(parents=True)
        control.parent.chmod(0o755)
        control.write_text(package_control(name, version))
    return sorted(
        {
            *shown.values(),
            *(["nvidia-l4t-packages"] if built or pretended else []),
            *(["gpu"] if recording.is_jetson or recording.has_discrete_gpu else []),
        }
    )


def package_control(name: str, version: str) -> str:
    """The control file of an empty package that stands for NVIDIA's in dpkg's database, and says so."""
    return f"""\
Package: {name}
Version: {version}
Architecture: all
Maintainer: edgectl lab <nobody@localhost>
Section: misc
Priority: optional
Description: simulated {name} of the edgectl lab
 An empty package: only its name and version are those of the one on a Jetson.
"""
