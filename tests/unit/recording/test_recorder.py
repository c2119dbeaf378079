"""What is recorded of a host says the same about it as the host itself, and nothing about whose it is."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.recording.conftest import TREES

# isort: split
import edgectl_probe
import edgectl_recorder

from edgectl.recording import capture

# What is taken out of a document, and nothing else.
TAKEN_OUT = {
    "duration_s", "identity.hostname", "identity.machine_id", "identity.boot_id", "identity.booted_at",
    "identity.product_uuid", "identity.serial", "kernel.cmdline", "ssh_host_keys", "lock", "apt.lock_holder",
    "kubernetes.cluster_ca_hash", "clock.now", "receipts",
    "stamp",
}  # fmt: skip


def differences(one: object, other: object, place: str = "") -> set[str]:
    if isinstance(one, dict) and isinstance(other, dict):
        keys = one.keys() | other.keys()
        found = [differences(one.get(key), other.get(key), f"{place}.{key}".lstrip(".")) for key in keys]
        return set().union(*found)
    if isinstance(one, float) and isinstance(other, float):
        return set() if one == pytest.approx(other, abs=5) else {place}
    return set() if one == other else {place}


def without_identity(document: dict) -> dict:
    """Addresses and keys as the recorder would number them are another test's business, and disks fill up meanwhile."""
    for disk in document["disks"]:
        disk["free_bytes"] = None
    for interface in document["network"]["interfaces"]:
        interface["mac"] = None
        interface["addresses"] = [address for address in interface["addresses"] if ":" not in address]
    for interface in document["wireguard"]["interfaces"].values():
        interface["public_key"] = None
        for peer in interface["peers"]:
            peer["public_key"] = None
            peer["handshake_age_s"] = peer["handshake_age_s"] is not None
    return document


def test_a_recorded_jetson_says_the_same_as_the_jetson():
    recorded = capture.recording(edgectl_recorder.record(str(TREES / "jetson_r36"))).document
    original = edgectl_probe.probe(str(TREES / "jetson_r36"))
    assert differences(without_identity(recorded), without_identity(original)) <= TAKEN_OUT
    assert recorded["jetson"]["l4t"] == "36.4.3"
    assert recorded["gpus"]


def test_a_recorded_control_plane_says_the_same_as_the_control_plane(control_plane):
    recorded = capture.recording(edgectl_recorder.record(str(control_plane))).document
    original = edgectl_probe.probe(str(control_plane))
    assert differences(without_identity(recorded), without_identity(original)) <= TAKEN_OUT
    assert recorded["network"]["listening"][0]["process"] == "kube-apiserver"
    assert recorded["kubernetes"]["role"] == "control_plane"


@pytest.mark.parametrize("dump", ["containerd-1.6.20-debian.toml", "containerd-2.1-excerpt.toml"])
def test_containerds_configuration_is_cut_down_to_what_the_probe_reads(control_plane, dump):
    (control_plane / ".commands/containerd-config").write_text((TREES / dump).read_text())
    recording = capture.recording(edgectl_recorder.record(str(control_plane)))
    assert recording.document["containerd"] == edgectl_probe.probe(str(control_plane))["containerd"]
    assert len(recording.commands["containerd-config"]) < len((TREES / dump).read_text())


def test_this_machine_recorded_says_the_same_as_this_machine():
    answer = subprocess.run([sys.executable, "-"], input=capture.script(), capture_output=True, text=True, check=True)
    recording = capture.recording(json.loads(answer.stdout))
    assert recording.replay() == recording.document
    original = json.loads(json.dumps(edgectl_probe.probe()))
    for document in (recording.document, original):
        document["memory"]["available_kib"] = None
        for disk in document["disks"]:
            disk["device"] = None
        # Ports come and go, public addresses are replaced, and addresses in a range of their own stand for them.
        document["network"] = {"interfaces": document["network"]["interfaces"]}
        for interface in document["network"]["interfaces"]:
            interface["addresses"] = []
    changing = {"gpus", "swap"}
    assert differences(without_identity(recording.document), without_identity(original)) <= TAKEN_OUT | changing


