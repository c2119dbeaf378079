"""Can pods use the GPU of this host, in the way that is asked for?"""

from __future__ import annotations

from typing import Any, Optional

from edgectl_gpu_sharing import impossible_on_a_jetson, misnumbered, number, without_its_daemon

from .model import Facts, Finding, HostState, check

# What the smallest useful workload of a share needs beside the others, where GPU and processor use the same memory.
GIB_OF_A_SHARE = 2

# The oldest driver that runs programs of a CUDA release, both by their first number.
# (docs.nvidia.com/deploy/cuda-compatibility, minor version compatibility, 2026-08; edgectl/compat has the same.)
OLDEST_DRIVER = {"13": "580", "12": "525", "11": "450"}


def runs_cuda(driver: str, cuda: str) -> bool:
    """Whether a driver (`535.261.03`) runs programs of a CUDA release (`12`); "" asks for none in particular."""
    oldest = OLDEST_DRIVER.get(cuda.partition(".")[0])
    return oldest is None or int(driver.partition(".")[0]) >= int(oldest)


def _wanted(host: HostState) -> bool:
    return host.switch("cluster_gpu", True)


def _sharing(host: HostState) -> dict[str, Any]:
    given = host.option("device_plugin_sharing", {})
    return given if isinstance(given, dict) else {}


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
    mistake = impossible_on_a_jetson(_sharing(host)) if _wanted(host) and host.jetson else None
    return Finding(*mistake) if mistake else None


@check(layer="gpu", id="G-SHARING-REPLICAS", nodes_only=True)
def replicas_fit_the_way_of_sharing(host: HostState) -> Optional[Finding]:
    mistake = misnumbered(_sharing(host))
    return Finding(*mistake) if mistake else None


@check(layer="gpu", id="G-SHARING-MPS", nodes_only=True)
def mps_has_its_daemon(host: HostState) -> Optional[Finding]:
    if not _cards(host):
        return None
    mistake = without_its_daemon(_sharing(host), str(host.option("device_plugin_install", "manifests")))
    return Finding(*mistake) if mistake else None


@check(layer="gpu", id="G-SHARING-MEMORY", nodes_only=True)
def shares_fit_in_memory(host: HostState) -> Optional[Finding]:
    """A share is a turn, not a part of the memory, which a Jetson's GPU takes from the board's own."""
    sharing, total = _sharing(host), host.memory.total_kib
    replicas = number(sharing)
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


def _cards(host: HostState) -> list[Facts]:
    """NVIDIA's GPUs on the PCI bus that this host itself may use; a Jetson's slot is left to its owner."""
    if not _wanted(host) or host.jetson:
        return []
    return [gpu for gpu in host.list("gpus") if gpu.kind == "pci" and gpu.kernel_driver != "vfio-pci"]


def _idle(host: HostState) -> list[str]:
    return [gpu.bus for gpu in _cards(host) if not gpu.driver]


def _installs(host: HostState) -> bool:
    """Whether role nvidia_driver would bring a driver: where there is none at all, and it knows the distribution."""
    driver = host.nvidia_driver
    return (
        host.option("nvidia_driver_install", "auto") == "auto"
        and host.os.id in ("debian", "ubuntu")
        and not driver.loaded
        and not driver.libraries
    )


@check(layer="gpu", id="G-GPU-PASSED-THROUGH", nodes_only=True)
def gpu_is_not_given_to_virtual_machines(host: HostState) -> Optional[Finding]:
    cards = [gpu for gpu in host.list("gpus") if gpu.kind == "pci"]
    if not _wanted(host) or host.jetson or not cards or _cards(host):
        return None
    return Finding(
        what="this host's NVIDIA GPU is given to virtual machines",
        evidence=f"PCI {', '.join(gpu.bus for gpu in cards)}: driver vfio-pci",
        fix="leave the GPU alone: cluster_gpu: false for this host; or bind the GPU to no vfio-pci, and reboot",
    )


@check(layer="gpu", id="G-TAINT-EVERYWHERE", nodes_only=True)
def some_node_is_for_pods_without_a_gpu(host: HostState) -> Optional[Finding]:
    """CoreDNS tolerates a control plane's taint, and not this one. A node that this run leaves out may be one.

    It is told once, to the first control plane.
    """
    nodes = [one for one in [host, *host.others] if one.is_node]
    first = min((one.name for one in nodes if one.is_control_plane), default="")
    if host.name != first or not all(map(_tainted, nodes)):
        return None
    return Finding(
        what="no node is left for pods that want no GPU, such as CoreDNS",
        evidence=f"device_plugin_taint: true, and a GPU, on {', '.join(sorted(one.name for one in nodes))}",
        fix=f"device_plugin_taint: false for one of them, such as {host.name}",
    )


def _tainted(host: HostState) -> bool:
    return bool(host.jetson or _cards(host)) and _wanted(host) and host.switch("device_plugin_taint", False)


