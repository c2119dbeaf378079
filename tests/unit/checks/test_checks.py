"""Each check against a broken state and, through the sound hosts, against a good one."""

from __future__ import annotations

import time

import pytest

from tests.unit.checks.conftest import GIB_IN_KIB

# isort: split
from edgectl_checks import OPTIONS as OPTION_NAMES
from edgectl_checks import REGISTRY, run_checks

HOST = "nuc1"
CARD = {"kind": "pci", "bus": "0000:01:00.0", "driver": False, "kernel_driver": None}
RUNNING = {**CARD, "driver": True, "kernel_driver": "nvidia"}
ORIN = {"l4t": "36.4.3", "jetpack": "6.2", "soc": "orin"}


def test_sound_hosts_have_no_findings(states, options):
    assert run_checks(states, options, time.time()) == []


def test_a_host_whose_facts_are_all_missing_breaks_no_check(options):
    empty = {"identity": None, "os": None, "kernel": None, "network": None, "kubernetes": None}
    assert run_checks({HOST: empty}, {HOST: options[HOST]}) == []


def broken(path, value, **more):
    """One place of nuc1's document that is set to a bad value; `option_*` in `more` sets options."""
    return path, value, more


# A cluster made by k3s without a Jetson.
ENFORCED = {"option_cluster_distribution": "k3s", "option_edgectl_state_cluster": {"network_policy": True}}


def foreign_k3s(**different):
    """A k3s server on nuc1 that somebody installed; by itself it may be taken over by THIS inventory."""
    own = {
        "role": "control_plane",
        "version": "1.35.4",
        "release": "v1.35.4+k3s1",
        "cluster_ca_hash": "sha256:" + "3" * 64,
        "adopted": False,
        "unit": "/etc/systemd/system/k3s.service",
        "node_name": "nuc1",
        "nodes": ["nuc1"],
        "datastore": "sqlite",
        "network_policy": True,
        "options": {},
        "problems": [],
        "scripts": [],
    }
    return {
        "role": None, "distribution": None, "cluster_ca_hash": None, "k3s_present": True, "made_by_edgectl": False,
        "leftovers": [], "k3s": {**own, **different}, "k3s_templates": [],
    }  # fmt: skip


OF_K3S = {
    "option_cluster_distribution": "k3s",
    "option_edgectl_state_cluster": {},
    "option_cluster_pod_cidr": "10.42.0.0/16",
    "option_cluster_service_cidr": "10.43.0.0/16",
    "option_cluster_domain": "cluster.local",
}
ADOPTING = {**OF_K3S, "option_k3s_adopt": True}
TEMPLATE = "/var/lib/rancher/k3s/agent/etc/containerd/config.toml.tmpl"

