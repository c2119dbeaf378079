import importlib

import pytest

from tests.unit.kubeadm.conftest import plugin


@pytest.fixture(scope="session")
def toml():
    return importlib.import_module("ansible.module_utils.edgectl_toml")


@pytest.fixture(scope="session")
def config():
    return plugin("modules/edgectl_containerd_config.py")


@pytest.fixture(scope="session")
def runtime():
    return plugin("modules/edgectl_containerd_runtime.py")


@pytest.fixture(scope="session")
def settings():
    return plugin("modules/edgectl_toml_settings.py")
