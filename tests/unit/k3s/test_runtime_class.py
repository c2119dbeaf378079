"""RuntimeClass nvidia has one owner: k3s, which brings it along, or role device_plugin."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from edgectl import content
from tests.unit.ansible_playbook import said, say

OBJECTS = content.root() / "roles" / "device_plugin" / "templates" / "objects.yml.j2"
FACTS = {
    "jetson": {"l4t": "36.4.3", "soc": "orin", "jetpack": "6.2"},
    "gpus": [{"kind": "tegra"}],
    "kernel": {"arch": "aarch64"},
}


@pytest.mark.parametrize(
    ("options", "made"),
    [
        ({"cluster_distribution": "kubeadm"}, ["nvidia"]),
        ({"cluster_distribution": "k3s"}, []),
        ({"cluster_distribution": "k3s", "k3s_disable": ["traefik"]}, []),
        ({"cluster_distribution": "k3s", "k3s_disable": ["runtimes"]}, ["nvidia"]),
        ({"cluster_distribution": "k3s", "device_plugin_runtime_class": "gpu"}, ["gpu"]),
    ],
)
def test_it_is_made_here_only_where_k3s_makes_none(tmp_path: Path, options: dict[str, Any], made: list[str]) -> None:
    file = tmp_path / "hosts.yml"
    file.write_text(yaml.safe_dump({"all": {"children": {"cluster": {"hosts": {"orin1": options}}}}}))
    play = {
        "hosts": "all",
        "gather_facts": False,
        "roles": [{"role": "cluster"}, {"role": "device_plugin", "when": False}],
        "tasks": [
            {"name": "Facts", "ansible.builtin.set_fact": {"ansible_facts": {"edgectl": FACTS}}},
            say(f"lookup('ansible.builtin.template', '{OBJECTS}')"),
        ],
    }
    [text] = said(file, [play])
    documents = [document for document in yaml.safe_load_all(text) if document]
    assert [one["metadata"]["name"] for one in documents if one["kind"] == "RuntimeClass"] == made