# id -> (what is broken, severity, words that must stand in the finding)
CASES = {
    "I-NOT-ROOT": (broken("identity.root", False), "error", "ansible_become"),
    "I-MACHINE-ID-MISSING": (broken("identity.machine_id", "uninitialized"), "error", "systemd-machine-id-setup"),
    "I-MACHINE-ID-DUPLICATE": (broken("identity.machine_id", f"{2:032x}"), "error", "nuc2"),
    "I-HOSTNAME-DUPLICATE": (broken("identity.hostname", "orin1"), "error", "hostnamectl set-hostname nuc1"),
    "I-HOSTNAME-LOCALHOST": (broken("identity.hostname", "localhost.localdomain"), "error", "set-hostname nuc1"),
    "I-ADDRESS-DUPLICATE": (broken("network.default_address", "192.168.1.12"), "error", "192.168.1.12"),
    "M-OS-UNSUPPORTED": (broken("os", {"id": "fedora", "version_id": "42"}), "error", "Debian 12"),
    "M-ARCH-UNSUPPORTED": (broken("kernel.arch", "armv7l"), "error", "armv7l"),
    "M-JETPACK-UNSUPPORTED": (broken("jetson", {"l4t": "32.7.1", "jetpack": "4.6.1"}), "error", "JetPack 4.6.1"),
    "M-PYTHON-OLD": (broken("os.python", "3.6.9"), "error", "3.6.9"),
    "M-DISK-FULL": (broken("disks.1.free_bytes", 3 * 10**9, unset="kubernetes.role"), "error", "3.0 GB free"),
    "M-DISK-SLOW": (broken("disks.1.device", "/dev/mmcblk0p1"), "warning", "SD card or eMMC"),
    "M-MEMORY-LOW": (broken("memory.total_kib", GIB_IN_KIB - 1), "error", "too little"),
    "M-CLOCK-WRONG": (broken("clock.now", 1_500_000_000), "error", "2017-07-14"),
    "M-CLOCK-SKEW": (broken("clock.now", time.time() + 4000), "error", "ahead of"),
    "M-CLOCK-UNSYNCHRONISED": (broken("clock.synchronized", False), "warning", "set-ntp"),
    "M-SWAP-LAB": (
        broken("swap", [{"device": "/dev/sda2", "zram": False}], also=("simulated", "lab"), option_machine_swap="off"),
        "error",
        "machine_swap: keep",
    ),
    "M-SWAP-ZRAM": (
        broken("swap", [{"device": "/dev/zram0", "zram": True}], option_machine_swap="off"),
        "warning",
        "nvzramconfig",
    ),
    "M-APT-LOCKED": (broken("apt.lock_holder", {"pid": 42, "command": "unattended-upgrade"}), "warning", "42"),
    "M-REBOOT-REQUIRED": (broken("reboot", {"required": True, "packages": ["linux-image"]}), "warning", "linux-image"),
    "M-CGROUP-MEMORY": (broken("cgroup.controllers", ["cpu", "pids"]), "error", "cgroup_enable=memory"),
    "M-CGROUP-V1": (broken("cgroup.version", 1), "error", "failCgroupV1"),
    "N-CIDR-OVERLAP": (
        broken("network.routes", [{"dst": "10.96.3.0/24", "dev": "eth0", "via": "192.168.1.7"}]),
        "error",
        "cluster_service_cidr",
    ),
    "N-NO-ADDRESS": (broken("network.default_address", None), "error", "cluster_lan_address"),
    "N-WIREGUARD-IMPOSSIBLE": (
        broken("kernel.module_available.wireguard", False, also=("kernel.tun", False)),
        "error",
        "/dev/net/tun",
    ),
    "N-WIREGUARD-PORT-TAKEN": (broken("wireguard.interfaces", {}), "error", "51871"),
    "N-WIREGUARD-INTERFACE-TAKEN": (broken("wireguard.interfaces.wg0.public_key", "foreign"), "error", "foreign"),
    "N-TOPOLOGY-CHANGES": (
        broken(
            "wireguard.interfaces.wg0.peers",
            [{"public_key": "K2"}],
            left_out="nuc2",
            option_wireguard_topology="hub",
        ),
        "error",
        "without --limit",
    ),
    "N-BRIDGE-NETFILTER-MISSING": (broken("kernel.module_available.br_netfilter", False), "error", "br_netfilter"),
    "N-UFW-BLOCKS": (
        broken("firewall.ufw_active", True, option_machine_ufw="report"),
        "warning",
        "ufw allow 51871/udp",
    ),
    "N-FIREWALLD-ACTIVE": (broken("units", {"firewalld.service": {"active": "active"}}), "warning", "firewall-cmd"),
    "N-POLICIES-JETSON": (
        broken("jetson", ORIN, **ENFORCED),
        "error",
        "k3s then restarts on nuc1, nuc2, orin1, one after the other",
    ),
    "N-POLICIES-END": (
        broken("os.name", "x", option_k3s_network_policy="disabled", **ENFORCED),
        "warning",
        "every pod may talk to every other one",
    ),
    "N-POLICIES-LEFT-OUT": (
        broken("os.name", "x", option_k3s_network_policy="disabled", left_out="nuc2", **ENFORCED),
        "error",
        "not part of this run: nuc2",
    ),
    "N-ENDPOINT-LOCAL": (broken("os.name", "x", option_cluster_endpoint="api.lab.local"), "error", "api.lab.local"),
    "R-CONTAINERD-CRI-DISABLED": (broken("containerd.disabled_plugins", ["cri"]), "error", "containerd_enable_cri"),
    "R-CONTAINERD-TOO-OLD": (broken("containerd.version", "1.5.9"), "error", "1.6.0"),
    "G-L4T-HALF": (
        broken("jetson", ORIN, also=("packages", {"nvidia-l4t-core": "36.5.0-20260115194252"})),
        "error",
        "full-upgrade",
    ),
    "G-SHARING-IMPOSSIBLE": (
        broken("jetson", ORIN, option_device_plugin_sharing={"mode": "mps", "replicas": 2}),
        "error",
        "time-slicing",
    ),
    "G-SHARING-REPLICAS": (
        broken("jetson", ORIN, option_device_plugin_sharing={"mode": "time-slicing", "replicas": 1}),
        "error",
        "replicas: 2",
    ),
    "G-SHARING-MPS": (
        broken("gpus", [RUNNING], option_device_plugin_sharing={"mode": "mps", "replicas": 2}),
        "error",
        "device_plugin_install: chart",
    ),
    "G-SHARING-MEMORY": (
        broken("jetson", ORIN, option_device_plugin_sharing={"mode": "time-slicing", "replicas": 6}),
        "warning",
        "replicas: 4",
    ),
    "G-TAINT-EVERYWHERE": (
        broken("jetson", ORIN, alone=True, option_device_plugin_taint=True),
        "error",
        "CoreDNS",
    ),
    "G-GPU-PASSED-THROUGH": (broken("gpus", [{**CARD, "kernel_driver": "vfio-pci"}]), "error", "vfio-pci"),
    "G-DRIVER-MISSING": (broken("gpus", [CARD], option_nvidia_driver_install="never"), "error", "0000:01:00.0"),
    "G-DRIVER-NOT-BUILT": (
        broken("gpus", [CARD], also=("nvidia_driver", {"libraries": ["535.261.03"], "available": False})),
        "error",
        "linux-headers-",
    ),
    "G-DRIVER-MISMATCH": (
        broken("gpus", [RUNNING], also=("nvidia_driver", {"loaded": "535.161.07", "libraries": ["535.261.03"]})),
        "error",
        "sudo reboot",
    ),
    "G-DRIVER-OLD": (
        broken("gpus", [RUNNING], also=("nvidia_driver", {"loaded": "470.256.02"}), option_nvidia_driver_cuda="12"),
        "error",
        "525 or newer",
    ),
    "G-SECURE-BOOT": (
        broken("gpus", [CARD], also=("nvidia_driver", {"secure_boot": True, "dkms_key": False})),
        "error",
        "mokutil --import",
    ),
    "G-NOUVEAU": (broken("gpus", [{**CARD, "kernel_driver": "nouveau"}]), "warning", "machine_reboot: allow"),
    "R-OVERLAY-MISSING": (broken("kernel.module_available.overlay", False), "error", "CONFIG_OVERLAY_FS"),
    "C-OTHER-CLUSTER": (broken("kubernetes.cluster_ca_hash", "sha256:" + "2" * 64), "error", "--limit nuc1"),
    "C-LEFTOVERS": (
        broken("kubernetes.leftovers", ["/var/lib/kubelet"], also=("kubernetes.made_by_edgectl", False)),
        "error",
        "/var/lib/kubelet",
    ),
    "C-K3S-PRESENT": (broken("kubernetes.k3s_present", True), "error", "k3s-uninstall.sh"),
    "C-K3S-OTHER-CLUSTER": (
        broken("kubernetes", foreign_k3s(), **{**ADOPTING, "option_edgectl_state_cluster": {"ca_hash": "sha256:4"}}),
        "error",
        "sudo k3s-uninstall.sh",
    ),
    "C-K3S-ADOPTED": (broken("kubernetes", foreign_k3s(), **ADOPTING), "warning", "data in sqlite"),
    "C-K3S-DIFFERS": (broken("kubernetes", foreign_k3s(node_name="pi"), **ADOPTING), "error", "name the host pi"),
    "C-K3S-NEW-SERVER": (
        broken("kubernetes", {"role": None}, beside=("kubernetes", foreign_k3s(adopted=True)), **ADOPTING),
        "error",
        "nuc2: server v1.35.4+k3s1, data in sqlite",
    ),
    "C-K3S-TEMPLATE": (
        broken("kubernetes.k3s_templates", [{"path": TEMPLATE, "base": False}], **OF_K3S),
        "warning",
        f"sudo mv {TEMPLATE}",
    ),
    "C-PORT-TAKEN": (
        broken("network.listening", [{"protocol": "tcp", "port": 6443, "local": False, "process": "nginx"}]),
        "error",
        "nginx",
    ),
}


