"""Can this machine be a node at all: system, memory, disk, clock, swap, cgroups."""

from __future__ import annotations

import datetime
from typing import Optional

from .model import Finding, HostState, check
from .versions import at_least, version_tuple

GIB_IN_KIB = 1024 * 1024
GB = 1000**3
MIN_FREE_BYTES = 5 * GB
MAX_CLOCK_SKEW_S = 30
# Certificates that we and others make today are not valid before this year.
EARLIEST_YEAR = 2025

# Systems that edgectl is made for; the same families in other versions get a warning.
SUPPORTED_SYSTEMS = {
    "debian": ("12", "13"),
    "ubuntu": ("20.04", "22.04", "24.04"),
}
SUPPORTED_ARCHITECTURES = ("x86_64", "aarch64")

# NVIDIA's Jetson Linux releases: R32 and R34 have a 4.9 / preview 5.10 kernel with cgroup v1 and an old glibc.
REFUSED_L4T = (32, 34)
# Tested from here on; everything between is expected to work.
SUPPORTED_L4T = ((36, 4), (39, 2))


@check(layer="machine", id="M-OS-UNSUPPORTED")
def system_is_supported(host: HostState) -> Optional[Finding]:
    system = host.os
    if not system or system.version_id in SUPPORTED_SYSTEMS.get(system.id, ()):
        return None
    known = "Debian 12 or 13, Ubuntu 22.04 or 24.04, JetPack 5.1 or newer"
    family = [system.id, *(system.id_like or [])]
    uses_apt = "debian" in family or "ubuntu" in family
    return Finding(
        what=f"{system.name or system.id} is not among the systems that edgectl knows",
        evidence=f"/etc/os-release: ID={system.id} VERSION_ID={system.version_id}",
        fix=f"use {known}",
        severity="warning" if uses_apt else "error",
    )


@check(layer="machine", id="M-ARCH-UNSUPPORTED")
def architecture_is_supported(host: HostState) -> Optional[Finding]:
    arch = host.kernel.arch
    if arch is None or arch in SUPPORTED_ARCHITECTURES:
        return None
    return Finding(
        what=f"the architecture {arch} is not supported",
        evidence=f"uname -m: {arch}",
        fix="install a 64-bit system (x86_64 or aarch64)",
    )


@check(layer="machine", id="M-JETPACK-UNSUPPORTED")
def jetpack_is_supported(host: HostState) -> Optional[Finding]:
    if not host.jetson:
        return None
    l4t = host.jetson.l4t
    if l4t is None:
        return Finding(
            what="this Jetson does not say which JetPack it runs",
            evidence="/etc/nv_tegra_release is missing or unreadable",
            fix="sudo apt install --reinstall nvidia-l4t-core",
            severity="warning",
        )
    release = version_tuple(l4t)
    named = f"JetPack {host.jetson.jetpack} (L4T {l4t})" if host.jetson.jetpack else f"L4T {l4t}"
    evidence = f"/etc/nv_tegra_release: R{l4t}"
    if release[0] <= REFUSED_L4T[0] or release[0] in REFUSED_L4T:
        return Finding(
            what=f"{named} is too old for Kubernetes",
            evidence=evidence,
            fix="flash JetPack 6.2 or newer (Orin), or JetPack 5.1.2 or newer (Xavier), with NVIDIA's SDK Manager",
        )
    if any(release[0] == supported[0] and release >= supported for supported in SUPPORTED_L4T):
        return None
    return Finding(
        what=f"{named} is expected to work, but not tested",
        evidence=evidence,
        fix="JetPack 6.1 or newer, or 7.2, is the tested ground",
        severity="warning",
    )


@check(layer="machine", id="M-PYTHON-OLD")
def python_is_recent(host: HostState) -> Optional[Finding]:
    if not host.os.python or at_least(host.os.python, "3.8"):
        return None
    return Finding(
        what=f"Python {host.os.python} is too old",
        evidence="Ansible's modules need Python 3.8 or newer on the host",
        fix=f"set ansible_python_interpreter for {host.name} to a newer Python",
    )


