"""The machine under the lab: running commands on it (as root where needed) and reading what it can do."""

from __future__ import annotations

import os
import platform
import resource
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from edgectl.errors import EdgectlError

CAP_SYS_RESOURCE = 24
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}

# Commands the lab calls, and the package that brings each on Debian and Ubuntu.
NEEDED_COMMANDS = {
    "podman": "podman",
    "runc": "runc",
    "mmdebstrap": "mmdebstrap",
    "ip": "iproute2",
    "iptables": "iptables",
    "ssh": "openssh-client",
    "ssh-keygen": "openssh-client",
    "gcc": "gcc",
    "g++": "g++",
    "gpg": "gnupg",
}
# Found outside PATH.
NEEDED_FILES = {
    "netavark": ("/usr/lib/podman/netavark", "/usr/libexec/podman/netavark"),
    "libc6-dev": ("/usr/include/stdio.h",),
    "debian-archive-keyring": ("/usr/share/keyrings/debian-archive-keyring.gpg",),
}


@dataclass(frozen=True)
class Traits:
    """What decides how the nodes are started and what the inventory must set."""

    cgroup_version: int
    can_raise_limits: bool
    max_open_files: int
    max_processes: int


def run(
    command: Sequence[str | Path],
    *,
    root: bool = False,
    stdin: str | None = None,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    output: IO[str] | None = None,
    check: bool = True,
) -> subprocess.CompletedProcess[str]:
    """Run a command; a failure becomes an error that ends with the last lines the command wrote.

    root: through sudo when the caller is not root. env: added to the environment, through sudo too.
    output: a file for stdout and stderr together, instead of keeping them.
    """
    words = [str(word) for word in command]
    name = Path(words[0]).name
    if root and os.geteuid() != 0:
        words = ["sudo", "--", "env", *(f"{key}={value}" for key, value in (env or {}).items()), *words]
    try:
        done = subprocess.run(
            words,
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            stdout=output or subprocess.PIPE,
            stderr=subprocess.STDOUT if output else subprocess.PIPE,
            text=True,
            env={**os.environ, **(env or {})},
            cwd=cwd,
        )
    except (FileNotFoundError, PermissionError) as error:
        if words[0] == "sudo":
            raise EdgectlError("the lab needs root", "this user is not root, and there is no sudo") from error
        raise EdgectlError(f"{words[0]} is not installed", str(error), "edgectl lab setup") from error
    if check and done.returncode != 0:
        said = (done.stderr or done.stdout or "").strip().splitlines()[-5:]
        shown = " ".join(words[:6]) + (" ..." if len(words) > 6 else "")
        log = Path(output.name) if output else None
        raise EdgectlError(f"{name} failed (exit code {done.returncode})", "\n       ".join([shown, *said]), log=log)
    return done


def write_as_root(path: Path, text: str) -> None:
    """Write a file that belongs to root; nothing happens when it already says that."""
    try:
        if path.read_text() == text:
            return
    except OSError:
        pass
    run(["install", "-d", "-m", "0755", path.parent], root=True)
    run(["tee", path], root=True, stdin=text)


def missing_packages() -> list[str]:
    """Debian's names of the packages that the lab needs and this machine lacks."""
    missing = {package for command, package in NEEDED_COMMANDS.items() if _which(command) is None}
    missing |= {package for package, files in NEEDED_FILES.items() if not any(Path(file).exists() for file in files)}
    return sorted(missing)


def _which(command: str) -> str | None:
    # A user's PATH often lacks the directories of root's commands.
    return shutil.which(command, path=os.environ.get("PATH", "") + ":/usr/local/sbin:/usr/sbin:/sbin")


def architecture() -> str:
    """Go's and Debian's name of this machine's architecture, which is the nodes' too."""
    try:
        return _ARCHITECTURES[platform.machine()]
    except KeyError:
        raise EdgectlError(f"there is no lab for {platform.machine()}", "known are x86_64 and aarch64") from None


def traits() -> Traits:
    """Read this machine's traits."""
    _, files = resource.getrlimit(resource.RLIMIT_NOFILE)
    _, processes = resource.getrlimit(resource.RLIMIT_NPROC)
    return Traits(
        cgroup_version=2 if Path("/sys/fs/cgroup/cgroup.controllers").exists() else 1,
        can_raise_limits=_bounding_capability(Path("/proc/self/status").read_text(), CAP_SYS_RESOURCE),
        max_open_files=_limit(files, 1048576),
        # podman 4.3 cannot pass on a higher one without CAP_SYS_RESOURCE, and no lab needs it.
        max_processes=_limit(processes, 32768),
    )


def _limit(value: int, most: int) -> int:
    return most if value == resource.RLIM_INFINITY else min(value, most)


def _bounding_capability(status: str, number: int) -> bool:
    """Whether root can have a capability here: looked up in the bounding set of /proc/self/status."""
    for line in status.splitlines():
        if line.startswith("CapBnd:"):
            return bool(int(line.split()[1], 16) >> number & 1)
    return False


def inotify_instances_left() -> int | None:
    """How many inotify instances root may still open, None when that cannot be told.

    Every node's systemd and container runtime hold some twenty; all count as root's, on all nodes together.
    """
    try:
        limit = int(Path("/proc/sys/fs/inotify/max_user_instances").read_text())
    except (OSError, ValueError):
        return None
    script = "find /proc -mindepth 3 -maxdepth 3 -user root -path '/proc/[0-9]*/fd/*' -lname anon_inode:inotify | wc -l"
    counted = run(["sh", "-c", script], root=True, check=False).stdout.strip()
    return limit - int(counted) if counted.isdigit() else None