def set_at(document, path, value):
    *parents, last = path.split(".")
    for part in parents:
        document = document[int(part)] if part.isdigit() else document[part]
    document[int(last) if last.isdigit() else last] = value


def break_host(states, options, path, value, more):
    set_at(states[HOST], path, value)
    if "unset" in more:
        set_at(states[HOST], more["unset"], None)
    if "also" in more:
        set_at(states[HOST], *more["also"])
    if "beside" in more:
        set_at(states["nuc2"], *more["beside"])
    if "left_out" in more:
        del states[more["left_out"]]
    if "alone" in more:
        for name in set(states) - {HOST}:
            del states[name], options[name]
    for name, setting in more.items():
        if name.startswith("option_"):
            options[HOST][name.removeprefix("option_")] = setting


@pytest.mark.parametrize("check_id", CASES)
def test_the_check_sees_what_it_is_for(check_id, states, options):
    breakage, severity, words = CASES[check_id]
    break_host(states, options, *breakage)
    found = [finding for finding in run_checks(states, options) if finding.id == check_id and finding.host == HOST]
    assert len(found) == 1, f"{check_id} said {found}"
    finding = found[0]
    assert finding.severity == severity
    assert words in f"{finding.what} {finding.evidence} {finding.fix}"
    assert finding.evidence
    assert finding.fix
    assert finding.docs == f"docs/checks.md#{check_id.lower()}"


def test_every_check_has_a_case():
    assert {entry.id for entry in REGISTRY} == set(CASES)


def test_ids_are_unique():
    assert len({entry.id for entry in REGISTRY}) == len(REGISTRY)


def ids(findings):
    return [finding.id for finding in findings]


@pytest.mark.parametrize(("clone", "original"), [("nuc2", "orin1"), ("orin1", "nuc2")])
def test_a_cloned_machine_id_is_told_once_to_the_clone(states, options, clone, original):
    states[clone]["identity"]["machine_id"] = states[original]["identity"]["machine_id"]
    (finding,) = run_checks(states, options)
    assert (finding.host, finding.id) == (clone, "I-MACHINE-ID-DUPLICATE")
    assert finding.what.startswith(f"{clone} has the machine-id of {original}")
    assert finding.fix.startswith(f"on {clone}: sudo rm -f /etc/machine-id")


def test_of_new_hosts_made_from_one_image_all_but_one_are_told(states, options):
    for name in states:
        states[name]["identity"]["machine_id"] = "e" * 32
        del options[name]["edgectl_state"]["machine_id"]
    found = run_checks(states, options)
    assert [(f.host, f.id) for f in found] == [(name, "I-MACHINE-ID-DUPLICATE") for name in ("nuc2", "orin1")]
    assert all("machine-id of nuc1" in f.what for f in found)


