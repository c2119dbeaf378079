"""The preflight plugin over the facts of several hosts: what it gathers, what stops a run, how it says so."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from ansible.parsing.dataloader import DataLoader

from tests.unit.checks.conftest import sound_host
from tests.unit.preflight.conftest import load_plugin

plugin = load_plugin("action", "edgectl_preflight")


class HostVars(dict):
    """As much of Ansible's HostVars as the plugin uses."""

    def raw_get(self, name):
        return self[name]


@pytest.fixture
def hosts():
    """The raw variables of three hosts with sound facts."""
    roles = {"nuc1": "control_plane", "nuc2": "workers", "orin1": "workers"}
    variables = HostVars()
    for number, (name, role) in enumerate(roles.items(), 1):
        document = sound_host(name, number)
        # The cluster is not made yet.
        document["kubernetes"].update(role=None, cluster_ca_hash=None)
        document["wireguard"]["interfaces"] = {}
        document["network"]["listening"] = []
        variables[name] = {"ansible_facts": {"edgectl": document}, "group_names": ["cluster", role]}
    return variables


def run(hosts, in_play=None, **args):
    names = list(hosts)
    action = plugin.ActionModule(
        task=SimpleNamespace(args=args, async_val=0, action="edgectl_preflight", check_mode=False, diff=False),
        connection=SimpleNamespace(_shell=SimpleNamespace(tmpdir=None)),
        play_context=None,
        loader=DataLoader(),
        templar=None,
        shared_loader_obj=None,
    )
    return action.run(
        task_vars={"ansible_play_hosts_all": in_play or names, "hostvars": hosts, "groups": {"cluster": names}}
    )


def test_sound_hosts_pass_and_change_nothing(hosts):
    result = run(hosts)
    assert result["findings"] == []
    assert result["changed"] is False
    assert "failed" not in result


def test_what_is_due_is_named_for_each_host_and_enrolment_is_part_of_it(hosts, monkeypatch):
    monkeypatch.setattr(plugin, "due_roles", lambda variables, _: variables.get("due", []))
    monkeypatch.setattr(plugin, "is_enrolled", lambda _document, variables, _options: "new" not in variables)
    assert run(hosts)["due"] == {}
    hosts["nuc2"]["due"] = ["kubeadm"]
    hosts["orin1"]["new"] = True
    assert run(hosts)["due"] == {"nuc2": ["kubeadm"], "orin1": ["enrol"]}


def test_every_problem_of_every_host_stands_in_one_message(hosts):
    hosts["nuc2"]["ansible_facts"]["edgectl"]["kubernetes"]["k3s_present"] = True
    hosts["orin1"]["ansible_facts"]["edgectl"]["kernel"]["arch"] = "armv7l"
    hosts["orin1"]["ansible_facts"]["edgectl"]["memory"]["total_kib"] = 500_000
    result = run(hosts)
    assert result["failed"] is True
    assert result["msg"].startswith("3 problems to solve first; nothing has been changed.\n\nnuc2\n  error: k3s is")
    assert "\n\norin1\n  error: the architecture armv7l" in result["msg"]
    assert "    fix: sudo k3s-uninstall.sh" in result["msg"]
    assert [finding["id"] for finding in result["findings"]] == ["C-K3S-PRESENT", "M-ARCH-UNSUPPORTED", "M-MEMORY-LOW"]


def test_warnings_alone_let_the_run_go_on_and_are_shown(hosts):
    hosts["nuc2"]["ansible_facts"]["edgectl"]["reboot"]["required"] = True
    result = run(hosts)
    assert "failed" not in result
    assert result["warnings"][0].startswith("nuc2: the machine waits for a reboot")


def test_defaults_of_the_roles_are_known_and_their_templates_evaluated(hosts):
    """cluster_pod_cidr and wireguard_network stand in no inventory here."""
    routes = hosts["nuc2"]["ansible_facts"]["edgectl"]["network"]["routes"]
    routes += [{"dst": "10.244.7.0/24", "dev": "eth1"}, {"dst": "10.200.0.128/25", "dev": "eth1"}]
    found = run(hosts)["findings"]
    assert [finding["id"] for finding in found] == ["N-CIDR-OVERLAP", "N-CIDR-OVERLAP"]


