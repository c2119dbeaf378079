"""A wheel carries everything edgectl needs and works from any directory."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
CONTENT = ("playbooks", "roles", "plugins", "workloads", "inventory", "lab", "ansible.cfg")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from this checkout's tracked and new files, as `pip wheel` builds it."""
    target = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--wheel-dir", str(target), str(ROOT)], check=True
    )
    return next(target.glob("edgectl-*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """That wheel installed into a directory of its own; its dependencies come from the test environment."""
    target = tmp_path_factory.mktemp("site")
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(target), str(wheel)], check=True
    )
    return target


def run(installed: Path, *command: str) -> str:
    result = subprocess.run(
        [sys.executable, *command],
        cwd="/",
        env={**os.environ, "PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_the_wheel_carries_every_content_file_of_the_checkout(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", *CONTENT],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    files = [path for path in listed if (ROOT / path).exists()]
    assert len(files) > 40
    assert [path for path in files if f"edgectl/_content/{path}" not in names] == []


def test_an_installed_wheel_has_the_compatibility_tables(installed: Path) -> None:
    assert "36.4.3" in run(installed, "-m", "edgectl", "compat")


def test_an_installed_wheel_finds_its_own_content(installed: Path) -> None:
    root = run(installed, "-c", "from edgectl import content; print(content.root())").strip()
    assert root == str(installed / "edgectl" / "_content")


def test_an_installed_wheel_runs_from_another_directory(installed: Path) -> None:
    assert "bootstrap" in run(installed, "-m", "edgectl", "--help")
    playbook = installed / "edgectl" / "_content" / "playbooks" / "bootstrap.yml"
    config = run(installed, "-m", "edgectl", "env")
    assert str(installed) in config
    result = subprocess.run(
        [str(Path(sys.executable).parent / "ansible-playbook"), "--syntax-check", "-i", "localhost,", str(playbook)],
        cwd="/",
        env={**os.environ, "ANSIBLE_CONFIG": str(installed / "edgectl" / "_content" / "ansible.cfg")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
