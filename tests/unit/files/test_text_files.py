"""How modules replace a file of somebody else, and keep what they remember of it."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.unit.kubeadm.conftest import plugin

plugin("modules/edgectl_files.py")  # lets module_utils be imported
files = importlib.import_module("ansible.module_utils.edgectl_text_files")
MODULE = SimpleNamespace(atomic_move=os.rename)


def mode(path: Path) -> str:
    return f"{path.stat().st_mode & 0o7777:04o}"


def test_a_file_that_is_not_there_reads_as_empty(tmp_path: Path) -> None:
    assert files.read(str(tmp_path / "none")) == ""


@pytest.mark.parametrize(("asked", "directory"), [(0o600, "0700"), (0o644, "0755")])
def test_a_directory_that_has_to_be_made_is_as_private_as_its_file(tmp_path: Path, asked: int, directory: str) -> None:
    path = tmp_path / "new" / "file"
    files.write(MODULE, str(path), "text\n", asked)
    assert (mode(path), mode(path.parent)) == (f"{asked:04o}", directory)


def test_nothing_else_is_left_beside_the_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("a longer text that was there before\n")
    files.write(MODULE, str(path), "text\n", 0o640)
    assert files.read(str(path)) == "text\n"
    assert mode(path) == "0640"
    assert list(tmp_path.iterdir()) == [path]


def test_lines_end_as_they_did(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"one\r\ntwo\n")
    files.write(MODULE, str(path), files.read(str(path)), 0o644)
    assert path.read_bytes() == b"one\r\ntwo\n"
