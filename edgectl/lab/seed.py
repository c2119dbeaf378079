"""What a node finds at its first boot: the key that may log in, what it is, and for a Jetson what makes it one.

The node's `first-boot` script copies `files/` onto its root directory and builds `packages/` into entries of dpkg's
database. The probe reads files below /etc/edgectl-lab.d/root in place of those of the machine's own kernel.
"""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import yaml

from edgectl import content
from edgectl.lab.record import Lab, Node

OVERLAY = "etc/edgectl-lab.d/root"


def write_seed(lab: Lab, node: Node) -> Path:
    """Lay the seed of a node ready; its directory."""
    seed = lab.seed(node.name)
    shutil.rmtree(seed, ignore_errors=True)
    files = seed / "files"
    (files / "etc").mkdir(parents=True)
    (seed / "authorized_keys").write_text(lab.private_key.with_suffix(".pub").read_text())
    simulated: list[str] = []
    if node.platform == "jetson":
        simulated = _add_jetson(seed)
    mark = {"lab": lab.name, "node": node.name, "platform": node.platform, "simulated": simulated}
    (files / "etc" / "edgectl-lab").write_text(json.dumps(mark) + "\n")
    return seed


def _add_jetson(seed: Path) -> list[str]:
    """Add a Jetson's files and packages from the recording in lab/node/jetson; what of it is pretended."""
    source = content.root() / "lab" / "node" / "jetson"
    shutil.copytree(source / "files", seed / "files", dirs_exist_ok=True)
    board = yaml.safe_load((source / "jetson.yml").read_text())
    overlay = seed / "files" / OVERLAY
    device_tree = overlay / "proc" / "device-tree"
    device_tree.mkdir(parents=True)
    # Device-tree strings end with a NUL.
    (device_tree / "model").write_text(board["model"] + "\0")
    (device_tree / "compatible").write_text("".join(entry + "\0" for entry in board["compatible"]))
    (overlay / "proc" / "config.gz").write_bytes(gzip.compress((source / "kernel.config").read_bytes(), mtime=0))
    for name, version in board["packages"].items():
        control = seed / "packages" / name / "DEBIAN" / "control"
        control.parent.mkdir(parents=True)
        control.parent.chmod(0o755)
        control.write_text(package_control(name, version))
    return list(board["simulated"])


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