@check(layer="gpu", id="G-DRIVER-MISSING", nodes_only=True)
def discrete_gpu_has_its_driver(host: HostState) -> Optional[Finding]:
    """Where nobody else's driver is in the way, role nvidia_driver installs one."""
    idle = _idle(host)
    if not idle or host.nvidia_driver.loaded or host.nvidia_driver.libraries or _installs(host):
        return None
    ubuntu = host.os.id == "ubuntu"
    ours = "nvidia_driver_install: auto, or " if host.os.id in ("debian", "ubuntu") else ""
    return Finding(
        what="no driver runs this host's NVIDIA GPU",
        evidence=f"PCI {', '.join(idle)}: nothing in /proc/driver/nvidia/gpus",
        fix=ours
        + (
            "sudo ubuntu-drivers install --gpgpu && sudo reboot"
            if ubuntu
            else "sudo apt install nvidia-driver (Debian: contrib, non-free and non-free-firmware) && sudo reboot"
        )
        + "; or leave the GPU alone: cluster_gpu: false for this host",
    )


@check(layer="gpu", id="G-DRIVER-NOT-BUILT", nodes_only=True)
def driver_has_a_module_for_this_kernel(host: HostState) -> Optional[Finding]:
    """A kernel upgrade without the new kernel's headers leaves DKMS with nothing to build from."""
    driver, release = host.nvidia_driver, host.kernel.release
    if not _idle(host) or driver.loaded or not driver.libraries or driver.available is not False:
        return None
    return Finding(
        what="NVIDIA's driver is installed, and has no module for the kernel that runs",
        evidence=f"libraries {', '.join(driver.libraries)}; no nvidia.ko in /lib/modules/{release}",
        fix=f"sudo apt install linux-headers-{release} && sudo dkms autoinstall; or boot the kernel it was built for",
    )


@check(layer="gpu", id="G-DRIVER-MISMATCH", nodes_only=True)
def driver_and_its_libraries_are_of_one_version(host: HostState) -> Optional[Finding]:
    """NVML's `Driver/library version mismatch`: packages were upgraded, the old module still runs."""
    driver = host.nvidia_driver
    if not _cards(host) or not driver.loaded or not driver.libraries or driver.loaded in driver.libraries:
        return None
    rebooted = host.option("machine_reboot", "report") == "allow"
    return Finding(
        what="NVIDIA's driver was upgraded and the old one still runs, so no program can use the GPU",
        evidence=f"kernel module {driver.loaded}, libraries {', '.join(driver.libraries)}",
        fix="this run reboots the host (machine_reboot: allow)" if rebooted else "sudo reboot",
        severity="warning" if rebooted else "error",
    )


@check(layer="gpu", id="G-DRIVER-OLD", nodes_only=True)
def driver_is_new_enough_for_cuda(host: HostState) -> Optional[Finding]:
    cuda, driver = str(host.option("nvidia_driver_cuda", "")), host.nvidia_driver
    if not _cards(host) or not driver.loaded or runs_cuda(driver.loaded, cuda):
        return None
    return Finding(
        what=f"the driver of this host's GPU is too old for CUDA {cuda}",
        evidence=f"driver {driver.loaded}; CUDA {cuda} needs {OLDEST_DRIVER.get(cuda)} or newer (nvidia_driver_cuda)",
        fix="install a newer driver and reboot (a driver that is there is never replaced by edgectl), "
        "or lower nvidia_driver_cuda",
    )


@check(layer="gpu", id="G-SECURE-BOOT", nodes_only=True)
def secure_boot_takes_the_module(host: HostState) -> Optional[Finding]:
    """Debian's driver is built on the host. Ubuntu has modules that it signed itself."""
    driver = host.nvidia_driver
    if not _idle(host) or not _installs(host) or not driver.secure_boot or host.os.id != "debian" or driver.dkms_key:
        return None
    return Finding(
        what="Secure Boot is on, and would refuse the driver's module, which is built on this host",
        evidence="efivars: SecureBoot is 1; DKMS has no key yet (/var/lib/dkms/mok.pub)",
        fix="switch Secure Boot off in the firmware's setup; or make a key and enrol it, at the host's own screen:\n"
        "sudo apt install dkms && sudo dkms generate_mok && sudo mokutil --import /var/lib/dkms/mok.pub && sudo reboot",
    )


@check(layer="gpu", id="G-NOUVEAU", nodes_only=True)
def nouveau_leaves_the_gpu(host: HostState) -> Optional[Finding]:
    held = [gpu.bus for gpu in _cards(host) if gpu.kernel_driver == "nouveau"]
    if not held or host.option("machine_reboot", "report") == "allow":
        return None
    return Finding(
        what="nouveau runs this host's NVIDIA GPU, and leaves it with a reboot only",
        evidence=f"PCI {', '.join(held)}: driver nouveau",
        fix="machine_reboot: allow lets edgectl reboot this host; otherwise the run stops here for your own "
        "sudo reboot",
        severity="warning",
    )
