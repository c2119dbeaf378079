"""Prepares this machine for a lab: packages, and the two kernel modules that nodes cannot load themselves."""

from __future__ import annotations

from pathlib import Path

from edgectl.errors import EdgectlError
from edgectl.lab import footprint, machine
from edgectl.lab.progress import Progress

# Module -> a path that exists once it is there, built in or loaded.
MODULES = {"br_netfilter": Path("/proc/sys/net/bridge"), "tun": Path("/dev/net/tun")}
_FAMILIES = ("debian", "ubuntu")


def install(progress: Progress) -> None:
    """Install and load what is missing; on a prepared machine nothing happens and nobody is asked for a password."""
    packages = machine.missing_packages()
    if packages:
        _refuse_other_systems(packages)
        with progress.phase(f"install {' '.join(packages)}"):
            apt = ["apt-get", "-o", "DPkg::Lock::Timeout=600"]
            quiet = {"DEBIAN_FRONTEND": "noninteractive"}
            machine.run([*apt, "update"], root=True, env=quiet)
            machine.run([*apt, "install", "--yes", "--no-install-recommends", *packages], root=True, env=quiet)
    for module in missing_modules():
        footprint.note()
        machine.run(["modprobe", module], root=True)
        footprint.note_module(module)
        progress.line(f"loaded the kernel module {module}; `edgectl lab down` of the last lab unloads it")


def missing_modules() -> list[str]:
    """Kernel modules that a lab needs and that are neither built in nor loaded."""
    return [module for module, sign in MODULES.items() if not sign.exists()]


def _refuse_other_systems(packages: list[str]) -> None:
    release = Path("/etc/os-release").read_text()
    if not any(f"ID={family}\n" in release for family in _FAMILIES):
        raise EdgectlError(
            "this machine runs neither Debian nor Ubuntu",
            f"the lab needs what these call {', '.join(packages)}",
            "install them by hand, then edgectl lab up",
        )


def require() -> None:
    """Refuse a machine that cannot run a lab yet."""
    lacking = [*machine.missing_packages(), *(f"the kernel module {module}" for module in missing_modules())]
    if lacking:
        raise EdgectlError(f"this machine lacks {', '.join(lacking)}", "a lab needs them", "edgectl lab setup")
