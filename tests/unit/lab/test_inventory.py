"""The inventory directory that a lab writes."""

import pytest
import yaml

from edgectl import content
from edgectl.errors import UsageError
from edgectl.lab import inventory, nvidia
from edgectl.lab.machine import Traits
from edgectl.lab.record import Lab, Node

HARD = Traits(cgroup_version=1, can_raise_limits=False, max_open_files=20000, max_processes=5000)
EASY = Traits(cgroup_version=2, can_raise_limits=True, max_open_files=1048576, max_processes=32768)


@pytest.fixture
def lab(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    nodes = [
        Node("nuc1", "control_plane", "cpu", "10.213.1.11"),
        Node("nuc2", "worker", "cpu", "10.213.1.12"),
        Node("orin1", "worker", "jetson", "10.213.1.13"),
    ]
    return Lab("lab", "10.213.1.0/24", str(tmp_path / "inventory"), nodes=nodes)


def variables(lab, traits, artifacts=None):
    return yaml.safe_load(inventory.group_vars(lab, traits, artifacts))


def test_hosts_stand_in_the_groups_of_their_roles_with_their_addresses(lab):
    groups = yaml.safe_load(inventory.hosts(lab.nodes))["all"]["children"]["cluster"]["children"]
    assert groups["control_plane"]["hosts"] == {"nuc1": {"ansible_host": "10.213.1.11"}}
    assert list(groups["workers"]["hosts"]) == ["nuc2", "orin1"]


def test_host_keys_are_always_checked_against_the_labs_own_file(lab):
    arguments = variables(lab, EASY)["ansible_ssh_common_args"]
    assert "StrictHostKeyChecking=yes" in arguments
    assert "{{ inventory_dir }}/.edgectl/known_hosts" in arguments


@pytest.mark.parametrize("traits", [HARD, EASY])
def test_swap_modules_and_clock_of_the_machine_are_left_alone(lab, traits):
    options = variables(lab, traits)
    assert options["machine_swap"] == "keep"
    assert options["machine_load_modules"] is False
    assert options["machine_time_sync"] == "ignore"
    assert options["kubeadm_kube_proxy_config"] == {"conntrack": {"maxPerCore": 0, "min": 0}}


def test_cgroup_v1_is_allowed_only_where_the_machine_has_it(lab):
    assert variables(lab, HARD)["kubeadm_kubelet_config"]["failCgroupV1"] is False
    assert "failCgroupV1" not in variables(lab, EASY)["kubeadm_kubelet_config"]


def test_kubelet_is_told_of_missing_rights_only_where_they_are_missing(lab):
    assert variables(lab, HARD)["kubeadm_kubelet_config"]["featureGates"] == {"KubeletInUserNamespace": True}
    assert "featureGates" not in variables(lab, EASY)["kubeadm_kubelet_config"]


def test_the_artifact_directory_is_named_or_left_empty(lab, tmp_path):
    assert variables(lab, EASY, tmp_path)["cluster_artifacts_dir"] == str(tmp_path)
    assert variables(lab, EASY)["cluster_artifacts_dir"] == ""


def test_options_that_the_lab_sets_are_options_of_the_roles(lab):
    from edgectl import content

    known = set()
    for specs in (content.root() / "roles").glob("*/meta/argument_specs.yml"):
        known |= set(yaml.safe_load(specs.read_text())["argument_specs"]["main"]["options"])
    ours = {name for name in variables(lab, HARD) if not name.startswith("ansible_")}
    assert ours <= known


def test_of_a_discrete_gpus_software_the_labs_repository_stands_for_nvidias(lab, monkeypatch):
    monkeypatch.setattr(nvidia, "key_fingerprint", lambda: "C0FFEE")
    tree = yaml.safe_load(inventory.hosts([Node("gpu1", "worker", "dgpu", "10.213.1.14")]))
    options = tree["all"]["children"]["cluster"]["children"]["workers"]["hosts"]["gpu1"]
    assert options["nvidia_toolkit_repository"].startswith(f"file:{nvidia.MOUNT}/libnvidia-container/")
    assert options["nvidia_toolkit_repository_key_fingerprint"] == "C0FFEE"
    specs = content.root() / "roles" / "nvidia_toolkit" / "meta" / "argument_specs.yml"
    known = yaml.safe_load(specs.read_text())["argument_specs"]["main"]["options"]
    assert {name for name in options if name != "ansible_host"} <= set(known)


def test_known_hosts_has_a_line_for_each_key():
    assert inventory.known_hosts({"10.0.0.1": ["ssh-ed25519 AAAA", "ssh-rsa BBBB"]}) == (
        "10.0.0.1 ssh-ed25519 AAAA\n10.0.0.1 ssh-rsa BBBB\n"
    )


def test_a_directory_with_something_else_in_it_is_refused(tmp_path):
    (tmp_path / "hosts.yml").write_text("all:\n")
    with pytest.raises(UsageError, match="not empty"):
        inventory.check_directory(tmp_path, "lab")


def test_another_labs_directory_is_refused(lab, tmp_path):
    place = tmp_path / "inventory"
    inventory.write(place, inventory.files(lab, EASY, None, {}))
    inventory.check_directory(place, "lab")
    with pytest.raises(UsageError):
        inventory.check_directory(place, "other")


def test_removal_leaves_a_users_own_files(lab, tmp_path):
    place = tmp_path / "inventory"
    inventory.write(place, inventory.files(lab, EASY, None, {}))
    (place / "edgectl.state.yml").write_text("all: {}\n")
    (place / "group_vars" / "mine.yml").write_text("a: 1\n")
    inventory.remove(place, "lab")
    assert [path.relative_to(place).as_posix() for path in place.rglob("*") if path.is_file()] == [
        "group_vars/mine.yml"
    ]


def test_removal_leaves_nothing_where_only_the_lab_wrote(lab, tmp_path):
    place = tmp_path / "inventory"
    inventory.write(place, inventory.files(lab, EASY, None, {}))
    inventory.remove(place, "lab")
    assert not place.exists()


def test_a_directory_that_the_lab_did_not_write_is_never_removed(tmp_path):
    (tmp_path / "hosts.yml").write_text("all:\n")
    inventory.remove(tmp_path, "lab")
    assert (tmp_path / "hosts.yml").exists()


def test_writing_the_same_again_touches_no_file(lab, tmp_path):
    place = tmp_path / "inventory"
    contents = inventory.files(lab, EASY, None, {})
    inventory.write(place, contents)
    before = {path: path.stat().st_mtime_ns for path in place.rglob("*")}
    inventory.write(place, contents)
    assert {path: path.stat().st_mtime_ns for path in place.rglob("*")} == before
