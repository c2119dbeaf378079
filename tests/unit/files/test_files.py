"""Module edgectl_files: several files in one task."""

from __future__ import annotations

import grp
import json
import os
import pwd
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.testing import patch_module_args

from tests.unit.kubeadm.conftest import plugin

Put = Callable[..., dict[str, Any]]


@pytest.fixture
def put(capsys: pytest.CaptureFixture[str]) -> Put:
    """Runs the module over some entries; gives what it answered."""
    module = plugin("modules/edgectl_files.py")
    own = {"owner": pwd.getpwuid(os.getuid()).pw_name, "group": grp.getgrgid(os.getgid()).gr_name}

    def run(*files: dict[str, object], check: bool = False) -> dict[str, Any]:
        arguments = {"files": list(files), **own, "_ansible_check_mode": check, "_ansible_diff": True}
        with patch_module_args(arguments), pytest.raises(SystemExit):
            module.main()
        answer: dict[str, Any] = json.loads(capsys.readouterr().out)
        return answer

    return run


def mode(path: Path) -> str:
    return f"{path.stat().st_mode & 0o7777:04o}"


def test_files_and_directories_get_their_places_and_a_second_run_changes_nothing(put: Put, tmp_path: Path) -> None:
    directory, file = tmp_path / "peers", tmp_path / "deep" / "er" / "key"
    entries = [
        {"path": str(directory), "mode": "0700"},
        {"path": str(file), "content": "secret: ü\n", "mode": "0600"},
    ]
    umask = os.umask(0o077)
    try:
        answer = put(*entries)
    finally:
        os.umask(umask)
    assert answer["changed"]
    assert answer["paths"] == [str(directory), str(file)]
    assert (mode(directory), mode(file)) == ("0700", "0600")
    assert (mode(tmp_path / "deep"), mode(tmp_path / "deep" / "er")) == ("0755", "0755")
    assert file.read_text() == "secret: ü\n"
    again = put(*entries)
    assert not again["changed"]
    assert again["diff"] == []
    assert list(file.parent.iterdir()) == [file]


def test_a_dry_run_tells_the_differences_and_makes_none(put: Put, tmp_path: Path) -> None:
    file, missing = tmp_path / "config", tmp_path / "nowhere" / "config"
    file.write_text("a\n")
    file.chmod(0o644)
    entries = [
        {"path": str(file), "content": "b\n", "mode": "0644", "validate": "false %s"},
        {"path": str(missing), "content": "c\n", "mode": "0644"},
    ]
    answer = put(*entries, check=True)
    assert answer["changed"]
    assert answer["diff"] == [
        {"before_header": str(file), "before": "a\n", "after": "b\n"},
        {"before_header": str(missing), "before": "", "after": "c\n"},
    ]
    assert file.read_text() == "a\n"
    assert not missing.parent.exists()


def test_other_permissions_are_a_difference_of_their_own(put: Put, tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("key")
    file.chmod(0o644)
    answer = put({"path": str(file), "content": "key", "mode": "0600"})
    assert answer["diff"] == [{"before_header": str(file), "before": {"mode": "0644"}, "after": {"mode": "0600"}}]
    assert mode(file) == "0600"


def test_what_the_validation_refuses_is_not_written_and_the_entries_before_it_stay(put: Put, tmp_path: Path) -> None:
    first, file = tmp_path / "first", tmp_path / "config"
    file.write_text("good\n")
    answer = put(
        {"path": str(first), "content": "1", "mode": "0644"},
        {"path": str(file), "content": "bad\n", "mode": "0644", "validate": "grep good %s"},
    )
    assert answer["failed"]
    assert answer["changed"]
    assert f"{file} was not written, `grep good " in answer["msg"]
    assert file.read_text() == "good\n"
    assert sorted(tmp_path.iterdir()) == [file, first]
    assert put({"path": str(file), "content": "good 2\n", "mode": "0644", "validate": "grep good %s"})["changed"]


def test_without_force_what_is_there_stays_as_it_is(put: Put, tmp_path: Path) -> None:
    file = tmp_path / "record"
    entry = {"path": str(file), "content": "first\n", "mode": "0600", "force": False}
    assert put(entry)["changed"]
    assert mode(file) == "0600"
    file.chmod(0o640)
    assert not put({**entry, "content": "second\n"})["changed"]
    assert (file.read_text(), mode(file)) == ("first\n", "0640")


def test_a_link_is_replaced_and_its_target_left_alone(put: Put, tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("theirs\n")
    link.symlink_to(target)
    assert put({"path": str(link), "content": "ours\n", "mode": "0644"})["changed"]
    assert not link.is_symlink()
    assert target.read_text() == "theirs\n"


@pytest.mark.parametrize("content", [None, "text\n"])
def test_something_else_in_the_place_is_named_and_left_alone(put: Put, tmp_path: Path, content: str | None) -> None:
    place = tmp_path / "place"
    if content is None:
        place.write_text("a file")
    else:
        place.mkdir()
    answer = put({"path": str(place), "mode": "0755", **({"content": content} if content else {})})
    assert answer["failed"]
    assert str(place) in answer["msg"]
    assert place.exists()
