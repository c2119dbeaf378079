import importlib.util
import sys
from pathlib import Path

import pytest

PLUGINS = Path(__file__).parents[3] / "plugins"


def _load(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def toml():
    return _load("edgectl_toml", PLUGINS / "module_utils" / "edgectl_toml.py")


@pytest.fixture(scope="session")
def modules(toml):
    # On a host Ansible puts a module and our module_utils together; here it is done by hand.
    import ansible.module_utils

    sys.modules["ansible.module_utils.edgectl_toml"] = ansible.module_utils.edgectl_toml = toml
    shared = _load("edgectl_containerd", PLUGINS / "module_utils" / "edgectl_containerd.py")
    sys.modules["ansible.module_utils.edgectl_containerd"] = ansible.module_utils.edgectl_containerd = shared
    return PLUGINS / "modules"


@pytest.fixture(scope="session")
def config(modules):
    return _load("edgectl_containerd_config", modules / "edgectl_containerd_config.py")


@pytest.fixture(scope="session")
def runtime(modules):
    return _load("edgectl_containerd_runtime", modules / "edgectl_containerd_runtime.py")


@pytest.fixture(scope="session")
def settings(modules):
    return _load("edgectl_toml_settings", modules / "edgectl_toml_settings.py")
