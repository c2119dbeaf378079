"""The only place that knows where playbooks, roles, plugins, the sample inventory and the lab's recipes are.

A wheel carries them in `edgectl/_content/`; a checkout (or an editable install) uses them in place.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from types import ModuleType

from edgectl.errors import EdgectlError


@cache
def root() -> Path:
    """The directory that holds ansible.cfg, playbooks/, roles/, plugins/, workloads/, inventory/ and lab/."""
    package = Path(__file__).resolve().parent
    for candidate in (package / "_content", package.parent):
        if (candidate / "ansible.cfg").is_file() and (candidate / "playbooks").is_dir():
            return candidate
    raise EdgectlError(
        "edgectl's playbooks and roles are missing from this installation",
        f"neither {package / '_content'} nor {package.parent} holds them",
        "install edgectl again: pip install --force-reinstall edgectl",
    )


def playbook(name: str) -> Path:
    """Path of a playbook by its verb: `playbook("bootstrap")`."""
    return root() / "playbooks" / f"{name}.yml"


def ansible_environment() -> dict[str, str]:
    """Environment variables that make Ansible find our roles and plugins from any directory."""
    base = root()
    return {
        "ANSIBLE_CONFIG": str(base / "ansible.cfg"),
        "ANSIBLE_ROLES_PATH": str(base / "roles"),
        "ANSIBLE_LIBRARY": str(base / "plugins" / "modules"),
        "ANSIBLE_MODULE_UTILS": str(base / "plugins" / "module_utils"),
        "ANSIBLE_FILTER_PLUGINS": str(base / "plugins" / "filter"),
        "ANSIBLE_LOOKUP_PLUGINS": str(base / "plugins" / "lookup"),
        "ANSIBLE_ACTION_PLUGINS": str(base / "plugins" / "action"),
    }


@cache
def module_util(name: str) -> ModuleType:
    """One of the modules in plugins/module_utils that the command line shares with the playbooks."""
    import ansible.module_utils

    path = root() / "plugins" / "module_utils" / f"{name}.py"
    # As on a host, where they import each other from there.
    if str(path.parent) not in ansible.module_utils.__path__:
        ansible.module_utils.__path__.append(str(path.parent))
    return _loaded(path)


@cache
def filter_plugin(name: str) -> ModuleType:
    """One of the files in plugins/filter that the command line shares with the playbooks."""
    return _loaded(root() / "plugins" / "filter" / f"{name}.py")


def _loaded(path: Path) -> ModuleType:
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise EdgectlError(f"{path} cannot be loaded")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
