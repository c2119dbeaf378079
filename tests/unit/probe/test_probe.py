"""The probe over recorded trees: what real files and commands say becomes the document's fields."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from edgectl.ssh.probe import piped_script

DATA = Path(__file__).parent / "data"
SCRIPT = Path(__file__).parents[3] / "plugins" / "module_utils" / "edgectl_probe.py"

sys.path.insert(0, str(SCRIPT.parent))
_spec = importlib.util.spec_from_file_location("edgectl_probe", SCRIPT)
probe_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(probe_module)


@pytest.fixture(scope="module")
def jetson():
    return probe_module.probe(str(DATA / "jetson_r36"))


@pytest.fixture
def control_plane_tree(tmp_path):
    """The control plane's tree, with the links and the inode that a recording can't keep."""
    root = tmp_path / "root"
    shutil.copytree(DATA / "debian12_control_plane", root)
    inode = str((root / "var/lib/dpkg/lock-frontend").stat().st_ino)
    locks = root / "proc/locks"
    locks.write_text(locks.read_text().replace("@INODE@", inode))
    descriptors = root / "proc/900/fd"
    descriptors.mkdir()
    (descriptors / "7").symlink_to("socket:[31003]")
    return root


@pytest.fixture
def control_plane(control_plane_tree):
    return probe_module.probe(str(control_plane_tree))


def test_a_recorded_jetson_is_read_without_errors(jetson):
    assert jetson["errors"] == []
    assert jetson["schema_version"] == 1


def test_the_document_has_every_section_and_is_json(jetson):
    sections = (
        "identity", "os", "kernel", "cgroup", "swap", "clock", "memory", "disks", "network", "firewall", "packages",
        "units", "containerd", "apt", "jetson", "gpus", "toolkit", "wireguard", "kubernetes", "ssh_host_keys", "lock",
        "simulated", "nvidia_driver",
    )  # fmt: skip
    assert set(sections) <= set(json.loads(json.dumps(jetson)))


def test_a_jetson_is_known_by_its_release_file_and_device_tree(jetson):
    assert jetson["jetson"] == {
        "l4t": "36.4.3",
        "jetpack": "6.2",
        "model": "NVIDIA Jetson Orin Nano Engineering Reference Developer Kit Super",
        "soc": "orin",
        "power_mode": "MAXN_SUPER",
    }
    assert jetson["identity"]["serial"] == "1421024000001"


@pytest.mark.parametrize(
    ("first_line", "l4t", "jetpack"),
    [
        ("# R39 (release), REVISION: 2.0, GCID: 1, BOARD: generic", "39.2.0", "7.2"),
        ("# R36 (release), REVISION: 5.0, GCID: 1, BOARD: generic", "36.5.0", "6.2.2"),
        ("# R35 (release), REVISION: 4.1, GCID: 1, BOARD: t186ref", "35.4.1", "5.1.2"),
        ("# R35 (release), REVISION: 6.4, GCID: 1, BOARD: t186ref", "35.6.4", "5.1.6"),
        ("# R32 (release), REVISION: 7.1, GCID: 1, BOARD: t210ref", "32.7.1", "4.6.1"),
        ("# R99 (release), REVISION: 1.0, GCID: 1, BOARD: generic", "99.1.0", None),
    ],
)
def test_the_release_line_gives_the_jetpack(tmp_path, first_line, l4t, jetpack):
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/nv_tegra_release").write_text(first_line + "\n")
    found = probe_module.probe(str(tmp_path))["jetson"]
    assert (found["l4t"], found["jetpack"]) == (l4t, jetpack)


def test_kernel_options_come_from_the_boot_directory_when_proc_has_none(jetson):
    config = jetson["kernel"]["config"]
    assert config["CONFIG_TUN"] == "y"
    assert config["CONFIG_VXLAN"] == "m"
    assert "CONFIG_WIREGUARD" not in config


def test_a_jetson_kernel_has_no_wireguard_but_can_load_the_rest(jetson):
    assert jetson["kernel"]["module_available"] == {
        "wireguard": False,
        "br_netfilter": True,
        "overlay": True,
        "vxlan": True,
    }
    assert jetson["kernel"]["tun"] is True


def test_a_kernel_that_shows_neither_options_nor_modules_leaves_the_question_open(tmp_path):
    assert set(probe_module.probe(str(tmp_path))["kernel"]["module_available"].values()) == {None}


def test_a_loaded_module_counts_even_when_the_options_deny_it(tmp_path):
    (tmp_path / "proc/sys/kernel").mkdir(parents=True)
    (tmp_path / "boot").mkdir()
    (tmp_path / "proc/sys/kernel/osrelease").write_text("5.15.148-tegra")
    (tmp_path / "boot/config-5.15.148-tegra").write_text("CONFIG_TUN=y\n")
    (tmp_path / "proc/modules").write_text("wireguard 90112 0 - Live 0x0 (O)\n")
    available = probe_module.probe(str(tmp_path))["kernel"]["module_available"]
    assert available["wireguard"] is True
    assert available["vxlan"] is False


def test_the_time_keepers_that_role_machine_looks_for_go_by_the_names_that_the_document_gives():
    variables = yaml.safe_load((SCRIPT.parents[2] / "roles" / "machine" / "vars" / "main.yml").read_text())
    reported = {f"{unit}.service" for unit in probe_module.UNITS}
    assert variables["__machine_time_units"]
    assert set(variables["__machine_time_units"]) <= reported


def test_zram_is_told_from_swap_on_disk(jetson):
    assert len(jetson["swap"]) == 6
    assert jetson["swap"][0] == {"device": "/dev/zram0", "type": "partition", "size_kib": 650172, "zram": True}


def test_the_default_route_with_the_lowest_metric_gives_the_address(jetson):
    assert jetson["network"]["default_interface"] == "enP8p1s0"
    assert jetson["network"]["default_address"] == "192.168.1.31"
    assert jetson["network"]["default_mtu"] == 1500


def test_interfaces_keep_their_kind_and_addresses(jetson):
    by_name = {interface["name"]: interface for interface in jetson["network"]["interfaces"]}
    assert by_name["enP8p1s0"]["addresses"] == ["192.168.1.31/24", "fe80::1/64"]
    assert by_name["l4tbr0"]["kind"] == "bridge"


def test_only_installed_packages_are_listed(jetson):
    assert jetson["packages"] == {
        "nvidia-l4t-core": "36.4.3-20250107174145",
        "nvidia-jetpack": "6.2+b77",
        "iptables": "1.8.7-1ubuntu5.2",
    }


def test_units_that_do_not_exist_are_left_out_and_start_times_are_unix_time(jetson):
    assert list(jetson["units"]) == ["nvzramconfig.service"]
    unit = jetson["units"]["nvzramconfig.service"]
    assert unit["enabled"] == "enabled"
    assert unit["started_at"] == pytest.approx(time.time() - time.monotonic() + 8.112, abs=2)


def test_the_toolkit_shows_its_mode_and_csv_files(jetson):
    assert jetson["toolkit"]["mode"] == "auto"
    assert jetson["toolkit"]["csv_files"] == ["devices.csv", "drivers.csv"]
    assert jetson["gpus"][0]["kind"] == "integrated"


def test_host_keys_have_the_fingerprint_that_ssh_shows(jetson):
    # ssh-keygen -lf said so of the same file.
    fingerprint = "SHA256:jWX1gDu9/AdyTIJHDd0CgxPAed32U04771GVyo+aVTU"
    assert jetson["ssh_host_keys"] == [{"type": "ssh-ed25519", "fingerprint": fingerprint}]


def test_cgroup_versions_and_disabled_controllers_are_told_apart(jetson, control_plane):
    assert jetson["cgroup"]["version"] == 2
    assert control_plane["cgroup"] == {"version": 1, "controllers": ["cpu", "cpuset"]}


def test_the_holder_of_apts_lock_is_named_and_a_waiting_one_is_not(control_plane):
    assert control_plane["apt"]["lock_holder"] == {
        "pid": 4321,
        "command": "/usr/bin/python3 /usr/bin/unattended-upgrade",
    }


def test_listening_ports_have_their_process_and_connections_are_left_out(control_plane):
    assert control_plane["network"]["listening"] == [
        {"protocol": "tcp", "port": 6443, "local": False, "process": "kube-apiserver"},
        {"protocol": "tcp", "port": 6444, "local": True, "process": None},
        {"protocol": "udp", "port": 51871, "local": False, "process": None},
    ]


def test_dockers_forward_policy_and_ufw_are_recognised(control_plane):
    firewall = control_plane["firewall"]
    assert firewall["iptables_backend"] == "legacy"
    assert firewall["forward_policy"] == "DROP"
    assert firewall["docker_forward_drop"] is True
    assert firewall["ufw_active"] is True
    assert firewall["ufw_rules"][1] == "allow udp 51871 0.0.0.0/0 any 0.0.0.0/0 in"


def test_chrony_says_whether_the_clock_is_synchronised(control_plane, jetson):
    assert control_plane["clock"]["synchronized"] is False
    assert control_plane["clock"]["service"] == "chrony"
    assert jetson["clock"] == {**jetson["clock"], "synchronized": True, "service": "systemd-timesyncd"}


def test_the_kernel_is_asked_where_no_service_answers():
    """The same answer as timedatectl's, which looks at the same number."""
    assert probe_module.kernel_clock_is_synchronised() in (True, False)


