"""The private directory of a run."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from edgectl.run.environment import ansible_environment, private_directory, write_private
from edgectl.ssh.secrets import Secrets


def test_it_is_private_and_gone_afterwards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with private_directory() as directory:
        file = write_private(directory / "password", "s3cret")
        assert directory.parent == tmp_path
        assert directory.stat().st_mode & 0o777 == 0o700
        assert file.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_run_left_is_swept_and_a_running_ones_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    dead = subprocess.Popen(["true"])
    dead.wait()
    (tmp_path / f"edgectl-run-{dead.pid}-a").mkdir()
    (tmp_path / f"edgectl-run-{os.getppid()}-b").mkdir()
    with private_directory():
        left = {path.name.rsplit("-", 1)[1] for path in tmp_path.iterdir()}
        assert "a" not in left
        assert "b" in left


def test_ansible_gets_the_key_of_nvidias_registry_and_no_other_secret_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NGC_API_KEY", "nvapi-0123")
    monkeypatch.setenv("OTHER_API_KEY", "other")
    given = ansible_environment(tmp_path, tmp_path / "known_hosts", Secrets(), 3)
    assert given["NGC_API_KEY"] == "nvapi-0123"
    assert "OTHER_API_KEY" not in given
