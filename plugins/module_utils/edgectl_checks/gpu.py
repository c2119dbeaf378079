"""Can pods use the GPU of this host, in the way that is asked for?"""

from __future__ import annotations

from typing import Any, Optional

from .model import Finding, HostState, check

# What the smallest useful workload of a share needs beside the others, where GPU and processor use the same memory.
GIB_OF_A_SHARE = 2


def _wanted(host: HostState) -> bool:
    return host.switch("cluster_gpu", True)


def _sharing(host: HostState) -> dict[str, Any]:
    given = host.option("device_plugin_sharing", {})
    return given if isinstance(given, dict) else {}


def _replicas(sharing: dict[str, Any]) -> int:
    try:
        return int(sharing.get("replicas") or 0)
    except (TypeError, ValueError):
        return 0


@check(layer="gpu", id="G-L4T-HALF", nodes_only=True)
def jetson_is_not_half_upgraded(host: HostState) -> Optional[Finding]:
    """The release file is one package's, the driver another's; an upgrade that stopped leaves them apart."""
    release, core = host.jetson.l4t, host.packages["nvidia-l4t-core"]
    if not _wanted(host) or not release or not core or core.startswith((release + "-", release + ".")):
        return None
    return Finding(
        what="this Jetson was upgraded by half: its release and its driver are not of one version",
        evidence=f"/etc/nv_tegra_release: {release}; package nvidia-l4t-core: {core}",
        fix="on the board: sudo apt update && sudo apt full-upgrade && sudo reboot",
    )


@check(layer="gpu", id="G-SHARING-IMPOSSIBLE", nodes_only=True)
def sharing_is_possible_on_a_jetson(host: HostState) -> Optional[Finding]:
    mode = _sharing(host).get("mode")
    if not _wanted(host) or not host.jetson or mode not in ("mps", "mig"):
        return None
    return Finding(
        what=f"a Jetson's GPU can't be shared by {mode}",
        evidence=f"device_plugin_sharing.mode: {mode}; NVIDIA's device plugin does it for discrete GPUs only",
        fix="device_plugin_sharing: {mode: time-slicing, replicas: 2}",
    )


@check(layer="gpu", id="G-SHARING-REPLICAS", nodes_only=True)
def replicas_fit_the_way_of_sharing(host: HostState) -> Optional[Finding]:
    """The device plugin ends at once with `replicas: 1`."""
    sharing = _sharing(host)
    mode = sharing.get("mode") or "none"
    shared = mode in ("time-slicing", "mps")
    if shared and _replicas(sharing) < 2:
        return Finding(
            what=f"{mode} needs 2 replicas or more",
            evidence=f"device_plugin_sharing.replicas: {sharing.get('replicas')}",
            fix=f"device_plugin_sharing: {{mode: {mode}, replicas: 2}}, or {{mode: none}} for one pod a GPU",
        )
    if not shared and sharing.get("replicas") is not None:
        return Finding(
            what=f"replicas say nothing where a GPU is shared by {mode}",
            evidence=f"device_plugin_sharing: mode {mode}, replicas {sharing['replicas']}",
            fix="device_plugin_sharing: {mode: time-slicing, replicas: 2}, or leave replicas out",
        )
    return None


@check(layer="gpu", id="G-SHARING-MEMORY", nodes_only=True)
def shares_fit_in_memory(host: HostState) -> Optional[Finding]:
    """A share is a turn, not a part of the memory, which a Jetson's GPU takes from the board's own."""
    sharing, total = _sharing(host), host.memory.total_kib
    replicas = _replicas(sharing)
    if not _wanted(host) or not host.jetson or not total or sharing.get("mode") != "time-slicing":
        return None
    if replicas * GIB_OF_A_SHARE * 1024**2 <= total:
        return None
    return Finding(
        what=f"{replicas} pods at a time are many for this board's memory, which its GPU shares",
        evidence=f"{total / 1024**2:.1f} GiB for {replicas} replicas; time-slicing divides time, not memory",
        fix=f"device_plugin_sharing: {{mode: time-slicing, replicas: {max(2, total // (GIB_OF_A_SHARE * 1024**2))}}}",
        severity="warning",
    )


@check(layer="gpu", id="G-DRIVER-MISSING", nodes_only=True)
def discrete_gpu_has_its_driver(host: HostState) -> Optional[Finding]:
    idle = [gpu.bus for gpu in host.list("gpus") if gpu.kind == "pci" and not gpu.driver]
    if not _wanted(host) or not idle:
        return None
    ubuntu = host.os.id == "ubuntu"
    return Finding(
        what="no driver runs this host's NVIDIA GPU",
        evidence=f"PCI {', '.join(idle)}: nothing in /proc/driver/nvidia/gpus",
        fix=(
            "sudo ubuntu-drivers install --gpgpu && sudo reboot"
            if ubuntu
            else "sudo apt install nvidia-driver (Debian: contrib, non-free and non-free-firmware) && sudo reboot"
        )
        + "; or leave the GPU alone: cluster_gpu: false for this host",
    )
