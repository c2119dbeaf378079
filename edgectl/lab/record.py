"""A lab's record, `lab.json`: what was made, by exact name, so that it can be found, shown and removed again."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

from edgectl.errors import UsageError
from edgectl.lab import paths
from edgectl.lab.spec import Distribution, NodeSpec, Platform, Role

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Node:
    """A node as it was made."""

    name: str
    role: Role
    platform: Platform
    address: str
    recording: str = ""

    @property
    def spec(self) -> NodeSpec:
        """What was asked for."""
        return NodeSpec(self.name, self.role, self.platform, self.recording)


@dataclass
class Lab:
    """A lab as it was made."""

    name: str
    subnet: str
    inventory: str
    image: str = ""
    nodes: list[Node] = field(default_factory=list)
    # Entries of the catalogue whose images its artifact directory has.
    workloads: list[str] = field(default_factory=list)
    distribution: Distribution = "kubeadm"

    @property
    def directory(self) -> Path:
        """The lab's own directory."""
        return paths.state_dir(self.name)

    @property
    def private_key(self) -> Path:
        """The SSH key that opens this lab's nodes, and only these."""
        return self.directory / "id_ed25519"

    @property
    def network(self) -> str:
        """The podman network."""
        return f"edgectl-{self.name}"

    def container(self, node: str) -> str:
        """The container that is this node."""
        return f"edgectl-{self.name}-{node}"

    def volumes(self, node: str) -> dict[str, str]:
        """Volumes of a node and where it mounts them: overlayfs, which containerd uses, needs a real disk."""
        return {
            f"{self.container(node)}-containerd": "/var/lib/containerd",
            f"{self.container(node)}-kubelet": "/var/lib/kubelet",
            f"{self.container(node)}-rancher": "/var/lib/rancher",
        }

    def seed(self, node: str) -> Path:
        """What the node reads at its first boot."""
        return self.directory / "seed" / node

    def node(self, name: str) -> Node:
        """A node by its name."""
        for node in self.nodes:
            if node.name == name:
                return node
        raise UsageError(
            f"lab {self.name!r} has no node {name!r}",
            f"it has {', '.join(node.name for node in self.nodes)}",
            f"edgectl lab status --name {self.name}",
        )

    def save(self) -> None:
        """Write the record."""
        self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        text = json.dumps({"schema_version": SCHEMA_VERSION, **asdict(self)}, indent=2)
        temporary = self.directory / "lab.json.new"
        temporary.write_text(text + "\n")
        temporary.replace(self.directory / "lab.json")


def load(name: str) -> Lab | None:
    """The record of a lab, None when there is no such lab."""
    try:
        document = json.loads((paths.state_dir(name) / "lab.json").read_text())
    except FileNotFoundError:
        return None
    # Another edgectl may have written more.
    known = {one.name for one in fields(Lab)}
    document = {name: value for name, value in document.items() if name in known}
    return Lab(**{**document, "nodes": [Node(**node) for node in document["nodes"]]})


def require(name: str) -> Lab:
    """The record of a lab that must exist."""
    lab = load(name)
    if lab is None:
        existing = ", ".join(known.name for known in load_all()) or "none"
        raise UsageError(f"there is no lab {name!r}", f"labs here: {existing}", f"edgectl lab up --name {name}")
    return lab


def load_all() -> list[Lab]:
    """All labs of this user."""
    found = (load(path.parent.name) for path in sorted(paths.states_dir().glob("*/lab.json")))
    return [lab for lab in found if lab is not None]
