"""The inventory directory of a lab: an ordinary one, such as a user writes for real machines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jinja2
import yaml

from edgectl import content
from edgectl.errors import UsageError
from edgectl.lab import manifest, nvidia
from edgectl.lab.machine import Traits
from edgectl.lab.record import Lab, Node

USER = "edge"
_MARK = ".edgectl/lab"
_HEADER = (
    "# Written by `edgectl lab up`; a change here is lost at the next one. Put your own options into another file.\n"
)


def hosts(nodes: list[Node]) -> str:
    """hosts.yml: the groups and where each host is."""

    def members(role: str) -> dict[str, dict[str, Any]]:
        return {node.name: _variables(node) for node in nodes if node.role == role}

    groups = {"control_plane": {"hosts": members("control_plane")}, "workers": {"hosts": members("worker")}}
    tree = {"all": {"children": {"cluster": {"children": groups}}}}
    return _HEADER + "---\n" + yaml.safe_dump(tree, sort_keys=False)


def _variables(node: Node) -> dict[str, Any]:
    """A host's own options: where it is and, with the usual pretended GPU, how that is shared.

    Of a discrete one's software, the lab's own repository stands for NVIDIA's, with a key of its own.
    """
    own: dict[str, Any] = {"ansible_host": node.address}
    if node.platform == "jetson" and not node.recording:
        own["device_plugin_sharing"] = {"mode": "time-slicing", "replicas": 4}
    if node.platform == "dgpu":
        own["nvidia_toolkit_repository"] = nvidia.TOOLKIT_REPOSITORY
        own["nvidia_toolkit_repository_key"] = nvidia.TOOLKIT_KEY
        own["nvidia_toolkit_repository_key_fingerprint"] = nvidia.key_fingerprint()
    return own


def group_vars(lab: Lab, traits: Traits, artifacts: Path | None) -> str:
    """group_vars/all.yml: how to log in, and what containers that play machines need from the roles."""
    template = (content.root() / "lab" / "inventory" / "all.yml.j2").read_text()
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        autoescape=False,  # noqa: S701
    )
    rendered = environment.from_string(template).render(
        cluster_name=lab.name,
        user=USER,
        private_key=str(lab.private_key),
        artifacts=str(artifacts or ""),
        distribution=_distribution(artifacts),
        device_plugin_image=nvidia.image_name("device_plugin"),
        cgroup_version=traits.cgroup_version,
        can_raise_limits=traits.can_raise_limits,
    )
    return _HEADER + rendered


def _distribution(artifacts: Path | None) -> str:
    """k3s where the artifacts have one (`edgectl lab build --distribution k3s`), else kubeadm."""
    try:
        files = json.loads((artifacts / manifest.NAME).read_text())["files"] if artifacts else []
    except FileNotFoundError:  # validation says so
        files = []
    return "k3s" if any(file["name"] == "k3s" for file in files) else "kubeadm"


def known_hosts(keys: dict[str, list[str]]) -> str:
    """A known_hosts file from public keys by address."""
    return "".join(f"{address} {key}\n" for address, lines in keys.items() for key in lines)


def files(lab: Lab, traits: Traits, artifacts: Path | None, keys: dict[str, list[str]]) -> dict[str, str]:
    """All files of the inventory directory by relative path."""
    return {
        "hosts.yml": hosts(lab.nodes),
        "group_vars/all.yml": group_vars(lab, traits, artifacts),
        ".edgectl/known_hosts": known_hosts(keys),
        _MARK: lab.name + "\n",
    }


def check_directory(directory: Path, lab: str) -> None:
    """Refuse a directory that holds something other than this lab's inventory."""
    if directory.is_dir() and any(directory.iterdir()) and not belongs_to(directory, lab):
        raise UsageError(
            f"{directory} is not empty and not the inventory of lab {lab!r}",
            "the lab would overwrite files in it",
            f"edgectl lab up --name {lab} --dir ANOTHER",
        )


def belongs_to(directory: Path, lab: str) -> bool:
    """Whether this lab wrote the directory."""
    mark = directory / _MARK
    return mark.is_file() and mark.read_text().strip() == lab


def write(directory: Path, contents: dict[str, str]) -> None:
    """Write what differs."""
    for name, text in contents.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.is_file() or path.read_text() != text:
            path.write_text(text)


def remove(directory: Path, lab: str) -> None:
    """Remove what the lab, and edgectl's runs on it, wrote; a user's own files stay."""
    if not belongs_to(directory, lab):
        return
    for name in ("hosts.yml", "group_vars/all.yml", "edgectl.state.yml"):
        (directory / name).unlink(missing_ok=True)
    for path in sorted((directory / ".edgectl").rglob("*"), reverse=True):
        if path.is_dir():
            path.rmdir()
        else:
            path.unlink()
    for path in (directory / ".edgectl", directory / "group_vars", directory):
        if not any(path.iterdir()):
            path.rmdir()
