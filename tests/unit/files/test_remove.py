"""Module edgectl_remove: several files and directories in one task."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.testing import patch_module_args

from tests.unit.kubeadm.conftest import plugin

Remove = Callable[..., dict[str, Any]]


@pytest.fixture
def remove(capsys: pytest.CaptureFixture[str]) -> Remove:
    module = plugin("modules/edgectl_remove.py")

    def run(check: bool = False, **options: list[Path]) -> dict[str, Any]:
        arguments: dict[str, object] = {name: [str(path) for path in paths] for name, paths in options.items()}
        with patch_module_args({**arguments, "_ansible_check_mode": check}), pytest.raises(SystemExit):
            module.main()
        answer: dict[str, Any] = json.loads(capsys.readouterr().out)
        return answer

    return run


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """etc/{file,link,tree/deep/file}, kept/file; the link leads to kept."""
    for file in ("etc/file", "etc/tree/deep/file", "kept/file"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    (tmp_path / "etc" / "link").symlink_to(tmp_path / "kept")
    return tmp_path


def test_files_links_and_trees_go_and_then_the_empty_directory(remove: Remove, tree: Path) -> None:
    paths = [tree / "etc" / "file", tree / "etc" / "link", tree / "etc" / "tree", tree / "etc" / "never-there"]
    answer = remove(paths=paths, if_empty=[tree / "etc", tree / "kept"])
    assert answer["removed"] == [*map(str, paths[:3]), str(tree / "etc")]
    assert not (tree / "etc").exists()
    assert (tree / "kept" / "file").exists()
    assert not remove(paths=paths, if_empty=[tree / "etc", tree / "kept"])["changed"]


def test_an_emptied_directory_goes_and_a_link_to_one_stays(remove: Remove, tree: Path) -> None:
    (tree / "data").symlink_to(tree / "kept")
    answer = remove(emptied=[tree / "etc", tree / "data", tree / "never-there"])
    assert answer["removed"] == [str(tree / "etc"), str(tree / "data")]
    assert not (tree / "etc").exists()
    assert list((tree / "kept").iterdir()) == []
    assert (tree / "data").is_symlink()
    assert not remove(emptied=[tree / "etc", tree / "data"])["changed"]


def test_what_is_mounted_below_is_left_alone_and_told(
    remove: Remove, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.lstat
    mounted = tree / "etc" / "tree"

    def lstat(path: str) -> os.stat_result:
        found = real(path)
        return os.stat_result((*found[:2], found.st_dev + 1, *found[3:])) if path == str(mounted) else found

    monkeypatch.setattr(os, "lstat", lstat)
    answer = remove(emptied=[tree / "etc"])
    assert answer["failed"]
    assert answer["msg"] == f"something is still mounted at {mounted}"
    assert (mounted / "deep" / "file").exists()


def test_a_dry_run_tells_and_removes_nothing(remove: Remove, tree: Path) -> None:
    answer = remove(
        check=True,
        paths=[tree / "etc" / name for name in ("file", "link", "tree")],
        emptied=[tree / "kept"],
        if_empty=[tree / "etc"],
    )
    assert answer["removed"][-2:] == [str(tree / "kept"), str(tree / "etc")]
    assert (tree / "etc" / "file").exists()
    assert (tree / "kept" / "file").exists()
