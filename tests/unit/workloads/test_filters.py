"""What the role learns of hosts and of the artifacts directory."""

from __future__ import annotations

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
        "orin1": {"platform": "jetson", "l4t": "36.4.3", "driver": None, "simulated": "lab"},
        "box": {"platform": "dgpu", "l4t": None, "driver": "550.54.15", "simulated": None},
    }


def test_of_a_modules_answer_only_what_a_reader_wants_is_told() -> None:
    answer = {"node": "orin1", "objects": [1], "failed": False, "msg": "x", "invocation": {}, "_ansible_no_log": False}
    assert filters.told(answer) == {"node": "orin1"}