@check(layer="machine", id="M-DISK-FULL", nodes_only=True)
def disk_has_room(host: HostState) -> Optional[Finding]:
    disk = next((disk for disk in host.list("disks") if disk.path == "/var/lib"), None)
    if disk is None or disk.free_bytes >= MIN_FREE_BYTES:
        return None
    # A node that runs already has its images; it must not be refused for using its own disk. Where images are on
    # another disk, what pods write by themselves and their logs are still here.
    elsewhere = host.kubernetes.role is not None or bool(host.option("machine_data_directory"))
    return Finding(
        what="the disk has too little room for images and pods",
        evidence=f"/var/lib ({disk.device}): {disk.free_bytes / GB:.1f} GB free, {MIN_FREE_BYTES / GB:.0f} GB needed",
        fix="make room: sudo apt clean; sudo journalctl --vacuum-size=200M; or put images on another disk: "
        "machine_data_directory",
        severity="warning" if elsewhere else "error",
    )


@check(layer="machine", id="M-DISK-SLOW", nodes_only=True)
def datastore_has_a_fast_disk(host: HostState) -> Optional[Finding]:
    """etcd waits for the disk at each write, and loses its leader where that takes long (etcd.io, "Hardware").

    docs.k3s.io, "High Availability Embedded etcd", names SD cards and eMMC, which wear out under it as well.
    """
    disk = next((disk for disk in host.list("disks") if disk.path == "/var/lib"), None)
    card = disk is not None and str(disk.device).startswith("/dev/mmcblk")
    if disk is None or not host.is_control_plane or not (card or disk.rotational):
        return None
    # A lone k3s server has SQLite, which asks less.
    if host.option("cluster_distribution") == "k3s" and not any(other.is_control_plane for other in host.others):
        return None
    return Finding(
        what="etcd would be on an SD card or eMMC" if card else "etcd would be on a rotating disk",
        evidence=f"/var/lib is on {disk.device}"
        + ("" if card else ", which turns (/sys/class/block, queue/rotational)"),
        fix=f"put /var/lib on an SSD or NVMe disk, or make another host the control plane instead of {host.name}",
        severity="warning",
    )


@check(layer="machine", id="M-MEMORY-LOW", nodes_only=True)
def memory_suffices(host: HostState) -> Optional[Finding]:
    total = host.memory.total_kib
    if total is None or total >= 1.5 * GIB_IN_KIB:
        return None
    return Finding(
        what="the machine has too little memory" if total < GIB_IN_KIB else "the machine has little memory",
        evidence=f"MemTotal: {total / GIB_IN_KIB:.2f} GiB",
        fix="a worker wants 1.5 GiB, a control plane 2 GiB",
        severity="error" if total < GIB_IN_KIB else "warning",
    )


@check(layer="machine", id="M-CLOCK-WRONG")
def clock_shows_this_age(host: HostState) -> Optional[Finding]:
    now = host.clock.now
    if now is None:
        return None
    shown = datetime.datetime.fromtimestamp(now, datetime.timezone.utc)
    if shown.year >= EARLIEST_YEAR:
        return None
    return Finding(
        what="the clock is years behind; no certificate would be valid",
        evidence=f"the host says {shown:%Y-%m-%d %H:%M} UTC",
        fix="sudo timedatectl set-ntp true   (or: sudo date -u -s '2026-01-31 12:00')",
    )


@check(layer="machine", id="M-CLOCK-SKEW")
def clock_agrees_with_others(host: HostState) -> Optional[Finding]:
    now, reference = host.clock.now, host.reference_time
    if now is None or reference is None or abs(now - reference) <= MAX_CLOCK_SKEW_S:
        return None
    direction = "ahead of" if now > reference else "behind"
    return Finding(
        what=f"the clock is {abs(now - reference):.0f} s {direction} the other machines'",
        evidence=f"allowed are {MAX_CLOCK_SKEW_S} s; certificates and tokens fail with more",
        fix="sudo timedatectl set-ntp true && timedatectl timesync-status",
    )


@check(layer="machine", id="M-CLOCK-UNSYNCHRONISED")
def clock_is_kept_right(host: HostState) -> Optional[Finding]:
    """Only a warning: role machine installs a time service and waits for it before any certificate is made."""
    if host.clock.synchronized is not False or host.option("machine_time_sync") == "ignore":
        return None
    return Finding(
        what="the clock is not synchronised",
        evidence="NTPSynchronized=no",
        fix="sudo timedatectl set-ntp true   (or set machine_time_sync: ignore)",
        severity="warning",
    )


