"""Nodes: their containers, seeds and records."""

import gzip
import json

import pytest

from edgectl.errors import EdgectlError, UsageError
from edgectl.lab import lifecycle, login, machine, nodes, record, seed, status
from edgectl.lab.record import Lab, Node
from edgectl.lab.spec import NodeSpec
from edgectl.recording import model


@pytest.fixture
def lab(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    made = Lab(
        "lab",
        "10.213.1.0/24",
        str(tmp_path / "inventory"),
        image="localhost/edgectl-lab-node:0",
        nodes=[Node("nuc1", "control_plane", "cpu", "10.213.1.11"), Node("orin1", "worker", "jetson", "10.213.1.12")],
    )
    made.save()
    made.private_key.with_suffix(".pub").write_text("ssh-ed25519 AAAA\n")
    return made


def test_a_record_survives_being_written_and_read(lab):
    assert record.load("lab") == lab
    assert record.load_all() == [lab]


def test_there_is_no_record_of_a_lab_that_was_not_made(lab):
    assert record.load("other") is None
    with pytest.raises(UsageError, match="no lab 'other'"):
        record.require("other")


def test_nodes_of_two_labs_never_share_a_name(lab):
    other = Lab("lab2", "10.213.2.0/24", "")
    assert lab.container("nuc1") != other.container("nuc1")
    assert not set(lab.volumes("nuc1")) & set(other.volumes("nuc1"))
    assert lab.network != other.network


def test_a_node_has_its_fixed_address_and_its_own_hosts_file(lab):
    words = nodes.create_arguments(lab, lab.node("nuc1"))
    assert "--ip=10.213.1.11" in words
    assert "--no-hosts" in words
    assert "--cgroupns=private" in words


def test_a_jetsons_seed_is_marked_as_simulated(lab):
    directory = seed.write_seed(lab, lab.node("orin1"))
    mark = json.loads((directory / "files/etc/edgectl-lab").read_text())
    assert mark["platform"] == "jetson"
    assert "kernel" in mark["simulated"]
    controls = list(directory.glob("packages/*/DEBIAN/control"))
    assert {path.parent.parent.name for path in controls} >= {"nvidia-l4t-core", "nvidia-l4t-kernel"}
    assert all("simulated" in path.read_text() for path in controls)


def test_a_jetsons_files_are_those_of_a_stock_board(lab):
    files = seed.write_seed(lab, lab.node("orin1")) / "files"
    assert (files / "etc/nv_tegra_release").read_text().startswith("# R36 (release), REVISION: 4.3")
    overlay = files / seed.OVERLAY / "proc"
    assert (overlay / "device-tree/compatible").read_bytes().endswith(b"nvidia,tegra234\0")
    assert (overlay / "device-tree/model").read_bytes().endswith(b"\0")
    options = gzip.decompress((overlay / "config.gz").read_bytes()).decode()
    assert "CONFIG_TUN=y" in options
    assert "CONFIG_WIREGUARD=" not in options
    assert "CONFIG_IP_SET=" not in options


@pytest.fixture
def recorded(lab, tmp_path):
    """A node that pretends to be a board with its kernel options in /boot, and a cluster's leftovers."""
    file = tmp_path / "board.yml"
    files = {
        "/boot/config-6.1.0-odd": "CONFIG_TUN=y\n",
        "/proc/device-tree/model": "Odd Board\0",
        "/proc/net/tcp": "sl",
        "/proc/swaps": "Filename Type Size Used Priority\n/dev/zram0 partition 4096 0 5\n",
        "/proc/modules": "wireguard 0 0 - Live 0x0\n",
        "/etc/containerd/config.toml": "version = 2\n",
    }
    commands = {"dpkg": "installed containerd 1.7.0\ninstalled nvidia-l4t-core 36.4.3-1\n"}
    present = ["/dev/nvhost-gpu", "/etc/kubernetes/kubelet.conf"]
    recording = model.Recording("captured", "t", "2026-11-21", "0", files=files, present=present, commands=commands)
    model.save(recording, file)
    return seed.write_seed(lab, Node("odd1", "worker", "cpu", "10.213.1.13", str(file)))


def test_a_recorded_nodes_board_and_kernel_options_are_laid_over_its_own(recorded):
    overlay = recorded / "files" / seed.OVERLAY
    assert (overlay / "proc/device-tree/model").read_text() == "Odd Board\0"
    # Where the probe looks first: the machine under the lab may have a file there.
    assert gzip.decompress((overlay / "proc/config.gz").read_bytes()) == b"CONFIG_TUN=y\n"
    assert json.loads((recorded / "files/etc/edgectl-lab").read_text())["simulated"] == [
        "device-tree",
        "kernel",
        "nvidia-l4t-packages",
    ]


def test_what_roles_act_on_stays_the_nodes_own(recorded):
    laid = {str(path.relative_to(recorded / "files")) for path in recorded.glob("files/**/*") if path.is_file()}
    overlay = seed.OVERLAY
    assert laid == {"etc/edgectl-lab", f"{overlay}/proc/config.gz", f"{overlay}/proc/device-tree/model"}
    assert [path.name for path in (recorded / "packages").iterdir()] == ["nvidia-l4t-core"]


def test_a_record_from_before_recordings_is_still_read(lab):
    file = lab.directory / "lab.json"
    document = json.loads(file.read_text())
    for node in document["nodes"]:
        del node["recording"]
    file.write_text(json.dumps(document))
    assert record.load("lab") == lab


def test_an_ordinary_nodes_seed_has_nothing_of_a_jetson(lab):
    directory = seed.write_seed(lab, lab.node("nuc1"))
    assert json.loads((directory / "files/etc/edgectl-lab").read_text())["simulated"] == []
    assert not (directory / "packages").exists()
    assert not (directory / "files/etc/nv_tegra_release").exists()


def test_nodes_may_be_added_at_the_end(lab):
    lifecycle._refuse_changes(lab, [*(node.spec for node in lab.nodes), NodeSpec("new")])


@pytest.mark.parametrize(
    "wanted",
    [
        [NodeSpec("nuc1", "control_plane")],
        [NodeSpec("nuc1", "worker"), NodeSpec("orin1", "worker", "jetson")],
        [NodeSpec("new"), NodeSpec("nuc1", "control_plane"), NodeSpec("orin1", "worker", "jetson")],
        [NodeSpec("nuc1", "control_plane"), NodeSpec("orin1", "worker", "jetson", "orin-nano-jp5.1")],
    ],
)
def test_a_standing_lab_is_not_changed_under_its_user(lab, wanted):
    with pytest.raises(UsageError, match="other nodes"):
        lifecycle._refuse_changes(lab, wanted)


def test_too_few_inotify_instances_are_told_before_nodes_fail_to_boot(monkeypatch):
    monkeypatch.setattr(machine, "inotify_instances_left", lambda: 50)
    lifecycle._check_inotify(2)
    with pytest.raises(EdgectlError, match="inotify"):
        lifecycle._check_inotify(3)


def test_ssh_trusts_only_the_keys_that_the_lab_read(lab):
    words = login.command(lab, "nuc1", ["--", "uptime"])
    assert "-oStrictHostKeyChecking=yes" in words
    assert words[-3:] == ["edge@10.213.1.11", "--", "uptime"]


def test_ssh_to_an_unknown_node_names_the_known_ones(lab):
    with pytest.raises(UsageError) as raised:
        login.command(lab, "nuc9")
    assert "nuc1, orin1" in raised.value.why


def test_status_tells_each_nodes_state(lab, monkeypatch):
    monkeypatch.setattr(nodes, "states", lambda _: {"nuc1": "running"})
    document = status.document("lab")
    assert [node["state"] for node in document["labs"][0]["nodes"]] == ["running", "missing"]
    assert "10.213.1.12" in status.table(document)


def test_status_without_a_lab_says_how_to_start_one(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert "edgectl lab up" in status.table(status.document())
