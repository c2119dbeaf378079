"""What `--name` and `--nodes` accept."""

import pytest

from edgectl.errors import UsageError
from edgectl.lab.spec import DEFAULT_NODES, NodeSpec, parse_name, parse_nodes


def test_the_default_lab_is_a_control_plane_a_worker_and_a_jetson():
    assert parse_nodes(DEFAULT_NODES) == [
        NodeSpec("nuc1", "control_plane", "cpu"),
        NodeSpec("nuc2", "worker", "cpu"),
        NodeSpec("orin1", "worker", "jetson"),
    ]


def test_a_node_can_be_a_control_plane_and_a_jetson():
    assert parse_nodes("orin1:control_plane:jetson") == [NodeSpec("orin1", "control_plane", "jetson")]


def test_blanks_and_a_trailing_comma_do_not_matter():
    assert [node.name for node in parse_nodes(" a:control_plane, b ,")] == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b", "no control plane"),
        ("", "no control plane"),
        ("a:control_plane,a", "twice"),
        ("a:control_plane,b:gpu", "'gpu'"),
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
