"""Which tag of an image a Jetson gets."""

from __future__ import annotations

import pytest

from tests.unit.kubeadm.conftest import plugin

tags = plugin("module_utils/edgectl_image_tags.py")

PYTORCH = ["2.7-r36.4.0", "2.7-r36.4.0-cu128-24.04", "2.6-r36.4.0-cu126-22.04", "2.1-r36.2.0", "2.0-r35.4.1", "latest"]
ROS = [
    "humble-desktop-l4t-r36.4.0",
    "humble-desktop-l4t-r36.2.0",
    "jazzy-ros-base-r36.4.0-cu128-24.04",
    "humble-desktop-l4t-r35.4.1",
    "foxy-desktop-l4t-r34.1.1",
    "noetic-ros-base-l4t-r32.7.1",
    "noetic-ros-base-l4t-r32.4.4",
]


@pytest.mark.parametrize(
    ("tag", "release", "cuda"),
    [
        ("r36.4.0", (36, 4, 0), 0),
        ("0.8.6-r36.4-cu128-24.04", (36, 4), 12),
        ("humble-desktop-l4t-r35.4.1", (35, 4, 1), 0),
        ("r36.4.tegra-aarch64-cu126-22.04", (36, 4), 12),
        ("r38.2.arm64-sbsa-cu130-24.04", (38, 2), 13),
        ("25.01-py3", (), 0),
        ("v2-r2", (), 0),
    ],
)
def test_a_tag_names_its_release_and_its_cuda(tag: str, release: tuple[int, ...], cuda: int) -> None:
    assert (tags.release_of(tag), tags.cuda_of(tag)) == (release, cuda)


@pytest.mark.parametrize(
    ("l4t", "tag", "runs"),
    [
        ("36.4.3", "r36.4.0", True),
        ("36.5.0", "r36.4.3", True),
        ("36.4.3", "r36.2.0", False),
        ("36.3.0", "r36.2.0", True),
        ("36.3.0", "r36.4.0", False),
        ("36.4.3", "r36", False),
        ("35.6.1", "r35.1.0", True),
        ("35.6.1", "r34.1.1", False),
        ("32.7.4", "r32.7.1", True),
        ("32.7.4", "r32.6.1", False),
        ("32.6.1", "r32.6.1", True),
        # Where jetson-containers takes anything.
        ("38.2.0", "r36.4.0", False),
        ("38.2.0", "r38.2.0-cu130", True),
        ("39.2.0", "r38.2.0", False),
        ("39.2.0", "r39.2.0-cu128", False),
        ("39.2.0", "r39.2.0-cu132", True),
        ("36.4.3", "r36.4.0-cu130", False),
        ("36.4.3", "latest", False),
    ],
)
def test_an_image_runs_where_its_release_and_its_cuda_are_the_hosts(l4t: str, tag: str, runs: bool) -> None:
    assert tags.runs(tag, l4t) is runs


@pytest.mark.parametrize(
    ("known", "l4t", "prefix", "chosen"),
    [
        (PYTORCH, "36.4.3", "", "2.7-r36.4.0"),
        (PYTORCH, "36.3.0", "", "2.1-r36.2.0"),
        (PYTORCH, "35.6.1", "", "2.0-r35.4.1"),
        (PYTORCH, "39.2.0", "", ""),
        (PYTORCH, "36.4.3", "2.6", "2.6-r36.4.0-cu126-22.04"),
        (ROS, "36.4.7", "", "jazzy-ros-base-r36.4.0-cu128-24.04"),
        (ROS, "36.4.7", "humble", "humble-desktop-l4t-r36.4.0"),
        (ROS, "36.4.7", "hum", ""),
        (ROS, "35.3.1", "humble-desktop", "humble-desktop-l4t-r35.4.1"),
        (["r36.4.0", "r36.4.3", "r36.5.0"], "36.4.7", "", "r36.4.3"),
        (["r36.5.0"], "36.4.7", "", "r36.5.0"),
        (["0.9.0-r36.4.0", "0.10.0-r36.4.0"], "36.4.0", "", "0.10.0-r36.4.0"),
        ([], "36.4.0", "", ""),
    ],
)
def test_the_nearest_release_and_the_highest_version_are_taken(
    known: list[str], l4t: str, prefix: str, chosen: str
) -> None:
    assert tags.choose_tag(known, l4t, prefix=prefix) == chosen
