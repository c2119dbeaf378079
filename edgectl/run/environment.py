"""The private directory of one run and the environment that Ansible gets: ours, minimal, with no secret of ours in it.

ansible-runner would switch host key checking off, put variables on the command line, keep the whole environment in a
file and share a fact cache with later runs; each setting here that looks odd undoes one of these.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from edgectl import content
from edgectl.ssh import openssh
from edgectl.ssh.secrets import VAULT_FILE_VARIABLES, Secrets

# What Ansible, its modules on the controller and ssh need of the user's environment. Nothing else goes along.
_PASSED_ON = (
    "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TZ",
    "SSH_AUTH_SOCK", "SSH_AGENT_PID", "SSH_ASKPASS", "DISPLAY", "KRB5CCNAME",
    "XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME",
    "http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY",
    *VAULT_FILE_VARIABLES,
    "NGC_API_KEY",  # NVIDIA's own name for it, for device_plugin_ngc_key
)  # fmt: skip

_PREFIX = "edgectl-run-"

# Seconds between two looks at the cancel flag; ansible-runner's own is 5.
_POLL = 0.2


@contextmanager
def private_directory() -> Iterator[Path]:
    """A 0700 directory, in memory where the system has one for the user, gone afterwards whatever happens."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    parent = runtime if runtime and os.access(runtime, os.W_OK) else None
    _sweep(Path(parent or tempfile.gettempdir()))
    directory = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=parent))
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _sweep(parent: Path) -> None:
    """Remove what runs left that were killed: it may hold passwords."""
    for directory in parent.glob(f"{_PREFIX}*"):
        pid = directory.name.removeprefix(_PREFIX).split("-")[0]
        if pid.isdigit() and not Path("/proc", pid).exists() and directory.lstat().st_uid == os.getuid():
            shutil.rmtree(directory, ignore_errors=True)


def write_private(path: Path, text: str) -> Path:
    """Write a file that is 0600 from its first byte on."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    return path


def write_settings(directory: Path) -> None:
    """ansible-runner drops settings given as an argument when it is told to keep secrets off the disk."""
    (directory / "env").mkdir(mode=0o700)
    settings = {"pexpect_timeout": _POLL, "suppress_output_file": True, "pexpect_use_poll": True}
    write_private(directory / "env" / "settings", json.dumps(settings))


def write_extra_vars(directory: Path, variables: Mapping[str, Any]) -> Path:
    """Variables go through a file, because arguments are visible to everybody in the process list."""
    return write_private(directory / "extra_vars.json", json.dumps(dict(variables)))


def ansible_environment(directory: Path, known_hosts: Path, secrets: Secrets, hosts: int) -> dict[str, str]:
    """Everything that ansible-playbook sees."""
    environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    environment |= content.ansible_environment()
    environment |= {
        # ansible-playbook lies beside our interpreter, which under pipx or uv is not in PATH.
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]),
        "LANG": os.environ.get("LC_ALL") or os.environ.get("LANG") or "C.UTF-8",
        "PYTHONUNBUFFERED": "1",
        "ANSIBLE_HOST_KEY_CHECKING": "True",
        "ANSIBLE_SSH_ARGS": shlex.join(openssh.checked(known_hosts)),
        "ANSIBLE_FORKS": str(max(25, hosts)),
        "ANSIBLE_NOCOLOR": "1",
        # The group `hub` is optional, and most inventories have none.
        "ANSIBLE_HOST_PATTERN_MISMATCH": "ignore",
        "ANSIBLE_LOCAL_TEMP": str(directory / "tmp"),
    }
    if "UTF-8" not in environment["LANG"].upper().replace("UTF8", "UTF-8"):
        environment["LANG"] = "C.UTF-8"  # ansible refuses to start in any other encoding
    if secrets.become_password is not None:
        file = write_private(directory / "become_password", secrets.become_password)
        environment["ANSIBLE_BECOME_PASSWORD_FILE"] = str(file)
    if secrets.vault is not None and secrets.vault.password is not None:
        file = write_private(directory / "vault_password", secrets.vault.password)
        environment["ANSIBLE_VAULT_PASSWORD_FILE"] = str(file)
    elif secrets.vault is not None and secrets.vault.password_file is not None:
        environment["ANSIBLE_VAULT_PASSWORD_FILE"] = str(secrets.vault.password_file)
    return environment
