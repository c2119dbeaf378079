"""Loads our plugins by their files, the way Ansible does."""

from __future__ import annotations

import importlib.util
from pathlib import Path

PLUGINS = Path(__file__).parents[3] / "plugins"


def load_plugin(kind: str, name: str):
    spec = importlib.util.spec_from_file_location(f"{kind}_{name}", PLUGINS / kind / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