def test_a_newcomer_may_not_have_the_machine_id_that_the_state_file_keeps_for_another(states, options):
    del options["nuc1"]["edgectl_state"]["machine_id"]
    states["nuc1"]["identity"]["machine_id"] = states.pop("nuc2")["identity"]["machine_id"]
    findings = run_checks(states, options)
    assert [(f.host, f.id) for f in findings] == [("nuc1", "I-MACHINE-ID-DUPLICATE")]
    assert "nuc2" in findings[0].what


def test_a_reinstalled_host_does_not_clash_with_its_own_past(states, options):
    options["nuc1"]["edgectl_state"]["machine_id"] = "f" * 32
    assert run_checks(states, options) == []


def test_two_machines_behind_two_routers_may_share_an_address_when_told_apart(states, options):
    states["orin1"]["network"]["default_address"] = states["nuc1"]["network"]["default_address"]
    options["orin1"]["cluster_lan_address"] = "203.0.113.7"
    assert run_checks(states, options) == []


@pytest.mark.parametrize(
    ("system", "severity"),
    [
        ({"id": "debian", "version_id": "11"}, "warning"),
        ({"id": "linuxmint", "id_like": ["ubuntu", "debian"], "version_id": "22"}, "warning"),
        ({"id": "rhel", "id_like": ["fedora"], "version_id": "9"}, "error"),
    ],
)
def test_an_unknown_relative_of_debian_is_only_warned_about(states, options, system, severity):
    states[HOST]["os"] = {**system, "python": "3.11.2"}
    assert [f.severity for f in run_checks(states, options)] == [severity]


@pytest.mark.parametrize(
    ("l4t", "severities"),
    [
        ("39.2.0", []),
        ("36.5.0", []),
        ("36.4.3", []),
        ("36.3.0", ["warning"]),
        ("38.4.0", ["warning"]),
        ("35.4.1", ["warning"]),
        ("34.1.1", ["error"]),
        ("32.7.6", ["error"]),
        (None, ["warning"]),
    ],
)
def test_each_jetson_release_gets_its_verdict(states, options, l4t, severities):
    states[HOST]["jetson"] = {"l4t": l4t, "jetpack": None}
    assert [f.severity for f in run_checks(states, options)] == severities


def test_a_running_node_is_not_refused_for_a_full_disk(states, options):
    states[HOST]["disks"][1]["free_bytes"] = 10**9
    assert [(f.id, f.severity) for f in run_checks(states, options)] == [("M-DISK-FULL", "warning")]


def test_a_rotating_disk_is_slow_for_etcd_and_for_nothing_else(states, options):
    def slow():
        return [f.host for f in run_checks(states, options) if f.id == "M-DISK-SLOW"]

    for host in states:
        states[host]["disks"] = [{"path": "/var/lib", "device": "/dev/sda1", "free_bytes": 10**12, "rotational": True}]
        options[host]["group_names"] = ["cluster", "control_plane" if host == HOST else "workers"]
    assert slow() == [HOST]
    for host in options.values():
        host["cluster_distribution"] = "k3s"
    assert slow() == []  # a lone k3s server has no etcd
    options["orin1"]["group_names"] = ["cluster", "control_plane"]
    assert slow() == [HOST, "orin1"]


def test_a_small_disk_of_the_system_will_do_where_images_are_on_another(states, options):
    del states[HOST]["kubernetes"]
    states[HOST]["disks"][1]["free_bytes"] = 10**9
    assert [f.severity for f in run_checks(states, options) if f.id == "M-DISK-FULL"] == ["error"]
    options[HOST]["machine_data_directory"] = "/mnt/nvme"
    assert [f.severity for f in run_checks(states, options) if f.id == "M-DISK-FULL"] == ["warning"]


@pytest.mark.parametrize(("gib", "severities"), [(0.9, ["error"]), (1.2, ["warning"]), (1.6, [])])
def test_memory_is_judged_in_three_steps(states, options, gib, severities):
    states[HOST]["memory"]["total_kib"] = int(gib * GIB_IN_KIB)
    assert [f.severity for f in run_checks(states, options)] == severities


def test_one_wrong_clock_does_not_accuse_the_others(states, options):
    states["orin1"]["clock"]["now"] -= 3600
    assert [(f.host, f.id) for f in run_checks(states, options)] == [("orin1", "M-CLOCK-SKEW")]


def test_a_single_host_is_compared_with_the_controller(states, options):
    now = states[HOST]["clock"]["now"]
    only = {HOST: states[HOST]}
    assert ids(run_checks(only, {HOST: options[HOST]}, now + 90)) == ["M-CLOCK-SKEW"]
    assert run_checks(only, {HOST: options[HOST]}, now + 5) == []


def test_an_unsynchronised_clock_is_nobodys_business_when_the_user_says_so(states, options):
    states[HOST]["clock"]["synchronized"] = False
    options[HOST]["machine_time_sync"] = "ignore"
    assert run_checks(states, options) == []


def test_swap_that_stays_is_not_mentioned(states, options):
    states[HOST]["swap"] = [{"device": "/dev/zram0", "zram": True}]
    assert run_checks(states, options) == []


