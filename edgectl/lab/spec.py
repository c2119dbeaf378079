"""What a lab is to be made of: its name and its nodes, from the command line's short form."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from edgectl.errors import UsageError

Role = Literal["control_plane", "worker"]
Platform = Literal["cpu", "jetson", "dgpu"]
Distribution = Literal["kubeadm", "k3s"]

DEFAULT_NODES = "nuc1:control_plane,nuc2,orin1:jetson"
MAX_NODES = 50
_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")


@dataclass(frozen=True)
class NodeSpec:
    """One machine of a lab."""

    name: str
    role: Role = "worker"
    platform: Platform = "cpu"
    # The recording of the host that it pretends to be: a name, or the path of a file. "": none, or the usual one of its
    # platform.
    recording: str = ""


def parse_name(name: str) -> str:
    """A lab's name, checked: it becomes part of container names and the cluster's name."""
    if not _LABEL.fullmatch(name) or len(name) > 20:
        raise UsageError(
            f"{name!r} cannot be a lab's name",
            "it must be at most 20 lower-case letters, digits and hyphens",
            "edgectl lab up --name lab2",
        )
    return name


def parse_nodes(text: str) -> list[NodeSpec]:
    """Nodes from `name[:control_plane][:jetson|:dgpu][:recording=NAME],...`; at least one must be a control plane."""
    nodes = [_parse_node(part.strip()) for part in text.split(",") if part.strip()]
    names = [node.name for node in nodes]
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        raise UsageError(f"--nodes names {', '.join(doubled)} twice", "every node needs a name of its own")
    if len(nodes) > MAX_NODES:
        raise UsageError(f"--nodes asks for {len(nodes)} nodes", f"a lab has at most {MAX_NODES}")
    if not any(node.role == "control_plane" for node in nodes):
        raise UsageError(
            "--nodes names no control plane",
            f"{text!r} has workers only",
            f"edgectl lab up --nodes {DEFAULT_NODES}",
        )
    return nodes


def _parse_node(text: str) -> NodeSpec:
    name, *traits = text.split(":")
    if not _LABEL.fullmatch(name) or len(name) > 30:
        raise UsageError(f"{name!r} cannot be a node's name", "it must be lower-case letters, digits and hyphens")
    role: Role = "worker"
    platform: Platform = "cpu"
    recording = ""
    for trait in traits:
        if trait == "control_plane":
            role = "control_plane"
        elif trait in ("jetson", "dgpu"):
            platform = "jetson" if trait == "jetson" else "dgpu"
        elif trait.startswith("recording="):
            recording = trait.removeprefix("recording=")
        elif trait not in ("worker", "cpu"):
            raise UsageError(
                f"--nodes: {trait!r} is nothing that {name} can be",
                "known are control_plane, worker, jetson, dgpu, cpu and recording=NAME",
                f"edgectl lab up --nodes {DEFAULT_NODES}",
            )
    return _with_recording(NodeSpec(name, role, platform), recording) if recording else NodeSpec(name, role, platform)


def _with_recording(node: NodeSpec, wanted: str) -> NodeSpec:
    """The node as the recorded host, which says itself whether it is a Jetson or has a discrete GPU."""
    from edgectl.recording import catalogue

    recording = catalogue.load(wanted)
    is_one: Platform = "jetson" if recording.is_jetson else "dgpu" if recording.has_discrete_gpu else "cpu"
    if node.platform not in ("cpu", is_one):
        raise UsageError(
            f"--nodes: {node.name} cannot {'be a Jetson' if node.platform == 'jetson' else 'have a discrete GPU'}",
            f"the recording {wanted} is of another machine: {recording.title}",
        )
    # A file is remembered by its whole path: the lab may be taken up again from another directory.
    known = wanted if wanted in catalogue.names() else str(catalogue.path(wanted))
    return NodeSpec(node.name, node.role, is_one, known)
