"""How kubectl is called on a control plane."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgectl.cluster import kubectl
from edgectl.inventory import read

HOSTS = "cluster: {children: {control_plane: {hosts: {nuc1: {ansible_host: 192.168.1.11}}}}}\n"


@pytest.mark.parametrize(
    ("distribution", "line"),
    [
        ("kubeadm", "kubectl --kubeconfig /etc/kubernetes/admin.conf get nodes"),
        ("k3s", "k3s kubectl --kubeconfig /etc/rancher/k3s/k3s.yaml get nodes"),
    ],
)
def test_each_distribution_has_its_own_program_and_kubeconfig(tmp_path: Path, distribution: str, line: str) -> None:
    (tmp_path / "group_vars").mkdir()
    (tmp_path / "hosts.yml").write_text(HOSTS)
    (tmp_path / "group_vars" / "all.yml").write_text(f"cluster_distribution: {distribution}\n")
    assert kubectl.command_line(read(tmp_path), ["get", "nodes"]) == line