def test_cgroup_v1_is_accepted_when_kubelet_is_told_to(states, options):
    states[HOST]["cgroup"]["version"] = 1
    options[HOST]["kubeadm_kubelet_config"] = {"failCgroupV1": False}
    assert run_checks(states, options) == []


def test_cgroup_v1_is_accepted_by_older_kubernetes(states, options):
    states[HOST]["cgroup"]["version"] = 1
    options[HOST]["cluster_version"] = "1.34.2"
    assert run_checks(states, options) == []


def test_an_overlap_names_both_sides_and_suggests_a_free_range(states, options):
    states[HOST]["network"]["interfaces"].append({"name": "docker0", "addresses": ["10.244.0.1/16"]})
    (finding,) = run_checks(states, options)
    assert "10.244.0.0/16" in finding.what
    assert finding.evidence == "10.244.0.1/16 on docker0"
    assert "cluster_pod_cidr" in finding.fix
    assert "10.201.0.0/16" in finding.fix


def test_routes_that_edgectl_made_are_no_overlap(states, options):
    states[HOST]["network"]["routes"] += [
        {"dst": "10.244.0.0/16", "dev": None, "via": None, "protocol": "71"},
        {"dst": "10.244.2.0/24", "dev": "eth0", "via": "192.168.1.12", "protocol": "71"},
    ]
    assert run_checks(states, options) == []
    states[HOST]["network"]["routes"][-1]["protocol"] = "static"
    (finding,) = run_checks(states, options)
    assert finding.evidence == "route 10.244.2.0/24 dev eth0"


def test_a_lan_only_cluster_needs_nothing_for_tunnels(states, options):
    options[HOST]["cluster_wireguard"] = "false"
    states[HOST]["kernel"].update(tun=False)
    states[HOST]["kernel"]["module_available"]["wireguard"] = False
    states[HOST]["wireguard"]["interfaces"] = {}
    assert run_checks(states, options) == []


def test_wireguard_go_makes_up_for_a_missing_module(states, options):
    states[HOST]["kernel"]["module_available"]["wireguard"] = False
    assert run_checks(states, options) == []


def test_ufw_rules_that_are_there_satisfy_the_check(states, options):
    anywhere = "0.0.0.0/0 any 0.0.0.0/0"
    options[HOST]["machine_ufw"] = "report"
    states[HOST]["firewall"] = {
        "ufw_active": True,
        "ufw_rules": [
            f"allow udp 51871 {anywhere} in",
            f"allow any any {anywhere} in_wg0",
            f"allow any any {anywhere} in_cni0",
            f"route:allow any any {anywhere} in_cni0",
            f"route:allow any any {anywhere} in_wg0!out_cni0",
        ],
    }
    assert run_checks(states, options) == []


def test_without_a_tunnel_ufw_has_to_let_the_other_nodes_and_their_pods_in(states, options):
    for of_host in options.values():
        of_host["cluster_wireguard"] = "false"
    options[HOST]["machine_ufw"] = "report"
    states[HOST]["firewall"] = {"ufw_active": True, "ufw_rules": []}
    (finding,) = run_checks(states, options)
    others = [state["network"]["default_address"] for name, state in states.items() if name != HOST]
    for source in (*others, "10.244.0.0/16"):
        assert f"sudo ufw allow from {source}" in finding.fix
    assert "wg0" not in finding.fix


def test_a_copied_disk_is_told_by_its_wireguard_key(states, options):
    options["nuc2"]["edgectl_state"]["wireguard_public_key"] = "copied"
    states[HOST]["wireguard"]["interfaces"]["wg0"]["public_key"] = "copied"
    findings = [finding for finding in run_checks(states, options) if finding.host == HOST]
    assert [finding.what for finding in findings] == [f"{HOST} has the WireGuard key of nuc2, as after copying a disk"]
    assert findings[0].fix.endswith("sudo rm -r /etc/wireguard/wg0.*")


def test_a_hub_needs_nothing_that_only_nodes_need(states, options):
    options[HOST]["group_names"] = ["hub"]
    states[HOST]["memory"]["total_kib"] = GIB_IN_KIB // 2
    states[HOST]["kubernetes"]["k3s_present"] = True
    assert run_checks(states, options) == []


def test_spokes_behind_different_routers_may_have_the_same_address(states, options):
    states[HOST]["network"]["default_address"] = "192.168.1.12"
    assert {finding.id for finding in run_checks(states, options)} == {"I-ADDRESS-DUPLICATE"}
    for of_host in options.values():
        of_host["wireguard_topology"] = "hub"
    assert run_checks(states, options) == []


def test_a_spoke_may_give_up_a_tunnel_to_a_host_out_of_reach_where_the_hub_is_part_of_the_run(states, options):
    breakage, _, _ = CASES["N-TOPOLOGY-CHANGES"]
    break_host(states, options, *breakage)
    options["orin1"]["group_names"] = ["cluster", "hub"]
    found = [finding for finding in run_checks(states, options) if finding.id == "N-TOPOLOGY-CHANGES"]
    assert [finding.severity for finding in found] == ["warning"]
    assert "until a run includes both" in found[0].evidence