def test_wireguard_peers_come_without_any_private_key(control_plane):
    interface = control_plane["wireguard"]["interfaces"]["wg0"]
    assert interface["listen_port"] == 51871
    assert interface["userspace"] is True
    assert interface["peers"][0]["allowed_ips"] == ["10.200.0.2/32", "10.244.1.0/24"]
    assert interface["peers"][0]["handshake_age_s"] > 0
    assert interface["peers"][1]["endpoint"] is None
    assert interface["peers"][1]["handshake_age_s"] is None
    assert "hidden" not in json.dumps(control_plane)


def test_dockers_containerd_shows_its_disabled_cri_plugin_from_the_file(control_plane):
    found = control_plane["containerd"]
    assert found["version"] == "1.7.27"
    assert found["package"] == "containerd.io"
    assert found["disabled_plugins"] == ["cri"]
    assert found["docker_owned"] is True


def test_a_control_plane_has_the_hash_of_its_ca_as_kubeadm_gives_it(control_plane):
    kubernetes = control_plane["kubernetes"]
    assert kubernetes["role"] == "control_plane"
    assert kubernetes["kubelet_version"] == "1.35.4"
    # openssl x509 -pubkey | openssl rsa -pubin -outform der | openssl dgst -sha256
    assert kubernetes["cluster_ca_hash"] == "sha256:1bbac8fa6fec3ca54e3fd78b23b0ab8204b8a33f0d4f3cdb2a155f2e2a1b11e3"
    assert kubernetes["leftovers"] == []


