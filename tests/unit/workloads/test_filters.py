"""What the role learns of hosts and of the artifacts directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgectl import content

filters = content.filter_plugin("edgectl_workloads")
MANIFEST = {
    "files": [
        {"kind": "binary", "name": "kubectl", "arch": "amd64"},
        {
            "kind": "images",
            "name": "ollama",
            "arch": "amd64",
            "images": ["docker.io/ollama/ollama:0.23.0"],
            "path": "a",
        },
        {"kind": "model", "name": "lab-tiny", "arch": "amd64", "path": "b"},
    ]
}


def test_an_archive_is_found_by_its_image_and_architecture_and_a_model_by_its_name() -> None:
    assert filters.archive(MANIFEST, "docker.io/ollama/ollama:0.23.0", "amd64")["path"] == "a"
    assert filters.archive(MANIFEST, "docker.io/ollama/ollama:0.23.0", "arm64") == {}
    assert filters.archive({}, "docker.io/ollama/ollama:0.23.0", "amd64") == {}
    assert filters.model(MANIFEST, "lab-tiny")["path"] == "b"
    assert filters.model(MANIFEST, "ollama") == {}


def test_a_host_is_known_by_what_decides_about_images() -> None:
    orin = {"jetson": {"l4t": "36.4.3"}, "gpus": [{"kind": "integrated"}], "simulated": "lab"}
    box = {"jetson": None, "gpus": [{"kind": "pci", "driver_version": "550.54.15"}]}
    hostvars = {"orin1": {"ansible_facts": {"edgectl": orin}}, "box": {"ansible_facts": {"edgectl": box}}, "off": {}}
    assert filters.hosts(hostvars, ["orin1", "box", "off"]) == {
        "orin1": {"platform": "jetson", "l4t": "36.4.3", "board": "", "driver": None, "simulated": "lab"},
        "box": {"platform": "dgpu", "l4t": None, "board": "", "driver": "550.54.15", "simulated": None},
    }


def test_of_a_modules_answer_only_what_a_reader_wants_is_told() -> None:
    answer = {"node": "orin1", "objects": [1], "failed": False, "msg": "x", "invocation": {}, "_ansible_no_log": False}
    assert filters.told(answer) == {"node": "orin1"}


@pytest.mark.parametrize(
    ("model", "gib", "board"),
    [
        ("NVIDIA Jetson Orin Nano Developer Kit", 7.4, "Orin Nano 8 GB"),
        ("NVIDIA Jetson Orin NX Engineering Reference Developer Kit", 15.3, "Orin NX 16 GB"),
        ("NVIDIA Jetson AGX Orin Developer Kit", 61.4, "AGX Orin 64 GB"),
        ("NVIDIA Jetson AGX Orin Developer Kit", 29.9, "AGX Orin 32 GB"),
        ("NVIDIA Jetson AGX Thor Developer Kit", 122.8, "AGX Thor 128 GB"),
        ("NVIDIA Jetson Xavier NX Developer Kit", 7.4, ""),
        ("NVIDIA Jetson AGX Orin Developer Kit", 4.0, ""),
        (None, 15.0, ""),
    ],
)
def test_a_board_is_called_as_in_nvidias_benchmarks(model: str | None, gib: float, board: str) -> None:
    document = {"jetson": {"model": model}, "memory": {"total_kib": int(gib * (1 << 20))}}
    assert filters.host(document)["board"] == board


def test_data_of_a_check_is_filled_with_what_was_chosen() -> None:
    data = {"model": "{model}", "prompt": "a {b}", "n": [1, "{model}"], "other": "{other}"}
    filled = {"model": "tiny", "prompt": "a {b}", "n": [1, "tiny"], "other": "{other}"}
    assert filters.filled(data, {"model": "tiny"}) == filled
    assert filters.images(MANIFEST) == {"docker.io/ollama/ollama:0.23.0": ["amd64"]}


def test_room_on_a_disk_is_that_of_the_nearest_directory_that_was_measured() -> None:
    disks = [{"path": "/", "free_bytes": 1}, {"path": "/var/lib", "free_bytes": 2}, {"path": "/boot", "free_bytes": 3}]
    host = {"ansible_facts": {"edgectl": {"disks": disks}}}
    assert filters.free_bytes(host, "/var/lib/edgectl/workloads") == 2
    assert filters.free_bytes(host, "/srv/models") == 1
    assert filters.free_bytes({}, "/srv/models") == -1


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "there is no such file"),
        (b"", "it is empty"),
        (b"<!doctype html>", "it is no GGUF file: it begins with '<!doctype html>'"),
        (b"GGUF\3\0", "it ends within its header: was all of it fetched?"),
        (b"GGUF" + bytes(20), ""),
    ],
)
def test_what_is_no_model_is_told_why(tmp_path: Path, content: bytes | None, why: str) -> None:
    file = tmp_path / "a.gguf"
    if content is not None:
        file.write_bytes(content)
    assert filters.no_model(str(file)) == why
    assert filters.no_model(str(tmp_path)) == "it is no file"
