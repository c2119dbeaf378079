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
def config(toml):
    # On a host Ansible puts the two together; here its module_utils get ours by hand.
    import ansible.module_utils

    sys.modules["ansible.module_utils.edgectl_toml"] = ansible.module_utils.edgectl_toml = toml
    return _load("edgectl_containerd_config", PLUGINS / "modules" / "edgectl_containerd_config.py")