def test_kubernetes_files_without_a_role_are_leftovers_but_empty_directories_are_not(tmp_path):
    (tmp_path / "var/lib/kubelet/pki").mkdir(parents=True)
    (tmp_path / "var/lib/etcd/member").mkdir(parents=True)
    (tmp_path / "var/lib/kubelet/pki/kubelet.crt").write_text("old")
    assert probe_module.probe(str(tmp_path))["kubernetes"]["leftovers"] == ["/var/lib/kubelet"]


def test_the_mark_of_role_kubeadm_says_how_far_it_came(control_plane_tree):
    mark = control_plane_tree / "var/lib/edgectl/kubeadm.json"
    mark.parent.mkdir()
    mark.write_text('{"cluster": "edgectl", "phase": "joining"}\n')
    found = probe_module.probe(str(control_plane_tree))["kubernetes"]
    assert (found["made_by_edgectl"], found["phase"]) == (True, "joining")


def test_lock_and_reboot_marker_are_read(control_plane):
    assert control_plane["lock"]["owner"] == "ana@laptop"
    assert control_plane["reboot"] == {"required": True, "packages": ["linux-image-6.1.0-31-amd64"]}


@pytest.mark.parametrize(
    ("recording", "version", "sandbox", "bin_dirs"),
    [
        ("containerd-1.6.20-debian.toml", 2, "registry.k8s.io/pause:3.6", ["/usr/lib/cni"]),
        ("containerd-2.1-excerpt.toml", 3, "registry.k8s.io/pause:3.10", ["/usr/lib/cni", "/opt/cni/bin"]),
    ],
)
def test_containerds_own_dump_is_understood_in_both_layouts(control_plane_tree, recording, version, sandbox, bin_dirs):
    shutil.copy(DATA / recording, control_plane_tree / ".commands/containerd-config")
    found = probe_module.probe(str(control_plane_tree))["containerd"]
    assert found["config_version"] == version
    assert found["disabled_plugins"] == []
    assert found["sandbox_image"] == sandbox
    assert found["cni_bin_dirs"] == bin_dirs
    assert found["default_runtime"] == "runc"
    assert "runc" in found["runtimes"]
    assert found["systemd_cgroup"] is (version == 3)
    assert found["imports"]


