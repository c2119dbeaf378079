"""Loads the files of role wireguard that run on hosts, which no package can import."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[3]


def load(path: str) -> ModuleType:
    """The module at `path`, relative to the repository."""
    name = Path(path).stem
    spec = importlib.util.spec_from_file_location(name, ROOT / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # dataclasses look their module up by name.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