def test_nothing_that_identifies_a_host_is_in_its_recording(talkative, monkeypatch):
    monkeypatch.setenv("SUDO_USER", "anna")
    recording = capture.recording(edgectl_recorder.record(str(talkative)))
    text = recording.to_yaml()
    private = (
        "attic", "anna", "5b0d3c0c", "0f0e0d0c", "AAAAC3Nza", "A1B2C3D4", "6c2ffabc", "1421", "11.203", "0872CB0B",
        "0501A8C0", "616e6e61", "hunter2", "registry", "3c:6d:66", "3c6d66", "3e6d", "2a02", "qK0pDV", "PubPub",
        "PeePee", "PrePre", "router", "C0A80101", "203.0.114", "dongle", "dachboden",
    )  # fmt: skip
    assert [word for word in private if word.lower() in text.lower()] == []


def test_connections_and_private_keys_are_not_even_there_as_placeholders(talkative):
    recording = capture.recording(edgectl_recorder.record(str(talkative)))
    assert len(recording.files["/proc/net/tcp"].splitlines()) == 2
    assert recording.commands["wireguard"].count("(hidden)") == 2
    assert recording.commands["wireguard"].count("key-") == 2


def test_a_recorded_lab_node_still_says_that_it_is_simulated(talkative):
    (talkative / "etc/edgectl-lab").write_text('{"lab": "annas", "node": "nuc9", "simulated": ["kernel"]}')
    recording = capture.recording(edgectl_recorder.record(str(talkative)))
    assert recording.document["simulated"] == "lab"
    assert recording.document["lab"] == {"simulated": ["kernel"]}


def test_what_matters_for_a_diagnosis_survives(talkative):
    document = capture.recording(edgectl_recorder.record(str(talkative))).document
    assert document["os"]["version_id"] == "24.04"
    assert "cgroup_enable=memory" in document["kernel"]["cmdline"]
    interface = document["network"]["interfaces"][0]
    assert interface["addresses"][0] == "192.168.1.5/24"
    assert document["network"]["default_interface"] == interface["name"]
    peer = document["wireguard"]["interfaces"]["wg0"]["peers"][0]
    assert peer["allowed_ips"] == ["10.200.0.2/32"]
    assert document["network"]["routes"][0]["via"].rpartition(".")[0] == peer["endpoint"].rpartition(".")[0]
    assert document["network"]["listening"] == [{"protocol": "tcp", "port": 22, "local": False, "process": None}]
    assert document["clock"]["service"] == "chrony"
    assert [swap["zram"] for swap in document["swap"]] == [False, False, True]


# As the open driver says it; the closed one has "NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue ...".
DRIVER = (
    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build  (anna@annas-pc)\n"
    "GCC version:  gcc version 12.3.0 (Ubuntu 12.3.0-1ubuntu1~22.04)\n"
)


def test_a_graphics_card_keeps_its_name_and_loses_its_uuid(talkative):
    device, information = "sys/bus/pci/devices/0000:01:00.0", "proc/driver/nvidia/gpus/0000:01:00.0/information"
    other = "sys/bus/pci/devices/0000:00:02.0/vendor"
    texts = {
        f"{device}/vendor": "0x10de",
        f"{device}/class": "0x030000",
        f"{device}/uevent": "DRIVER=nvidia\n",
        edgectl_probe.SECURE_BOOT.lstrip("/"): "\6\0\0\0\1",
        other: "0x8086",
        information: "Model: \t\t NVIDIA RTX A2000\nGPU UUID: \t GPU-5f3c-anna\nVideo BIOS: 1\n",
        "proc/driver/nvidia/version": DRIVER,
    }
    for path, text in texts.items():
        (talkative / path).parent.mkdir(parents=True, exist_ok=True)
        (talkative / path).write_text(text)
    libraries = talkative / "usr/lib64"
    libraries.mkdir(parents=True)
    (libraries / "libcuda.so.580.95.05").write_text("")
    recording = capture.recording(edgectl_recorder.record(str(talkative)))
    assert recording.document["nvidia_driver"] == edgectl_probe.probe(str(talkative))["nvidia_driver"]
    assert recording.document["nvidia_driver"]["libraries"] == ["580.95.05"]
    gpu = recording.document["gpus"][0]
    assert (gpu["name"], gpu["uuid"], gpu["driver"]) == ("NVIDIA RTX A2000", "GPU-1", True)
    assert gpu["driver_version"] == "580.95.05"
    assert "anna" not in str(recording)
    assert not any(path.endswith(other) for path in recording.files)