@pytest.fixture
def workstation(control_plane_tree):
    """A Debian host with an NVIDIA card and its driver, and the card's other half: its sound."""
    release = (control_plane_tree / "proc/sys/kernel/osrelease").read_text().strip()
    card, sound = "sys/bus/pci/devices/0000:01:00.0", "sys/bus/pci/devices/0000:01:00.1"
    texts = {
        f"{card}/vendor": "0x10de",
        f"{card}/class": "0x030000",
        f"{card}/uevent": "DRIVER=nvidia\nPCI_CLASS=30000\nPCI_ID=10DE:2531\n",
        f"{sound}/vendor": "0x10de",
        f"{sound}/class": "0x040300",
        "proc/driver/nvidia/gpus/0000:01:00.0/information": "Model: \t\t NVIDIA RTX A2000\n",
        "proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.161.07  Sat Feb 17\n",
        f"lib/modules/{release}/modules.dep": "updates/dkms/nvidia-current.ko:\n",
        "usr/lib/x86_64-linux-gnu/nvidia/current/libcuda.so.535.261.03": "",
        "usr/lib/x86_64-linux-gnu/nvidia/current/libcuda.so.1": "",
        "usr/lib/x86_64-linux-gnu/libnvidia-ml.so.535.261.03": "",
        "sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c": "\6\0\0\0\1",
        "dev/nvidia0": "",
        "dev/nvidiactl": "",
        "var/lib/dkms/mok.pub": "key",
    }
    for path, text in texts.items():
        (control_plane_tree / path).parent.mkdir(parents=True, exist_ok=True)
        (control_plane_tree / path).write_text(text)
    return control_plane_tree


def test_a_discrete_gpus_driver_is_known_by_what_runs_and_by_what_lies_on_the_disk(workstation):
    document = probe_module.probe(str(workstation))
    (card,) = document["gpus"]
    assert (card["name"], card["kernel_driver"]) == ("NVIDIA RTX A2000", "nvidia")
    assert document["nvidia_driver"] == {
        "loaded": "535.161.07",
        "libraries": ["535.261.03"],
        "available": True,
        "device_nodes": ["/dev/nvidia0", "/dev/nvidiactl"],
        "secure_boot": True,
        "dkms_key": True,
    }


@pytest.mark.parametrize(
    ("line", "available"),
    [
        ("kernel/nvidia-580srv/nvidia.ko: kernel/drivers/video/x.ko", True),
        ("updates/dkms/nvidia.ko.zst:", True),
        ("kernel/drivers/gpu/drm/nouveau/nouveau.ko.xz:", False),
        ("updates/dkms/nvidia-uvm.ko: updates/dkms/other.ko", False),
    ],
)
def test_only_the_drivers_own_module_makes_it_loadable(workstation, line, available):
    (index,) = workstation.glob("lib/modules/*/modules.dep")
    index.write_text(line + "\n")
    assert probe_module.probe(str(workstation))["nvidia_driver"]["available"] is available


@pytest.mark.parametrize(("value", "secure"), [("\6\0\0\0\0", False), (None, None)])
def test_secure_boot_is_off_or_there_is_none(workstation, value, secure):
    (variable,) = workstation.glob("sys/firmware/efi/efivars/SecureBoot-*")
    variable.write_text(value) if value else variable.unlink()
    assert probe_module.probe(str(workstation))["nvidia_driver"]["secure_boot"] is secure


