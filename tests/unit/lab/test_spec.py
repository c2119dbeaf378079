"""What `--name` and `--nodes` accept."""

import pytest

from edgectl.errors import UsageError
from edgectl.lab.spec import DEFAULT_NODES, NodeSpec, parse_name, parse_nodes
from edgectl.recording import model


def test_the_default_lab_is_a_control_plane_a_worker_and_a_jetson():
    assert parse_nodes(DEFAULT_NODES) == [
        NodeSpec("nuc1", "control_plane", "cpu"),
        NodeSpec("nuc2", "worker", "cpu"),
        NodeSpec("orin1", "worker", "jetson"),
    ]


def test_a_node_can_be_a_control_plane_and_a_jetson():
    assert parse_nodes("orin1:control_plane:jetson") == [NodeSpec("orin1", "control_plane", "jetson")]


def test_a_node_can_have_a_discrete_gpu():
    assert parse_nodes("a:control_plane,gpu1:dgpu")[1] == NodeSpec("gpu1", "worker", "dgpu")
    [node] = parse_nodes("a:control_plane:recording=pc-gpu-debian12")
    assert node.platform == "dgpu"
    with pytest.raises(UsageError, match="cannot have a discrete GPU"):
        parse_nodes("a:control_plane:dgpu:recording=orin-nx-jp6.2")


def test_a_node_can_be_a_recorded_host():
    nodes = parse_nodes("nuc1:control_plane,orin2:recording=orin-nx-jp6.2")
    assert nodes[1] == NodeSpec("orin2", "worker", "jetson", "orin-nx-jp6.2")


def test_a_recording_can_be_a_file_of_the_users_own(tmp_path, monkeypatch):
    file = tmp_path / "odd.yml"
    model.save(model.Recording("captured", "an odd board", "2026-11-21", "0", files={"/a": "b"}), file)
    monkeypatch.chdir(tmp_path)
    assert parse_nodes("a:control_plane:recording=odd.yml") == [NodeSpec("a", "control_plane", "cpu", str(file))]


def test_what_is_recorded_as_no_jetson_cannot_be_one(tmp_path):
    file = tmp_path / "odd.yml"
    model.save(model.Recording("captured", "an odd board", "2026-11-21", "0", files={"/a": "b"}), file)
    with pytest.raises(UsageError, match="cannot be a Jetson"):
        parse_nodes(f"a:control_plane:jetson:recording={file}")


def test_blanks_and_a_trailing_comma_do_not_matter():
    assert [node.name for node in parse_nodes(" a:control_plane, b ,")] == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b", "no control plane"),
        ("", "no control plane"),
        ("a:control_plane,a", "twice"),
        ("a:control_plane,b:gpu", "'gpu'"),
        ("a:control_plane,b:recording=nano", "no recording 'nano'"),
        ("a:control_plane,b:recording=./nano.yml", "no recording /"),
        ("A:control_plane", "'A'"),
        ("a:control_plane,-b", "'-b'"),
        (",".join(f"n{number}:control_plane" for number in range(51)), "51"),
    ],
)
def test_a_list_of_nodes_that_makes_no_lab_is_refused(text, said):
    with pytest.raises(UsageError, match=said):
        parse_nodes(text)


@pytest.mark.parametrize("name", ["", "Lab", "a_b", "../x", "-a", "a-", "a" * 21])
def test_a_name_that_could_not_name_a_container_is_refused(name):
    with pytest.raises(UsageError):
        parse_name(name)


def test_a_plain_name_is_accepted():
    assert parse_name("lab-2") == "lab-2"
