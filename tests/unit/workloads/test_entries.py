"""The catalogue's form: what is wrong with an entry is told with its key, and every entry that we have is sound."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from edgectl import content
from edgectl.errors import Problems, UsageError
from edgectl.workloads import catalogue
from tests.unit.workloads.cluster import form

OLLAMA = yaml.safe_load((catalogue.directory() / "ollama" / "workload.yml").read_text())


def changed(path: str, value: Any) -> dict[str, Any]:
    """Ollama's entry with another value at a path such as `needs.gpu`; None takes the key away."""
    entry = copy.deepcopy(OLLAMA)
    place, *names = entry, *path.split(".")
    for name in names[:-1]:
        place = place[int(name) if name.isdecimal() else name]
    if value is None:
        del place[names[-1]]
    else:
        place[names[-1]] = value
    return entry


def test_every_entry_has_the_form_of_one() -> None:
    known = catalogue.read()
    assert {"ollama", "open-webui"} <= set(known)
    assert {entry.category for entry in known.values()} <= set(catalogue.CATEGORIES)


def test_every_script_that_checks_an_entry_is_there() -> None:
    asked = {
        entry.data["check"]["script"] for entry in catalogue.read().values() if "script" in entry.data.get("check", {})
    }
    there = {path.stem for path in (content.root() / "roles/workload/files/checks").glob("*.py")}
    assert asked == there


def test_the_categories_that_are_shown_are_those_of_the_form() -> None:
    assert tuple(catalogue.CATEGORIES) == form.CATEGORIES


@pytest.mark.parametrize(
    ("path", "value", "key", "words"),
    [
        ("title", None, "title", "is missing"),
        ("category", "games", "category", "'games'"),
        ("needs.gpu", "yes please", "needs.gpu", "one of these"),
        ("needs.gpu", True, "needs.gpu", "True"),
        ("needs.memory_mib", "1Gi", "needs.memory_mib", "whole number"),
        ("images.0.image", "docker.io/ollama/ollama:latest", "images[0].image", "does not move"),
        ("images.0.image", "ollama/ollama", "images[0].image", "registry"),
        ("images.0.l4t_from", 36, "images[0].l4t_from", "Jetson Linux"),
        ("images.0.arch", ["x86"], "images[0].arch[0]", "one of these"),
        ("colour", "red", "colour", "is not known"),
        ("environment.HOME", "{home}", "environment.HOME", "the parameter home"),
        ("model.tokens", "length", "model.tokens", "the parameter length"),
        ("kind", "job", "port", "is for kind service"),
        ("port", None, "port", "is missing"),
        ("schedule", "0 3 * * *", "schedule", "kind cronjob"),
        ("check.expect", "a.b", "check.expect", "is for kind http"),
        ("check", {"kind": "open-webui"}, "sign_in", "is missing"),
        ("sign_in", {"secret": "TOKEN"}, "sign_in.secret", "is none of secrets"),
        ("check.kind", "script", "check.script", "goes with kind script"),
        ("check.script", "jupyter_kernel", "check.script", "goes with kind script"),
        ("files", {"a": "text"}, "files.a", "no absolute path"),
        ("images.0.digest", "sha256:12", "images[0].digest", "digest"),
        ("images.0.image", None, "images[0]", "either an image or a repository"),
        ("images.0.tags", ["r36.4.0"], "images[0]", "only one of repository and tags"),
        ("parameters.context.default", "many", "parameters.context.default", "whole number"),
    ],
)
def test_what_is_wrong_is_told_with_its_key(path: str, value: Any, key: str, words: str) -> None:
    problem, *_ = form.problems(changed(path, value))
    assert problem[0] == key
    assert words in problem[1]
    assert problem[2]


def test_an_entry_that_is_no_mapping_is_told_too() -> None:
    assert [key for key, _, _ in form.problems([1])] == ["it"]


def test_mistakes_of_all_files_are_told_at_once_with_their_file(tmp_path: Path) -> None:
    for name, text in {
        "a": yaml.safe_dump(changed("title", None)),
        "b": "title: [",
        "c": yaml.safe_dump(OLLAMA),
    }.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "workload.yml").write_text(text)
    with pytest.raises(Problems) as caught:
        catalogue.read(tmp_path)
    first, second = caught.value.problems
    assert first.what == "workloads/a/workload.yml: title is missing"
    assert str(tmp_path / "b" / "workload.yml") in second.what
    assert caught.value.code == 2


def test_a_name_that_is_not_there_finds_the_nearest() -> None:
    with pytest.raises(UsageError) as caught:
        catalogue.find("olama")
    assert "did you mean ollama" in caught.value.fix


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"context": "lots"}, "whole number"),
        ({"context": "8"}, "256 or more"),
        ({"model_gb": "big"}, "a number"),
        ({"modle": "x"}, "no parameter"),
    ],
)
def test_a_parameter_that_cannot_be_is_refused_with_its_name(given: dict[str, str], words: str) -> None:
    with pytest.raises(Problems) as caught:
        catalogue.find("ollama").values(given)
    (problem,) = caught.value.problems
    assert problem.what.startswith(f"ollama: --set {next(iter(given))}: ")
    assert words in problem.what
    assert problem.fix


def test_parameters_are_of_their_types_however_they_were_written() -> None:
    chosen = catalogue.find("ollama").values({"context": "8192", "model_gb": "4.5"})
    assert (chosen["context"], chosen["model_gb"], chosen["model"]) == (8192, 4.5, "deepseek-r1:1.5b")
    switch = {"parameters": {"on": {"type": "bool", "description": "Whether it is."}}}
    assert form.values(switch, {"on": "no"}) == ({"on": False}, [])


def test_a_setting_without_a_value_is_refused() -> None:
    assert catalogue.settings(["a=b=c", "d="]) == {"a": "b=c", "d": ""}
    with pytest.raises(UsageError):
        catalogue.settings(["model"])


def test_a_bundle_has_parts_that_are_entries_and_gives_each_parameter_to_those_that_have_it() -> None:
    chat = catalogue.bundles()["chat"]
    assert [part.name for part in chat.parts] == ["ollama", "open-webui"]
    chosen = chat.values({"model": "lab-tiny"})
    assert chosen["ollama"]["model"] == "lab-tiny"
    assert chosen["open-webui"] == {}
    with pytest.raises(Problems) as caught:
        chat.values({"modle": "x"})
    (problem,) = caught.value.problems
    assert problem.what == "chat: --set modle: it is no parameter of its parts"
    assert "context" in problem.fix
    with pytest.raises(UsageError, match="chat is ollama and open-webui"):
        catalogue.find("chat")


def test_the_form_of_a_bundle_is_checked_too(tmp_path: Path) -> None:
    chat = yaml.safe_load((catalogue.directory() / "chat" / "workload.yml").read_text())
    assert form.problems(chat) == []
    assert [key for key, _, _ in form.problems({**chat, "bundle": ["ollama"], "port": 1})] == ["bundle", "port"]
    for name, data in {"chat": {**chat, "bundle": ["ollama", "nobody"]}, "ollama": OLLAMA}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "workload.yml").write_text(yaml.safe_dump(data))
    with pytest.raises(Problems) as caught:
        catalogue.bundles(tmp_path)
    assert caught.value.problems[0].what == "workloads/chat/workload.yml: bundle names nobody, which is no entry"