def test_a_host_without_a_card_has_no_driver_to_speak_of(control_plane_tree):
    assert probe_module.probe(str(control_plane_tree))["nvidia_driver"] is None


def test_on_a_lab_node_the_laid_over_file_wins(control_plane_tree):
    overlay = control_plane_tree / "etc/edgectl-lab.d/root/proc/device-tree"
    overlay.mkdir(parents=True)
    (overlay / "model").write_bytes(b"NVIDIA Jetson Orin Nano Developer Kit\0")
    (overlay / "compatible").write_bytes(b"nvidia,tegra234\0")
    assert probe_module.probe(str(control_plane_tree))["jetson"] is None
    (control_plane_tree / "etc/edgectl-lab").write_text("")
    document = probe_module.probe(str(control_plane_tree))
    assert document["simulated"] == "lab"
    assert document["jetson"]["model"] == "NVIDIA Jetson Orin Nano Developer Kit"


def test_an_empty_root_gives_nulls_and_no_exception(tmp_path):
    document = probe_module.probe(str(tmp_path))
    assert document["memory"] is None
    assert document["jetson"] is None
    assert document["identity"]["machine_id"] is None
    assert any(line.startswith("memory: KeyError") for line in document["errors"])


def test_a_broken_file_costs_only_its_own_section(control_plane_tree):
    (control_plane_tree / "run/edgectl.lock").write_text("{ not json")
    document = probe_module.probe(str(control_plane_tree))
    assert document["lock"] is None
    assert document["kubernetes"]["role"] == "control_plane"
    assert any(line.startswith("lock:") for line in document["errors"])


def test_an_ordinary_user_gets_a_document_too(control_plane_tree):
    if os.geteuid() != 0:
        pytest.skip("root only: it becomes another user")
    (control_plane_tree / "etc/ufw/user.rules").chmod(0o600)
    control_plane_tree.parent.chmod(0o755)
    # pytest keeps its directories, and a parallel worker's, to their owner.
    for directory in control_plane_tree.parents[:4]:
        if "pytest-" in str(directory):
            directory.chmod(0o755)
    answer = subprocess.run(
        ["/usr/bin/python3", "-", str(control_plane_tree)],
        input=piped_script(),
        text=True,
        capture_output=True,
        check=True,
        user="nobody",
        env={},
    )
    document = json.loads(answer.stdout)
    assert document["identity"]["root"] is False
    assert "/etc/ufw/user.rules: Permission denied" in document["errors"]
    assert document["kubernetes"]["role"] == "control_plane"


def test_the_live_machine_is_probed_through_standard_input():
    answer = subprocess.run([sys.executable, "-"], input=piped_script(), text=True, capture_output=True, check=True)
    document = json.loads(answer.stdout)
    assert document["memory"]["total_kib"] > 0
    assert document["kernel"]["release"] == os.uname().release


def test_a_command_that_hangs_is_left_behind_with_its_reason(monkeypatch):
    monkeypatch.setattr(probe_module, "COMMAND_TIMEOUT_S", 0.1)
    host = probe_module.Host()
    host.start("slow", "sleep", "30")
    assert host.output("slow") is None
    assert host.errors == ["slow: no answer within 0 s"]


FILES_FOR_HOSTS = sorted(
    file for folder in ("module_utils", "modules") for file in (SCRIPT.parents[1] / folder).rglob("*.py")
)


@pytest.mark.parametrize("file", FILES_FOR_HOSTS, ids=lambda file: file.stem)
def test_what_runs_on_hosts_is_written_in_the_python_of_jetpack_5(file):
    tree = ast.parse(file.read_text(encoding="utf-8"), str(file), feature_version=(3, 8))
    assert list(types_of_newer_pythons(tree)) == []


def types_of_newer_pythons(tree):
    """`list[str]` and `str | None` where Python 3.8 would evaluate them: everywhere but in annotations."""
    annotations = [
        annotation
        for node in ast.walk(tree)
        for annotation in (getattr(node, "annotation", None), getattr(node, "returns", None))
        if annotation is not None
    ]
    harmless = {id(part) for annotation in annotations for part in ast.walk(annotation)}
    builtins = ("list", "dict", "tuple", "set", "frozenset", "type")
    for node in ast.walk(tree):
        if id(node) in harmless:
            continue
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in builtins:
            yield f"line {node.lineno}: {ast.unparse(node)}"
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr) and "None" in ast.unparse(node):
            yield f"line {node.lineno}: {ast.unparse(node)}"