def test_with_consent_docker_users_are_not_asked_again(states, options):
    states[HOST]["containerd"].update(disabled_plugins=["cri"], docker_owned=True)
    options[HOST]["containerd_enable_cri"] = "allow"
    assert run_checks(states, options) == []


@pytest.mark.parametrize(
    ("kubernetes", "containerd", "package", "severities"),
    [
        ("1.35.4", "1.7.28", "containerd.io", []),
        ("1.35.4", "1.7.13", "containerd.io", ["warning"]),
        ("1.35.4", "1.6.20", "containerd", []),
        ("1.35.4", "2.2.0", "containerd.io", []),
        ("1.36.0", "1.7.28", "containerd.io", ["error"]),
        ("1.36.0", "2.1.4", "containerd.io", []),
        ("1.30.1", "1.7.13", "containerd.io", []),
    ],
)
def test_containerd_and_kubernetes_are_matched_by_the_table(
    states, options, kubernetes, containerd, package, severities
):
    options[HOST]["cluster_version"] = kubernetes
    states[HOST]["containerd"].update(version=containerd, package=package)
    assert [f.severity for f in run_checks(states, options)] == severities


def test_an_init_that_was_interrupted_before_the_state_file_knew_is_ours(states, options):
    del options[HOST]["edgectl_state_cluster"]["ca_hash"]
    assert run_checks({HOST: states[HOST]}, {HOST: options[HOST]}) == []


@pytest.mark.parametrize("ca_hash", ["sha256:" + "2" * 64, None])
def test_kubernetes_that_edgectl_did_not_make_is_not_its_own_to_remove(states, options, ca_hash):
    states[HOST]["kubernetes"].update(made_by_edgectl=False, cluster_ca_hash=ca_hash)
    (finding,) = run_checks({HOST: states[HOST]}, {HOST: options[HOST]})
    assert finding.id == "C-OTHER-CLUSTER"
    assert "kubeadm reset" in finding.fix
    assert "edgectl reset" not in finding.fix


def test_what_an_interrupted_join_of_ours_left_is_the_roles_business(states, options):
    states[HOST]["kubernetes"].update(role=None, leftovers=["/var/lib/kubelet"])
    assert run_checks(states, options) == []
    states[HOST]["kubernetes"].update(role="worker", cluster_ca_hash="sha256:" + "9" * 64, phase="joining")
    assert run_checks(states, options) == []


def test_ports_of_the_control_plane_matter_on_the_control_plane_only(states, options):
    states[HOST]["network"]["listening"] = [{"protocol": "tcp", "port": 2379, "local": True, "process": "etcd-old"}]
    options[HOST]["group_names"] = ["cluster", "workers"]
    assert run_checks(states, options) == []


def test_findings_come_in_the_order_of_the_layers(states, options):
    states[HOST]["kubernetes"]["k3s_present"] = True
    states[HOST]["identity"]["root"] = False
    states[HOST]["kernel"]["arch"] = "riscv64"
    assert ids(run_checks(states, options)) == ["I-NOT-ROOT", "M-ARCH-UNSUPPORTED", "C-K3S-PRESENT"]


def test_checks_only_ask_for_options_that_they_declare(states, options):
    """The preflight plugin evaluates no others, so an undeclared one would silently be None."""
    asked = set()

    class Recorder(dict):
        def get(self, name, default=None):
            asked.add(name)
            return super().get(name, default)

    for breakage, _, _ in CASES.values():
        broken_states = {HOST: {**states[HOST]}}
        recorded = Recorder(options[HOST])
        recorded.update({k.removeprefix("option_"): v for k, v in breakage[2].items() if k.startswith("option_")})
        run_checks(broken_states, {HOST: recorded})
    assert asked <= set(OPTION_NAMES)


@pytest.mark.parametrize("system", ["debian", "ubuntu"])
def test_a_driver_that_a_role_will_install_is_no_problem(states, options, system):
    states[HOST]["gpus"] = [CARD]
    states[HOST]["nvidia_driver"] = {"loaded": None, "libraries": [], "secure_boot": system == "ubuntu"}
    states[HOST]["os"].update(id=system, version_id="24.04" if system == "ubuntu" else "12")
    assert run_checks(states, options) == []


def test_a_driver_for_another_system_is_its_owners_business(states, options):
    states[HOST]["gpus"] = [CARD]
    states[HOST]["os"]["id"] = "linuxmint"
    finding = next(f for f in run_checks(states, options) if f.id == "G-DRIVER-MISSING")
    assert "nvidia_driver_install" not in finding.fix


def test_a_key_that_dkms_has_may_be_enrolled(states, options):
    states[HOST]["gpus"] = [CARD]
    states[HOST]["nvidia_driver"] = {"secure_boot": True, "dkms_key": True}
    assert run_checks(states, options) == []


@pytest.mark.parametrize("card", [CARD, {**CARD, "kernel_driver": "nouveau"}, {**CARD, "kernel_driver": "vfio-pci"}])
def test_a_card_in_a_jetsons_slot_is_left_to_its_owner(states, options, card):
    states[HOST].update(jetson=ORIN, gpus=[card])
    assert not [finding for finding in run_checks(states, options) if finding.layer == "gpu"]


