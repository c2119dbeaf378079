"""An entry made of an image's name: how names are read, which tags come into question, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from edgectl.errors import EdgectlError, Problems, UsageError
from edgectl.workloads import adhoc, registry
from edgectl.workloads.adhoc import Ask, Image
from edgectl.workloads.catalogue import Workload
from edgectl.workloads.request import Wish, kind_of_run, terminal_for
from tests.unit.workloads.cluster import fit, form, host

DIGEST = "sha256:" + "a" * 64


def unasked(repository: str) -> list[str]:
    raise AssertionError(f"the registry of {repository} was asked")


def made(text: str, tags: Any = unasked, **ask: Any) -> Workload:
    return adhoc.workload(text, Ask(**ask), ["ollama"], tags)


def image_on(workload: Workload, seen: dict[str, Any], arch: str = "arm64") -> str:
    found, why = fit.image_for(workload.data, seen, arch, cpu=False)
    return str(found["image"]) if found else why


@pytest.mark.parametrize(
    ("text", "image"),
    [
        ("debian:12", Image("docker.io/library/debian", "12")),
        ("dustynv/ros", Image("docker.io/dustynv/ros")),
        ("nvcr.io/nvidia/pytorch:25.01-py3", Image("nvcr.io/nvidia/pytorch", "25.01-py3")),
        ("localhost:5000/own/one:1", Image("localhost:5000/own/one", "1")),
        (f"ghcr.io/a/b:1@{DIGEST}", Image("ghcr.io/a/b", "1", DIGEST)),
    ],
)
def test_a_name_is_read_as_docker_reads_it(text: str, image: Image) -> None:
    assert adhoc.parse(text) == image


@pytest.mark.parametrize("text", ["", "Dustynv/ros", "a b", "x//y", "--job", f"ghcr.io/a/b@{DIGEST}", "x@sha256:12"])
def test_what_is_no_name_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        adhoc.parse(text)


def test_each_board_gets_the_tag_for_its_release() -> None:
    ros = made("dustynv/ros:humble-desktop")
    assert image_on(ros, host("jetson", l4t="36.4.3")) == "docker.io/dustynv/ros:humble-desktop-l4t-r36.4.0"
    assert image_on(ros, host("jetson", l4t="35.6.1")) == "docker.io/dustynv/ros:humble-desktop-l4t-r35.4.1"
    assert "no image for jetson with L4T 39.2.0" in image_on(ros, host("jetson", l4t="39.2.0"))
    assert "platform dgpu" in image_on(ros, host("dgpu", driver="580.1"), "amd64")


def test_a_named_release_runs_on_that_release_only() -> None:
    pytorch = made("dustynv/pytorch:2.7-r36.4.0")
    assert image_on(pytorch, host("jetson", l4t="36.5.0")) == "docker.io/dustynv/pytorch:2.7-r36.4.0"
    assert "no image" in image_on(pytorch, host("jetson", l4t="38.2.0"))


def test_any_other_tag_runs_anywhere_and_one_for_boards_on_boards() -> None:
    box = host("dgpu", driver="580.1")
    assert image_on(made("nvcr.io/nvidia/pytorch:25.01-py3"), box, "amd64") == "nvcr.io/nvidia/pytorch:25.01-py3"
    assert "platform dgpu" in image_on(made("nvcr.io/nvidia/pytorch:25.02-py3-igpu"), box)
    moving = "ghcr.io/nvidia-ai-iot/vllm:latest-jetson-orin"
    assert image_on(made(moving), host("jetson", l4t="36.4.3")) == moving


def test_a_registry_is_asked_only_for_what_the_list_lacks() -> None:
    own = made("ghcr.io/own/thing", lambda _: ["1.0", "r36.4.0", "r35.4.1", "latest"])
    assert own.data["images"][0]["tags"] == ["r36.4.0", "r35.4.1"]
    with pytest.raises(UsageError) as caught:
        made("debian", lambda _: ["12", "13"])
    assert caught.value.fix == "docker.io/library/debian:TAG"


def test_every_known_tag_names_a_release() -> None:
    known = registry.known()
    assert "docker.io/dustynv/ros" in known
    for repository, tags in known.items():
        assert adhoc.parse(repository) == Image(repository)
        assert len(set(tags)) == len(tags)
        assert all(fit.choose_tag.__globals__["release_of"](tag) for tag in tags), repository


def test_an_entry_is_one_of_the_catalogues_form_and_its_texts_are_left_alone() -> None:
    ask = {"command": ["python3", "-c", "print('{x} {{ y }}')"], "environment": ["A={b}"], "volumes": ["data:/data"]}
    entry = made("debian:12", kind="job", gpus=2, memory="4Gi", keep_seconds=300, **ask).data
    assert form.problems(entry) == []
    assert (entry["kind"], entry["args"][-1]) == ("job", "print('{x} {{ y }}')")
    assert entry["needs"] == {"gpu": "required", "memory_mib": 4096, "gpus": 2}
    assert entry["volumes"] == [{"name": "data", "path": "/data"}]
    assert made("debian:12", gpus=0).data["needs"]["gpu"] == "none"
    assert made("debian:12", kind="service", port=80).data["check"] == {"kind": "tcp"}


def test_its_name_is_the_images_unless_the_catalogue_has_that() -> None:
    assert made("dustynv/l4t-ml").name == "l4t-ml"
    assert made("dustynv/llama_cpp").name == "llama-cpp"
    assert made("dustynv/ollama").name == "ollama-run"


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        ({"name": "ollama"}, "the catalogue has a workload of this name"),
        ({"name": "My_Job"}, "--name My_Job"),
        ({"memory": "lots"}, "--memory lots"),
        ({"environment": ["A"]}, "--env A"),
        ({"environment": ["1=2"]}, "--env 1"),
        ({"volumes": ["data"]}, "--volume data"),
        ({"volumes": ["data:/"]}, "--volume data:/"),
    ],
)
def test_what_cannot_be_is_refused_with_its_option(ask: dict[str, Any], words: str) -> None:
    with pytest.raises(EdgectlError) as caught:
        made("debian:12", **ask)
    problems = caught.value.problems if isinstance(caught.value, Problems) else [caught.value]
    assert any(words in problem.what for problem in problems)
    assert caught.value.code == 2


def test_options_that_exclude_each_other_are_refused() -> None:
    usual: dict[str, Any] = dict.fromkeys(("job", "interactive", "rm", "plan"), False) | {"schedule": "", "port": 0}
    assert kind_of_run(**usual) == "pod"
    assert kind_of_run(**{**usual, "job": True, "rm": True}) == "job"
    assert kind_of_run(**{**usual, "schedule": "0 3 * * *"}) == "cronjob"
    for wrong in ({"job": True, "interactive": True}, {"rm": True}, {"port": 80, "schedule": "x"}):
        with pytest.raises(UsageError):
            kind_of_run(**{**usual, **wrong})
    with pytest.raises(UsageError, match="no terminal"):
        terminal_for("shell", there=False, json=False, plan=False)
    terminal_for("shell", there=False, json=False, plan=True)


def test_the_words_ask_for_the_same_again() -> None:
    ask = Ask("job", command=["ls", "-l"], environment=["A=b c"], gpus=0, memory="2Gi")
    words = adhoc.words("debian:12", ask, Wish(node="orin1"), rm=True)
    assert words == [
        "run", "debian:12", "--job", "--memory", "2Gi", "--node", "orin1", "--env", "A=b c", "--cpu", "--rm", "-i",
        "--", "ls", "-l",
    ]  # fmt: skip
