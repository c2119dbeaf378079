"""Podman with a storage, a network directory and settings of the lab's own: the user's are never read or written."""

from __future__ import annotations

import functools
import json
import subprocess
from pathlib import Path
from typing import Any

from edgectl.lab import machine
from edgectl.lab.paths import RUNTIME, SYSTEM

_SETTINGS = SYSTEM / "containers.conf"
_STORAGE_SETTINGS = SYSTEM / "storage.conf"
CGROUP_PARENT = "/edgectl-lab"
LABEL = "edgectl.lab"


def settings(traits: machine.Traits) -> str:
    """containers.conf for the lab.

    runc, since crun refuses hybrid cgroups; cgroupfs, since systemd need not run here; lock files, since podman's
    shared-memory locks would be those of the user's own podman; limits no higher than this machine may set.
    """
    return f"""\
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
lock_type = "file"
events_logger = "none"

[network]
network_backend = "netavark"

[containers]
default_ulimits = ["nofile={traits.max_open_files}:{traits.max_open_files}", \
"nproc={traits.max_processes}:{traits.max_processes}"]
log_driver = "k8s-file"
pids_limit = 0
"""


@functools.cache
def _prepare() -> dict[str, str]:
    """Write the settings once in a process; the environment variables that name them."""
    machine.write_as_root(_SETTINGS, settings(machine.traits()))
    places = f'graphroot = "{SYSTEM / "storage"}"\nrunroot = "{RUNTIME / "run"}"\n'
    machine.write_as_root(_STORAGE_SETTINGS, f'[storage]\ndriver = "overlay"\n{places}')
    return {"CONTAINERS_CONF": str(_SETTINGS), "CONTAINERS_STORAGE_CONF": str(_STORAGE_SETTINGS)}


def command(*args: str | Path) -> list[str]:
    """A podman command line with the lab's own directories."""
    own = {
        "--root": SYSTEM / "storage",
        "--runroot": RUNTIME / "run",
        "--tmpdir": RUNTIME / "tmp",
        "--network-config-dir": SYSTEM / "networks",
        # Said outright: else podman 4.3 notes no driver, and its clean-up after a container that ends refuses to run.
        "--storage-driver": "overlay",
    }
    return ["podman", *(f"{flag}={path}" for flag, path in own.items()), *map(str, args)]


def podman(*args: str | Path, stdin: str | None = None, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run podman as root; a failure becomes an error."""
    return machine.run(command(*args), root=True, stdin=stdin, env=_prepare(), check=check)


def environment() -> dict[str, str]:
    """What a podman that is started by other means than `podman()` needs in its environment."""
    return _prepare()


def _listing(*args: str) -> list[dict[str, Any]]:
    done = podman(*args, "--format=json")
    return json.loads(done.stdout or "[]") or []


def containers(lab: str | None = None) -> list[dict[str, Any]]:
    """All containers of a lab, or of all labs, running or not."""
    wanted = LABEL if lab is None else f"{LABEL}={lab}"
    return _listing("ps", "--all", f"--filter=label={wanted}")


def networks(lab: str | None = None) -> list[dict[str, Any]]:
    """All networks of a lab, or of all labs."""
    wanted = LABEL if lab is None else f"{LABEL}={lab}"
    return _listing("network", "ls", f"--filter=label={wanted}")


def volumes(lab: str | None = None) -> list[dict[str, Any]]:
    """All volumes of a lab, or of all labs."""
    wanted = LABEL if lab is None else f"{LABEL}={lab}"
    return _listing("volume", "ls", f"--filter=label={wanted}")


def image_exists(reference: str) -> bool:
    """Whether the lab's storage has this image."""
    return podman("image", "exists", reference, check=False).returncode == 0
