"""Ways to make an inventory, and to reach the plugins as Ansible would."""

import importlib.util
from pathlib import Path

import pytest

from edgectl import content

HOSTS = """\
cluster:
  children:
    control_plane:
      hosts:
        nuc1: {ansible_host: 192.168.1.11}
    workers:
      hosts:
        nuc2: {ansible_host: 192.168.1.12}
        orin1: {ansible_host: orin1.example.net, ansible_user: jetson}
"""


@pytest.fixture(autouse=True)
def _no_vault_password_of_the_developer(monkeypatch):
    monkeypatch.delenv("ANSIBLE_VAULT_PASSWORD_FILE", raising=False)


@pytest.fixture
def inventory_directory(tmp_path):
    """Writes an inventory of three hosts, and more files: `inventory_directory({"group_vars/all.yml": ...})`."""

    def make(files: dict[str, str] | None = None) -> Path:
        directory = tmp_path / "inventory"
        for name, text in {"hosts.yml": HOSTS, **(files or {})}.items():
            file = directory / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return directory

    return make


def _plugin(name: str):
    import ansible.module_utils

    module_utils = str(content.root() / "plugins" / "module_utils")
    if module_utils not in ansible.module_utils.__path__:
        ansible.module_utils.__path__.append(module_utils)
    spec = importlib.util.spec_from_file_location(name, content.root() / "plugins" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def allocate():
    """plugins/module_utils/edgectl_allocate.py"""
    return _plugin("module_utils/edgectl_allocate")


@pytest.fixture(scope="session")
def state_module():
    """plugins/modules/edgectl_state.py"""
    return _plugin("modules/edgectl_state")