def test_without_root_rights_it_is_said_what_could_not_be_read(control_plane, monkeypatch):
    def refused(host, path):
        host.errors.append(f"{path}: Permission denied")

    monkeypatch.setattr(edgectl_probe.Host, "read_bytes", refused)
    assert "/etc/machine-id" in edgectl_recorder.record(str(control_plane))["not_readable"]


def test_it_is_said_what_was_taken_out(talkative):
    said = edgectl_recorder.record(str(talkative))["taken_out"]
    wanted = {"host name", "machine-id", "boot-id", "SSH host keys", "serial number", "public network"}
    assert wanted <= set(said)
    assert "WireGuard's private keys" in said


def test_what_the_recorder_does_not_know_is_not_recorded_and_is_named(control_plane, monkeypatch):
    """A section that the probe gets later reads a file that nobody has thought about yet."""
    (control_plane / "var/lib/edgectl").mkdir(parents=True)
    (control_plane / "var/lib/edgectl/receipt.json").write_text('{"secret": "anna"}')
    later = dict(edgectl_probe.SECTIONS, later=lambda host: host.read("/var/lib/edgectl/receipt.json"))
    monkeypatch.setattr(edgectl_probe, "SECTIONS", later)
    made = edgectl_recorder.record(str(control_plane))
    assert "anna" not in json.dumps(made)
    assert "/var/lib/edgectl/receipt.json" in made["taken_out"]


def test_receipts_stay_on_the_host_and_that_is_said(control_plane, monkeypatch):
    left = {"machine": {"inventory": "annas", "holds": True}}
    monkeypatch.setattr(edgectl_probe, "SECTIONS", dict(edgectl_probe.SECTIONS, receipts=lambda host: left))
    made = edgectl_recorder.record(str(control_plane))
    assert "annas" not in json.dumps(made)
    assert "receipts of edgectl's roles" in made["taken_out"]


def test_what_cannot_be_understood_is_left_out_and_the_rest_is_recorded(control_plane):
    (control_plane / "proc/config.gz").write_bytes(b"no gzip")
    (control_plane / ".commands/ip-address").write_text("Object of anna is unknown")
    made = edgectl_recorder.record(str(control_plane))
    assert "anna" not in json.dumps(made)
    assert "/proc/config.gz, which could not be understood" in made["taken_out"]
    assert "ip-address, which could not be understood" in made["taken_out"]
    assert capture.recording(made).document["kubernetes"]["role"] == "control_plane"


def test_a_kernel_that_somebody_named_after_himself_keeps_its_options(talkative, monkeypatch):
    monkeypatch.setenv("SUDO_USER", "anna")
    (talkative / "proc/sys/kernel/osrelease").write_text("6.1.0-anna")
    (talkative / "boot").mkdir()
    (talkative / "boot/config-6.1.0-anna").write_text("CONFIG_TUN=y\n")
    recording = capture.recording(edgectl_recorder.record(str(talkative)))
    assert recording.document["kernel"]["release"] == "6.1.0-user"
    assert recording.document["kernel"]["config"] == {"CONFIG_TUN": "y"}


def test_a_host_named_like_its_system_keeps_the_words_of_the_system(control_plane):
    (control_plane / "proc/sys/kernel/hostname").write_text("debian")
    document = capture.recording(edgectl_recorder.record(str(control_plane))).document
    assert document["identity"]["hostname"] == "host"
    assert document["os"]["id"] == "debian"


def test_what_was_left_behind_by_a_cluster_is_still_there_in_the_recording(tmp_path, control_plane):
    (control_plane / "etc/kubernetes/manifests/kube-apiserver.yaml").unlink()
    recorded = capture.recording(edgectl_recorder.record(str(control_plane))).document
    assert (
        recorded["kubernetes"]["leftovers"] == edgectl_probe.probe(str(control_plane))["kubernetes"]["leftovers"] != []
    )


def test_an_empty_root_is_refused_with_the_probes_own_reasons(tmp_path):
    from edgectl.errors import EdgectlError

    with pytest.raises(EdgectlError, match="could not be recorded") as raised:
        capture.recording(edgectl_recorder.record(str(tmp_path)))
    assert raised.value.why


def test_the_recorder_changes_nothing_below_the_root(control_plane):
    def look(root: Path):
        return {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in root.rglob("*") if path.exists()}

    before = look(control_plane)
    edgectl_recorder.record(str(control_plane))
    assert look(control_plane) == before
