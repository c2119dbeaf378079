"""Which distribution this release makes, and which options have an effect on it."""

import pytest

from edgectl.inventory import read
from edgectl.inventory.rules import check


def told(directory):
    return [problem.what.split(": ", 1)[1] for problem in check(read(directory))]


def test_a_distribution_that_is_not_there_yet_is_refused_by_name_and_nothing_else_is_said(inventory_directory):
    directory = inventory_directory({"group_vars/all.yml": "cluster_distribution: eks\n"})
    assert told(directory) == ["cluster_distribution eks is not in this release yet"]


def test_an_option_of_k3s_has_no_effect_on_kubeadm(inventory_directory):
    directory = inventory_directory({"group_vars/all.yml": "k3s_disable: [traefik]\n"})
    assert told(directory) == ["k3s_disable has no effect on this cluster"]


@pytest.mark.parametrize("option", ["kubeadm_token_ttl: 20m", "containerd_enable_cri: allow"])
def test_an_option_of_kubeadms_roles_has_no_effect_on_k3s(inventory_directory, tmp_path, option):
    (tmp_path / "manifest.json").write_text('{"files": [{"name": "k3s", "kind": "binary", "version": "v1.35.4+k3s1"}]}')
    text = f"cluster_distribution: k3s\ncluster_artifacts_dir: {tmp_path}\n{option}\n"
    directory = inventory_directory({"group_vars/all.yml": text})
    assert told(directory) == [f"{option.partition(':')[0]} has no effect on this cluster"]


def test_k3s_without_artifacts_takes_a_lock(inventory_directory):
    directory = inventory_directory({"group_vars/all.yml": "cluster_distribution: k3s\n"})
    assert told(directory) == ["cluster_version 1.35.4 is not locked"]


def test_artifacts_with_another_release_of_k3s_are_refused(inventory_directory, tmp_path):
    (tmp_path / "manifest.json").write_text(
        '{"files": [{"name": "kubelet", "kind": "binary", "version": "v1.35.4"},'
        '{"name": "k3s", "kind": "binary", "version": "v1.34.2+k3s1"}]}'
    )
    text = f"cluster_distribution: k3s\ncluster_artifacts_dir: {tmp_path}\n"
    directory = inventory_directory({"group_vars/all.yml": text})
    assert told(directory) == ["cluster_artifacts_dir has no k3s 1.35.4, which cluster_version asks for"]


@pytest.mark.parametrize(
    ("numbers", "problems"), [((1, 2, 3), []), ((1, 2), ["control_plane has 2 hosts, an even number"])]
)
def test_servers_are_of_an_odd_number(inventory_directory, tmp_path, numbers, problems):
    hosts = "cluster: {children: {control_plane: {hosts: {%s}}}}"
    servers = ", ".join(f"nuc{number}: {{ansible_host: 192.168.1.1{number}}}" for number in numbers)
    (tmp_path / "manifest.json").write_text('{"files": [{"name": "k3s", "kind": "binary", "version": "v1.35.4+k3s1"}]}')
    text = f"cluster_distribution: k3s\ncluster_artifacts_dir: {tmp_path}\n"
    directory = inventory_directory({"hosts.yml": hosts % servers, "group_vars/all.yml": text})
    assert told(directory) == problems