def test_the_look_for_newer_types_finds_them():
    tree = ast.parse("from __future__ import annotations\nx: list[str]\nY = list[str]\nZ = str | None\n")
    assert list(types_of_newer_pythons(tree)) == ["line 3: list[str]", "line 4: str | None"]


@pytest.mark.skipif(not shutil.which("python3.8"), reason="no Python 3.8 here")
def test_the_probe_runs_in_python_3_8():
    answer = subprocess.run(["python3.8", str(SCRIPT), str(DATA / "jetson_r36")], capture_output=True, text=True)
    if "pyenv" in answer.stderr:
        pytest.skip("python3.8 is a shim without a Python behind it")
    assert json.loads(answer.stdout)["jetson"]["l4t"] == "36.4.3"


def test_the_probe_imports_only_the_standard_library():
    tree = ast.parse(SCRIPT.read_text(encoding="utf-8"))
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert imported <= sys.stdlib_module_names


def test_a_node_that_edgectl_made_with_k3s_is_known_by_its_mark(tmp_path):
    mark = tmp_path / "var/lib/edgectl/k3s.json"
    mark.parent.mkdir(parents=True)
    mark.write_text('{"cluster": "homelab", "phase": "joined", "version": "1.35.4"}')
    certificate = (DATA / "debian12_control_plane/etc/kubernetes/pki/ca.crt").read_text()
    agent = tmp_path / "var/lib/rancher/k3s/agent/server-ca.crt"
    agent.parent.mkdir(parents=True)
    agent.write_text(certificate)
    found = probe_module.probe(str(tmp_path))["kubernetes"]
    assert (found["distribution"], found["role"], found["made_by_edgectl"]) == ("k3s", "worker", True)
    assert (found["phase"], found["kubelet_version"]) == ("joined", "1.35.4")
    assert found["cluster_ca_hash"] == probe_module.public_key_hash(certificate)
    server = tmp_path / "var/lib/rancher/k3s/server/tls/server-ca.crt"
    server.parent.mkdir(parents=True)
    server.write_text(certificate)
    assert probe_module.probe(str(tmp_path))["kubernetes"]["role"] == "control_plane"


def test_a_k3s_without_that_mark_is_seen_and_taken_for_nobodys_node(tmp_path):
    (tmp_path / "etc/rancher/k3s").mkdir(parents=True)
    found = probe_module.probe(str(tmp_path))["kubernetes"]
    assert (found["k3s_present"], found["role"], found["made_by_edgectl"]) == (True, None, False)


def hand_installed_k3s(root, role="server"):
    """The layout of get.k3s.io, with options in each of the places that it knows."""
    unit, directory = ("k3s", "server/tls") if role == "server" else ("k3s-agent", "agent")
    certificate = (DATA / "debian12_control_plane/etc/kubernetes/pki/ca.crt").read_text()
    files = {
        f"etc/systemd/system/{unit}.service": (
            "[Service]\nEnvironmentFile=-/etc/default/%N\n"
            f"EnvironmentFile=-/etc/systemd/system/{unit}.service.env\n"
            f"ExecStart=/usr/local/bin/k3s \\\n    {role} \\\n\t'--token' \\\n\t'from-the-unit' \\\n"
            "\t'--node-label' \\\n\t'shelf=left' \\\n\n"
        ),
        f"etc/systemd/system/{unit}.service.env": "K3S_NODE_NAME='Cellar'\nK3S_TOKEN='from-the-variables'\n",
        "etc/rancher/k3s/config.yaml": (
            "cluster-cidr: 10.9.0.0/16 # not the usual one\nkubelet-arg:\n- max-pods=40\ntoken: from-the-file\n"
            "disable-network-policy: yes\n"
        ),
        "etc/rancher/k3s/config.yaml.d/20-more.yaml": 'kubelet-arg+: ["v=2"]\ncluster-cidr: "10.8.0.0/16"\n',
        f"var/lib/rancher/k3s/{directory}/server-ca.crt": certificate,
        "var/lib/rancher/k3s/server/db/state.db": "",
        "usr/local/bin/k3s": "",
        "usr/local/bin/k3s-uninstall.sh": "",
        ".commands/k3s-version": "k3s version v1.33.1+k3s1 (99d91538)\ngo version go1.24.2\n",
        ".commands/k3s-nodes": '{"items": [{"metadata": {"name": "cellar"}}, {"metadata": {"name": "attic"}}]}',
    }
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(content)
    return probe_module.public_key_hash(certificate)


