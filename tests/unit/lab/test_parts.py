"""Parts of the artifact directory, and the directory that is made of them."""

import dataclasses
import json
import threading

import pytest

from edgectl.lab import artifacts, manifest, nvidia
from edgectl.lab.manifest import Artifact
from edgectl.lab.parts import Part, build_log, one_at_a_time
from edgectl.lab.progress import Silent


@pytest.fixture
def part(tmp_path, monkeypatch):
    """Makes parts in a cache of their own; each counts how often it was filled."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def make(name):
        source = tmp_path / "source" / name
        source.mkdir(parents=True)
        (source / "recipe").write_text(name)
        filled = []

        def fill(directory, log, progress):
            filled.append(directory)
            (directory / name).write_text(name)
            return [Artifact(name, "binary", name, "v1", "amd64")]

        return Part(name, source, 1, fill), filled

    return make


def test_a_part_is_made_once(part):
    one, filled = part("one")
    assert one.build(Silent()) == one.build(Silent()) == filled[0]
    assert len(filled) == 1


def test_a_half_made_part_is_made_again(part):
    one, filled = part("one")
    (one.build(Silent()) / "one").unlink()
    one.build(Silent())
    assert len(filled) == 2


def test_a_part_changes_with_its_sources_and_not_with_their_tests(part):
    one, _ = part("one")
    before = one.directory
    (one.source / "main_test.go").write_text("package main")
    assert one.directory == before
    (one.source / "main.go").write_text("package main")
    assert one.directory != before


def test_a_part_is_made_after_what_it_needs_and_changes_with_it(part):
    (low, filled_low), (high, filled_high) = part("low"), part("high")
    above = dataclasses.replace(high, needs=(low,))
    before = above.build(Silent())
    assert (len(filled_low), len(filled_high)) == (1, 1)
    (low.source / "recipe").write_text("changed")
    assert above.directory != before


def test_the_log_of_a_build_is_only_of_that_build(part):
    one, _ = part("one")
    build_log("one").parent.mkdir(parents=True)
    build_log("one").write_text("of yesterday")
    one.build(Silent())
    assert build_log("one").read_text() == ""


def test_one_part_is_made_while_another_run_makes_another_one(part):
    two, filled = part("two")
    with one_at_a_time("one", Silent()):
        two.build(Silent())
    assert filled


def test_a_part_that_another_run_makes_is_waited_for_and_not_made_twice(part):
    one, filled = part("one")

    def told(text):
        lines.append(text)
        begun.set()

    lines, begun = [], threading.Event()
    waiting = Silent()
    waiting.line = told
    run = threading.Thread(target=one.build, args=[waiting], daemon=True)
    with one_at_a_time("one", Silent()):
        run.start()
        assert begun.wait(30)
        assert not filled
    run.join(30)
    one.build(Silent())
    assert lines == ["another edgectl makes one; waiting for it"]
    assert len(filled) == 1


def test_the_artifact_directory_has_the_files_of_all_parts_and_no_copies(part, monkeypatch):
    parts = [part(name)[0] for name in ("one", "two")]
    monkeypatch.setattr(artifacts, "_parts", lambda *_: tuple(parts))
    directory = artifacts.build(Silent())
    assert manifest.complete(directory)
    assert [file["name"] for file in json.loads((directory / "manifest.json").read_text())["files"]] == ["one", "two"]
    assert all((directory / made.name).samefile(made.directory / made.name) for made in parts)


def test_a_change_of_one_part_leaves_the_other_as_it_is(part, monkeypatch):
    (one, filled_one), (two, filled_two) = part("one"), part("two")
    monkeypatch.setattr(artifacts, "_parts", lambda *_: (one, two))
    before = artifacts.build(Silent())
    (two.source / "recipe").write_text("changed")
    after = artifacts.build(Silent())
    assert before != after
    assert (len(filled_one), len(filled_two)) == (1, 2)


def test_what_is_of_nvidia_is_a_part_of_its_own(monkeypatch):
    names = [made.name for made in artifacts._parts([], "kubeadm")]
    assert names == ["kubernetes", "nvidia", "ollama"]
    assert nvidia.part() in artifacts._parts([], "kubeadm")