def swap_goes_off(host: HostState) -> bool:
    """What role machine does with swap here; `auto` keeps it where cgroup v2 can hold kubelet's pods off it."""
    policy = host.option("machine_swap", "auto")
    return policy == "off" or (policy == "auto" and host.cgroup.version == 1)


@check(layer="machine", id="M-SWAP-LAB", nodes_only=True)
def lab_leaves_swap_alone(host: HostState) -> Optional[Finding]:
    """A lab node shares the kernel: swapoff there is swapoff on the user's own machine."""
    if not host.is_lab or not swap_goes_off(host) or not host.list("swap"):
        return None
    return Finding(
        what="bootstrapping this lab node would switch off the swap of the machine under it",
        evidence=f"swap: {', '.join(entry.device for entry in host.list('swap'))}",
        fix="set machine_swap: keep in the lab's inventory",
    )


@check(layer="machine", id="M-SWAP-ZRAM", nodes_only=True)
def zram_is_meant(host: HostState) -> Optional[Finding]:
    zram = [entry.device for entry in host.list("swap") if entry.zram]
    if not zram or not swap_goes_off(host) or host.is_lab:
        return None
    count = "1 zram device" if len(zram) == 1 else f"{len(zram)} zram devices"
    return Finding(
        what="compressed swap in memory (zram) will be switched off, now and at boot",
        evidence=f"{count}, as JetPack's nvzramconfig.service sets up; machine_swap: {host.option('machine_swap')}",
        fix="go on, or set machine_swap: keep to leave it: it takes no pod's memory and wears out no disk",
        severity="warning",
    )


@check(layer="machine", id="M-APT-LOCKED")
def apt_is_free(host: HostState) -> Optional[Finding]:
    holder = host.apt.lock_holder
    if not holder:
        return None
    return Finding(
        what="another program is installing packages; edgectl will wait for it",
        evidence=f"apt's lock is held by process {holder.pid}: {holder.command}",
        fix=f"wait, or see what it does: ps -fp {holder.pid}",
        severity="warning",
    )


@check(layer="machine", id="M-REBOOT-REQUIRED")
def no_reboot_is_due(host: HostState) -> Optional[Finding]:
    if not host.reboot.required:
        return None
    wanted_by = ", ".join(host.reboot.packages or []) or "an update"
    return Finding(
        what="the machine waits for a reboot",
        evidence=f"/run/reboot-required, asked for by {wanted_by}",
        fix="sudo reboot   (before bootstrap, so that the new kernel's modules are there)",
        severity="warning",
    )


@check(layer="machine", id="M-CGROUP-MEMORY", nodes_only=True)
def memory_controller_is_on(host: HostState) -> Optional[Finding]:
    """Raspberry Pi OS and some boards boot with `cgroup_disable=memory`; kubelet cannot start then."""
    controllers = host.cgroup.controllers
    if not controllers or "memory" in controllers:
        return None
    where = "/boot/extlinux/extlinux.conf (APPEND)" if host.jetson else "/boot/firmware/cmdline.txt"
    return Finding(
        what="the kernel runs without the memory cgroup, which kubelet needs",
        evidence=f"cgroup controllers: {', '.join(controllers)}",
        fix=f"add `cgroup_enable=memory cgroup_memory=1` to the kernel's line in {where}, then: sudo reboot",
    )


@check(layer="machine", id="M-CGROUP-V1", nodes_only=True)
def kubelet_accepts_cgroup_version(host: HostState) -> Optional[Finding]:
    """From 1.35 on kubelet's `failCgroupV1` is true unless it is set (KEP-5573)."""
    if host.cgroup.version != 1 or not at_least(str(host.option("cluster_version", "0")), "1.35"):
        return None
    option = "k3s_kubelet_config" if host.option("cluster_distribution") == "k3s" else "kubeadm_kubelet_config"
    if (host.option(option) or {}).get("failCgroupV1") is False:
        return None
    return Finding(
        what=f"Kubernetes {host.option('cluster_version')} does not start on cgroup v1",
        evidence="/sys/fs/cgroup is a version 1 hierarchy",
        fix="add `systemd.unified_cgroup_hierarchy=1` to the kernel's command line and reboot, "
        f"or set {option}: {{failCgroupV1: false}}",
    )