def test_what_one_host_sets_holds_for_that_host_alone(hosts):
    for name in hosts:
        hosts[name]["ansible_facts"]["edgectl"]["containerd"]["disabled_plugins"] = ["cri"]
    hosts["nuc2"]["containerd_enable_cri"] = "allow"
    assert [finding["host"] for finding in run(hosts)["findings"]] == ["nuc1", "orin1"]


def test_each_hosts_own_address_is_its_lan_address(hosts):
    """cluster_lan_address is a template over the host's own facts."""
    address = hosts["nuc1"]["ansible_facts"]["edgectl"]["network"]["default_address"]
    hosts["orin1"]["ansible_facts"]["edgectl"]["network"]["default_address"] = address
    found = run(hosts)["findings"]
    assert [(finding["host"], finding["id"]) for finding in found] == [
        ("nuc1", "I-ADDRESS-DUPLICATE"),
        ("orin1", "I-ADDRESS-DUPLICATE"),
    ]


def test_a_worker_out_of_reach_is_left_out_with_a_warning(hosts):
    del hosts["nuc2"]["ansible_facts"]
    hosts["nuc2"]["edgectl_facts_result"] = {"unreachable": True, "msg": "Task failed: ssh: No route to host"}
    result = run(hosts)
    assert "failed" not in result
    assert result["warnings"] == [
        "nuc2: the host is out of reach and is left out (ssh: No route to host); "
        "check that it runs and that `ssh nuc2` works, then run this again [I-UNREACHABLE]"
    ]


def test_a_hub_out_of_reach_stops_everybody(hosts):
    hosts["relay"] = {"group_names": ["hub"]}
    hosts["relay"]["edgectl_facts_result"] = {"unreachable": True, "msg": "No route to host"}
    result = run(hosts)
    assert result["failed"] is True
    assert "the hub is out of reach" in result["msg"]


def test_a_control_plane_out_of_reach_stops_everybody(hosts):
    del hosts["nuc1"]["ansible_facts"]
    hosts["nuc1"]["edgectl_facts_result"] = {"unreachable": True, "msg": "No route to host"}
    result = run(hosts)
    assert result["failed"] is True
    assert "the control plane is out of reach" in result["msg"]


def test_a_host_whose_facts_failed_is_named_with_the_reason(hosts):
    del hosts["nuc2"]["ansible_facts"]
    hosts["nuc2"]["edgectl_facts_result"] = {"failed": True, "msg": "Missing sudo password"}
    result = run(hosts)
    assert result["failed"] is True
    assert "Missing sudo password" in result["msg"]


def test_under_limit_only_hosts_in_play_are_examined_but_nobody_takes_anothers_identity(hosts):
    del hosts["nuc2"]["ansible_facts"]
    hosts["nuc2"]["edgectl_state"] = {
        "machine_id": hosts["orin1"]["ansible_facts"]["edgectl"]["identity"]["machine_id"]
    }
    hosts["nuc1"]["ansible_facts"]["edgectl"]["kernel"]["arch"] = "armv7l"
    result = run(hosts, in_play=["orin1"])
    assert [(finding["host"], finding["id"]) for finding in result["findings"]] == [("orin1", "I-MACHINE-ID-DUPLICATE")]


def test_a_check_can_be_ignored_by_its_id(hosts):
    hosts["nuc2"]["ansible_facts"]["edgectl"]["kernel"]["arch"] = "riscv64"
    assert "failed" not in run(hosts, ignore=["M-ARCH-UNSUPPORTED"])


def test_checks_compare_the_release_that_a_channel_stands_for(hosts, tmp_path):
    (tmp_path / ".edgectl").mkdir()
    (tmp_path / ".edgectl" / "artifacts.lock.yml").write_text(
        "schema_version: 1\nlocked: {kubernetes: {asked: stable, version: v1.36.0}}\nfiles: []\n"
    )
    for name in hosts:
        hosts[name] |= {"inventory_dir": str(tmp_path), "cluster_version": "stable"}
        hosts[name]["ansible_facts"]["edgectl"]["containerd"]["version"] = "1.7.28"
    whats = {finding["what"] for finding in run(hosts)["findings"]}
    assert "Kubernetes 1.36.0 needs containerd 2.0.0 or newer" in whats
