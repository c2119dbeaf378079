"""Labels and taints that a node can have, and those that are not the inventory's to give."""

import pytest

from edgectl.inventory import read
from edgectl.inventory.rules import check


def problems(inventory_directory, text):
    return check(read(inventory_directory({"host_vars/nuc1.yml": text + "\n"})))


@pytest.mark.parametrize(
    "text",
    [
        "cluster_node_labels: {topology.kubernetes.io/zone: cellar, camera: 'true', floor: 2, empty: ''}",
        "cluster_node_taints: [battery=low:NoSchedule, 'dark:NoExecute', home.arpa/far=yes:PreferNoSchedule]",
    ],
)
def test_what_kubernetes_accepts_is_accepted(inventory_directory, text):
    assert problems(inventory_directory, text) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("cluster_node_labels: {kubernetes.io/hostname: x}", "kubernetes.io/hostname, which is not the inventory's"),
        (
            "cluster_node_labels: {nvidia.com/gpu.present: 'true'}",
            "nvidia.com/gpu.present, which is not the inventory's",
        ),
        ("cluster_node_labels: {-x: y}", "'-x', which can be no key"),
        ("cluster_node_labels: {camera: true}", "takes it for a truth value"),
        ("cluster_node_labels: {camera: on the door}", "can be no value"),
        ("cluster_node_taints: [battery]", "'battery', which is no taint"),
        ("cluster_node_taints: ['battery=low:Never']", "which is no taint"),
        ("cluster_node_taints: [nvidia.com/gpu=present:NoSchedule]", "nvidia.com/gpu, which is not the inventory's"),
        ("cluster_node_taints: ['node.kubernetes.io/not-ready:NoExecute']", "not the inventory's"),
    ],
)
def test_anything_else_is_named_with_its_place(inventory_directory, text, said):
    [problem] = problems(inventory_directory, text)
    assert said in problem.message
    assert problem.fix
    assert str(problem.place).endswith("host_vars/nuc1.yml:1")


def test_two_hosts_may_have_different_ones(inventory_directory):
    files = {
        "host_vars/nuc1.yml": "cluster_node_labels: {zone: cellar}\n",
        "host_vars/orin1.yml": "cluster_node_labels: {zone: attic}\n",
    }
    assert check(read(inventory_directory(files))) == []