def test_a_k3s_that_was_installed_by_hand_is_described_without_its_secrets(tmp_path):
    ca_hash = hand_installed_k3s(tmp_path)
    (tmp_path / "var/lib/kubelet").mkdir()
    (tmp_path / "var/lib/kubelet/config").write_text("k3s' own, and no leftover")
    kubernetes = probe_module.probe(str(tmp_path))["kubernetes"]
    assert (kubernetes["role"], kubernetes["distribution"], kubernetes["made_by_edgectl"]) == (None, None, False)
    assert kubernetes["leftovers"] == []
    found = kubernetes["k3s"]
    assert (found["role"], found["version"], found["release"]) == ("control_plane", "1.33.1", "v1.33.1+k3s1")
    assert (found["cluster_ca_hash"], found["datastore"], found["node_name"]) == (ca_hash, "sqlite", "cellar")
    assert (found["nodes"], found["network_policy"], found["problems"]) == (["attic", "cellar"], False, [])
    assert found["scripts"] == ["/usr/local/bin/k3s-uninstall.sh"]
    options = found["options"]
    assert options["kubelet-arg"]["values"] == ["max-pods=40", "v=2"]
    assert options["cluster-cidr"] == {
        "values": ["10.8.0.0/16"],
        "from": ["/etc/rancher/k3s/config.yaml.d/20-more.yaml"],
    }
    assert options["node-label"] == {"values": ["shelf=left"], "from": ["/etc/systemd/system/k3s.service"]}
    assert options["token"]["values"] is None
    assert "from-the-" not in json.dumps(kubernetes)


def test_an_agent_is_told_from_a_server(tmp_path):
    hand_installed_k3s(tmp_path, "agent")
    found = probe_module.probe(str(tmp_path))["kubernetes"]["k3s"]
    assert (found["role"], found["unit"], found["datastore"]) == (
        "worker", "/etc/systemd/system/k3s-agent.service", None
    )  # fmt: skip


def test_of_a_k3s_that_was_taken_over_the_probe_tells_what_it_was(tmp_path):
    hand_installed_k3s(tmp_path)
    adopted = tmp_path / "var/lib/edgectl/adopted/k3s.json"
    adopted.parent.mkdir(parents=True)
    adopted.write_text('{"adopted": true, "unit": "/etc/systemd/system/k3s.service"}')
    # Without the mark it has only been begun with.
    assert probe_module.probe(str(tmp_path))["kubernetes"]["k3s"]["adopted"] is False
    (tmp_path / "var/lib/edgectl/k3s.json").write_text('{"phase": "joined", "version": "1.33.1"}')
    kubernetes = probe_module.probe(str(tmp_path))["kubernetes"]
    assert (kubernetes["made_by_edgectl"], kubernetes["k3s"]["adopted"]) == (True, True)


def test_templates_of_containerds_configuration_are_found(tmp_path):
    directory = tmp_path / "var/lib/rancher/k3s/agent/etc/containerd"
    directory.mkdir(parents=True)
    (directory / "config.toml.tmpl").write_text("[plugins.opt]\n")
    (directory / "config-v3.toml.tmpl").write_text('{{ template "base" . }}\n[plugins.mine]\n')
    found = probe_module.probe(str(tmp_path))["kubernetes"]["k3s_templates"]
    assert [(Path(one["path"]).name, one["base"]) for one in found] == [
        ("config-v3.toml.tmpl", True), ("config.toml.tmpl", False)
    ]  # fmt: skip