def test_where_the_run_may_reboot_a_mixed_driver_stops_nobody(states, options):
    states[HOST].update(gpus=[RUNNING], nvidia_driver={"loaded": "535.161.07", "libraries": ["535.261.03"]})
    options[HOST]["machine_reboot"] = "allow"
    (finding,) = run_checks(states, options)
    assert (finding.id, finding.severity) == ("G-DRIVER-MISMATCH", "warning")


def test_of_two_cards_one_may_belong_to_virtual_machines(states, options):
    states[HOST].update(gpus=[RUNNING, {**CARD, "bus": "0000:02:00.0", "kernel_driver": "vfio-pci"}])
    states[HOST]["nvidia_driver"] = {"loaded": "580.95.05", "libraries": ["580.95.05"]}
    assert run_checks(states, options) == []


@pytest.mark.parametrize(("without", "found"), [("", 1), ("taint", 0), ("gpu", 0), ("document", 0)])
def test_a_taint_is_everywhere_only_where_every_node_is_known_to_have_it_and_is_told_once(
    states, options, without, found
):
    for name in states:
        states[name]["jetson"] = ORIN
        options[name]["device_plugin_taint"] = "yes"
    if without == "taint":
        options["nuc2"]["device_plugin_taint"] = False
    elif without == "gpu":
        states["nuc2"]["jetson"] = None
    elif without == "document":
        del states["nuc2"]
    assert ids(run_checks(states, options)).count("G-TAINT-EVERYWHERE") == found


def test_a_host_that_edgectl_made_a_node_with_another_distribution_has_to_be_reset_first(states, options):
    states[HOST]["kubernetes"].update(distribution="k3s", made_by_edgectl=True, role="worker", k3s_present=True)
    [finding] = [finding for finding in run_checks(states, options) if finding.host == HOST]
    assert finding.what == "the host is a node that k3s made, and cluster_distribution asks for kubeadm"
    assert finding.fix.endswith(f"edgectl reset inventory --limit {HOST}")


@pytest.mark.parametrize(("process", "problems"), [("k3s-server", 0), ("k3s", 0), ("kubelet", 1)])
def test_the_ports_of_a_node_are_free_where_k3s_itself_has_them(states, options, process, problems):
    options[HOST]["cluster_distribution"] = "k3s"
    states[HOST]["kubernetes"].update(distribution="k3s", made_by_edgectl=True)
    states[HOST]["network"]["listening"] = [{"protocol": "tcp", "port": 10250, "process": process}]
    assert ids(run_checks(states, options)) == ["C-PORT-TAKEN"] * problems


def option(*values, secret=False):
    return {"values": None if secret else list(values), "from": ["/etc/rancher/k3s/config.yaml"]}


def k3s_findings(states, of_hosts, adopt=True, **different):
    """Findings about a foreign k3s on nuc1; id -> finding."""
    break_host(states, of_hosts, "kubernetes", foreign_k3s(**different), {**OF_K3S, "option_k3s_adopt": adopt})
    found = of_k3s(states, of_hosts)
    assert len(found) == len({finding.id for finding in found}), found
    return {finding.id: finding for finding in found}


def of_k3s(states, options, host=HOST):
    # The sound host's ports are those of kubeadm's programs.
    return [one for one in run_checks(states, options) if one.host == host and one.id.startswith("C-K3S")]


def test_a_k3s_that_edgectl_did_not_install_is_refused_with_what_taking_it_over_would_change(states, options):
    found = k3s_findings(
        states, options, adopt=False,
        options={"node-label": option("shelf=left"), "token": option(secret=True), "node-ip": option("192.168.1.11")},
    )  # fmt: skip
    assert list(found) == ["C-K3S-PRESENT"]
    finding = found["C-K3S-PRESENT"]
    assert finding.severity == "error"
    assert finding.fix.startswith("k3s_adopt: true")
    for words in ("v1.35.4+k3s1", "data in sqlite", "192.168.1.11 into the tunnel", "node-label shelf=left", "token"):
        assert words in finding.evidence


def test_leftovers_of_k3s_without_a_node_are_not_taken_over(states, options):
    break_host(states, options, "kubernetes", {**foreign_k3s(), "k3s": None}, ADOPTING)
    assert ids(of_k3s(states, options)) == ["C-K3S-PRESENT"]


@pytest.mark.parametrize(
    ("different", "words"),
    [
        ({"options": {"cluster-cidr": option("10.9.0.0/16")}}, 'cluster_pod_cidr: "10.9.0.0/16"'),
        ({"options": {"service-cidr": option("10.9.0.0/16")}}, 'cluster_service_cidr: "10.9.0.0/16"'),
        ({"options": {"cluster-domain": option("home.arpa")}}, 'cluster_domain: "home.arpa"'),
        (
            {"options": {"kube-controller-manager-arg": option("v=2", "node-cidr-mask-size=26")}},
            'cluster_pod_prefix: "26"',
        ),
        ({"version": "1.34.1"}, 'cluster_version: "1.34.1"'),
        ({"options": {"docker": option("true")}}, "do without docker"),
        ({"options": {"data-dir": option("/srv/k3s")}}, "do without data-dir"),
        ({"options": {"container-runtime-endpoint": option(secret=True)}}, "do without container-runtime-endpoint"),
        ({"nodes": ["nuc1", "pi4"]}, "kubectl delete node pi4"),
        ({"problems": ["line 3 is not understood"]}, "config.yaml"),
    ],
)
def test_what_cannot_change_in_a_k3s_that_runs_has_to_stand_in_the_inventory(states, options, different, words):
    found = k3s_findings(states, options, **different)
    assert found["C-K3S-DIFFERS"].severity == "error"
    assert words in found["C-K3S-DIFFERS"].fix


