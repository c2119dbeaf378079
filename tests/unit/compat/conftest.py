"""The recorded boards as the probe sees them, and the tables as a directory to change."""

from __future__ import annotations

import shutil
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from edgectl.compat import tables
from edgectl.recording import catalogue

sys.path.insert(0, str(Path(__file__).parents[3] / "plugins" / "module_utils"))


@cache
def board(name: str) -> dict[str, Any]:
    """The probe's document of a recorded board."""
    return catalogue.load(name).replay()


@pytest.fixture
def own_tables(tmp_path: Path) -> Path:
    """A copy of the tables."""
    return Path(shutil.copytree(tables.DIRECTORY, tmp_path / "data"))


def change(file: Path, old: str, new: str) -> None:
    """Replace the first occurrence of a text that must be there."""
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))
