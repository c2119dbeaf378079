"""Makes edgectl's module_utils importable the way they are on a host, and its modules importable at all."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import ansible.module_utils

from edgectl import content

PLUGINS = content.root() / "plugins"
ansible.module_utils.__path__.append(str(PLUGINS / "module_utils"))


def plugin(path: str) -> ModuleType:
    """A plugin by its path below plugins/, such as `modules/edgectl_artifact.py`."""
    file = Path(PLUGINS / path)
    spec = importlib.util.spec_from_file_location(f"{file.parent.name}_{file.stem}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