@pytest.mark.parametrize(
    "same", [{"options": {"docker": option("false")}}, {"options": {"data-dir": option("/var/lib/rancher/k3s")}}]
)
def test_an_option_that_is_as_without_it_stands_in_nobodys_way(states, options, same):
    assert list(k3s_findings(states, options, **same)) == ["C-K3S-ADOPTED"]


@pytest.mark.parametrize(("ca", "wanted"), [("3", "C-K3S-ADOPTED"), ("5", "C-K3S-OTHER-CLUSTER")])
def test_an_agent_is_taken_over_where_the_control_plane_has_its_cluster(states, options, ca, wanted):
    for name in (HOST, "nuc2"):
        agent = {"role": "worker", "cluster_ca_hash": "sha256:" + ca * 64} if name == "nuc2" else {}
        states[name]["kubernetes"] = foreign_k3s(node_name=name, **agent)
        groups = ["cluster", "control_plane" if name == HOST else "workers"]
        options[name].update(group_names=groups)
        options[name].update({key.removeprefix("option_"): value for key, value in ADOPTING.items()})
    of_agent = of_k3s(states, options, "nuc2")
    assert ids(of_agent) == [wanted]
    if wanted == "C-K3S-OTHER-CLUSTER":
        assert "nuc1 has sha256:3333" in of_agent[0].evidence


def test_an_agent_without_a_cluster_at_the_control_plane_is_anothers(states, options):
    options[HOST]["group_names"] = ["cluster", "workers"]
    for name in ("nuc2", "orin1"):
        states[name]["kubernetes"] = {"role": None}
    found = k3s_findings(states, options, role="worker")
    assert "the control plane has none yet" in found["C-K3S-OTHER-CLUSTER"].evidence


def test_a_server_that_the_inventory_takes_for_an_agent_is_named(states, options):
    options[HOST]["group_names"] = ["cluster", "workers"]
    break_host(states, options, "kubernetes", foreign_k3s(), ADOPTING)
    options[HOST]["edgectl_state_cluster"] = {"ca_hash": "sha256:" + "3" * 64}
    [finding] = of_k3s(states, options)
    assert (finding.id, finding.fix) == ("C-K3S-OTHER-CLUSTER", "move nuc1 to group control_plane")


def test_a_new_agent_joins_a_server_that_was_taken_over(states, options):
    options[HOST]["group_names"] = ["cluster", "workers"]
    break_host(states, options, "kubernetes", {"role": None}, ADOPTING)
    states["nuc2"]["kubernetes"] = foreign_k3s(adopted=True)
    assert of_k3s(states, options) == []


@pytest.mark.parametrize("adopted", [False, True])
def test_servers_that_were_there_together_are_taken_over_together(states, options, adopted):
    for name in (HOST, "nuc2"):
        states[name]["kubernetes"] = foreign_k3s(adopted=adopted, node_name=name, nodes=[HOST, "nuc2"])
        options[name].update({key.removeprefix("option_"): value for key, value in ADOPTING.items()})
        assert "C-K3S-NEW-SERVER" not in ids(of_k3s(states, options, name))


def test_a_template_that_takes_in_k3s_own_is_no_finding(states, options):
    break_host(states, options, "kubernetes.k3s_templates", [{"path": TEMPLATE, "base": True}], OF_K3S)
    assert "C-K3S-TEMPLATE" not in ids(run_checks(states, options))


def test_a_k3s_that_edgectl_did_not_install_is_refused_also_where_k3s_is_wanted(states, options):
    options[HOST]["cluster_distribution"] = "k3s"
    states[HOST]["kubernetes"].update(distribution=None, role=None, made_by_edgectl=False, k3s_present=True)
    assert "C-K3S-PRESENT" in ids(run_checks(states, options))


@pytest.mark.parametrize(
    ("policy", "decided", "found"),
    [
        ("auto", True, ["N-POLICIES-JETSON"]),
        ("auto", False, []),  # decided when the first Jetson came
        ("auto", None, []),  # the cluster is made in this run
        ("enabled", True, []),
        ("disabled", True, ["N-POLICIES-END"]),
        ("disabled", False, []),
    ],
)
def test_the_switch_for_network_policies_is_spoken_of_only_where_it_is_thrown(states, options, policy, decided, found):
    for name in states:
        options[name]["cluster_distribution"] = "k3s"
        options[name]["k3s_network_policy"] = policy
        options[name]["edgectl_state_cluster"] = {"network_policy": decided} if decided is not None else {}
        states[name]["kubernetes"].update(distribution="k3s")
    states["orin1"]["jetson"] = ORIN
    said = [finding for finding in run_checks(states, options) if finding.id.startswith("N-POLICIES")]
    assert [finding.id for finding in said] == found
