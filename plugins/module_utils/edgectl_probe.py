"""Read the whole state of a host and print it as one JSON document (schema_version 1).

One file (and edgectl_evidence.py for what receipts ask, edgectl_k3s_found.py for a k3s that is there already), standard
library only, Python 3.8 upwards, read-only: the module `edgectl_facts` imports it, and the CLI pipes it to `python3 -`
over SSH. What can't be read is null; the reason is a line in `errors`.

Everything is read below an injectable root, and the commands are a fixed list whose output may be recorded in
`<root>/.commands/<name>`, so that a tree taken from a real machine is a test. What neither a file nor a command tells
(the time, the size of a disk) may stand in `<root>/.commands/measured`. On a node of the lab (marked by
/etc/edgectl-lab) a file below /etc/edgectl-lab.d/root wins over the real one: that is how a container shows
the device tree and the kernel options of a Jetson.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import os
import re
import struct
import subprocess
import sys
import time

try:
    from edgectl_evidence import STAMP  # piped: the CLI has put them in front
    from edgectl_evidence import receipts as measured_receipts
    from edgectl_k3s_found import options as options_of_k3s
except ImportError:
    from ansible.module_utils.edgectl_evidence import STAMP
    from ansible.module_utils.edgectl_evidence import receipts as measured_receipts
    from ansible.module_utils.edgectl_k3s_found import options as options_of_k3s

TYPE_CHECKING = False  # `typing` costs 10 ms on a Jetson and is needed by readers only
if TYPE_CHECKING:
    from typing import Any, Callable

SCHEMA_VERSION = 1
# For all commands together: generous, because roles decide from these facts, also on a host that is very busy.
COMMAND_TIMEOUT_S = 15.0
SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

PACKAGES = (
    "containerd", "containerd.io", "docker-ce", "docker.io", "podman", "runc", "cri-o", "kubelet", "kubeadm",
    "kubectl", "kubernetes-cni", "cri-tools", "containernetworking-plugins", "wireguard-tools", "wireguard-go",
    "haproxy", "iptables", "nftables", "ipset", "conntrack", "ethtool", "socat", "ufw", "firewalld",
    "systemd-timesyncd", "chrony", "ntp", "ntpsec", "nvidia-l4t-core", "nvidia-jetpack", "nvidia-container",
    "nvidia-l4t-kernel", "nvidia-l4t-cuda", "nvidia-container-toolkit", "nvidia-container-toolkit-base",
    "libnvidia-container1", "nvidia-container-runtime", "nvidia-docker2", "sudo", "python3", "openssh-server",
)  # fmt: skip

UNITS = (
    "containerd", "docker", "kubelet", "k3s", "k3s-agent", "haproxy", "crio", "systemd-timesyncd", "chrony",
    "chronyd", "ntp", "ntpsec", "ntpd", "nvzramconfig", "ufw", "firewalld", "nftables", "unattended-upgrades",
    "NetworkManager", "systemd-networkd", "systemd-resolved", "nvpmodel", "nvidia-persistenced", "wg-quick@*",
    "edgectl-*",
)  # fmt: skip

CONFIG_OF_MODULE = {
    "wireguard": "CONFIG_WIREGUARD",
    "br_netfilter": "CONFIG_BRIDGE_NETFILTER",
    "overlay": "CONFIG_OVERLAY_FS",
    "vxlan": "CONFIG_VXLAN",
}

# Options that decide which network stack, runtime and cgroup features a kernel can carry.
KERNEL_OPTIONS = (
    "WIREGUARD", "TUN", "VXLAN", "VETH", "BRIDGE", "BRIDGE_NETFILTER", "OVERLAY_FS", "NF_CONNTRACK", "NF_NAT",
    "NF_TABLES", "NFT_COMPAT", "NFT_CT", "NFT_NAT", "NFT_MASQ", "IP_NF_IPTABLES", "IP_NF_FILTER", "IP_NF_NAT",
    "IP_NF_MANGLE", "IP_NF_RAW", "IP_NF_TARGET_REJECT", "IP_NF_TARGET_MASQUERADE", "IP_NF_MATCH_RPFILTER", "IP_SET",
    "NETFILTER_XT_SET", "NETFILTER_XT_MARK", "NETFILTER_XT_TARGET_MASQUERADE", "NETFILTER_XT_NAT",
    "NETFILTER_XT_TARGET_REDIRECT", "NETFILTER_XT_MATCH_COMMENT", "NETFILTER_XT_MATCH_CONNTRACK",
    "NETFILTER_XT_MATCH_ADDRTYPE", "NETFILTER_XT_MATCH_MULTIPORT", "NETFILTER_XT_MATCH_STATISTIC",
    "NETFILTER_XT_MATCH_RECENT", "NETFILTER_XT_TARGET_TPROXY", "NETFILTER_XT_MATCH_SOCKET", "IP_ADVANCED_ROUTER",
    "IP_MULTIPLE_TABLES", "IP_VS", "NET_IPIP", "NET_CLS_BPF", "NET_ACT_BPF", "BPF_SYSCALL", "CGROUP_BPF", "CGROUPS",
    "MEMCG", "CFS_BANDWIDTH", "CPUSETS", "CGROUP_PIDS", "CGROUP_DEVICE", "RT_GROUP_SCHED", "IPVLAN", "MACVLAN",
    "DUMMY", "ZRAM",
)  # fmt: skip

# L4T release -> JetPack, newest first; the first prefix that fits wins.
# Sources: jetson_stats `jtop/core/jetson_variables.py`, NVIDIA's apt package `nvidia-jetpack` (2026-08).
JETPACK_OF_L4T = (
    ("39.2.0", "7.2"), ("39.0.0", "7.2 EA"), ("38.4", "7.1"), ("38.2", "7.0"),
    ("36.5.0", "6.2.2"), ("36.4.7", "6.2.1"), ("36.4.4", "6.2.1"), ("36.4.3", "6.2"), ("36.4.2", "6.1"),
    ("36.4.0", "6.1"), ("36.3", "6.0"), ("36.2", "6.0 DP"),
    ("35.6.4", "5.1.6"), ("35.6.0", "5.1.4"), ("35.6", "5.1.5"), ("35.5", "5.1.3"), ("35.4", "5.1.2"),
    ("35.3", "5.1.1"), ("35.2", "5.1"), ("35.1", "5.0.2"), ("34.1.1", "5.0.1 DP"), ("34.1", "5.0 DP"),
    ("32.7.6", "4.6.6"), ("32.7.5", "4.6.5"), ("32.7.4", "4.6.4"), ("32.7.3", "4.6.3"), ("32.7.2", "4.6.2"),
    ("32.7.1", "4.6.1"), ("32.6", "4.6"), ("32.5.2", "4.5.1"), ("32.5.1", "4.5.1"), ("32.5", "4.5"),
    ("32.4.4", "4.4.1"), ("32.4", "4.4"), ("32.3", "4.3"),
)  # fmt: skip
SOC_OF_COMPATIBLE = {"tegra264": "thor", "tegra234": "orin", "tegra194": "xavier", "tegra186": "tx2", "tegra210": "tx1"}

# Where distributions and NVIDIA's installer put the libraries of a discrete GPU's driver.
LIBRARY_DIRECTORIES = (
    "/usr/lib/{machine}-linux-gnu", "/usr/lib/{machine}-linux-gnu/nvidia/current", "/usr/lib64", "/usr/lib",
)  # fmt: skip
# The driver's kernel module in modules.dep. Debian's DKMS calls it nvidia-current; Ubuntu's directories differ.
NVIDIA_MODULE = re.compile(r"/nvidia(-current|-tesla[\w-]*|-legacy[\w-]*)?\.ko(\.\w+)?:", re.MULTILINE)
# Its last byte says whether the firmware starts signed code only. (UEFI 2.10, 3.3)
SECURE_BOOT = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
# DKMS makes this key when it first builds a module, and signs with it.
DKMS_KEY = "/var/lib/dkms/mok.pub"

DIRECTORIES_TO_MEASURE = ("/", "/var/lib", "/boot")
KUBERNETES_DIRECTORIES = ("/etc/kubernetes", "/var/lib/kubelet", "/var/lib/etcd")
# Roles kubeadm and k3s leave them on hosts that they work on.
KUBEADM_MARK = "/var/lib/edgectl/kubeadm.json"
K3S_MARK = "/var/lib/edgectl/k3s.json"
K3S_TRACES = ("/usr/local/bin/k3s", "/etc/rancher/k3s", "/var/lib/rancher/k3s")
# What module edgectl_k3s_adopt writes of a k3s that somebody else installed.
K3S_ADOPTED = "/var/lib/edgectl/adopted/k3s.json"
K3S_SERVER, K3S_AGENT = "/var/lib/rancher/k3s/server", "/var/lib/rancher/k3s/agent"
K3S_SCRIPTS = tuple(
    "/usr/local/bin/" + name for name in ("k3s-uninstall.sh", "k3s-agent-uninstall.sh", "k3s-killall.sh")
)
APT_LOCKS = ("/var/lib/dpkg/lock-frontend", "/var/lib/dpkg/lock", "/var/lib/apt/lists/lock")
LOCK_FILE = "/run/edgectl.lock"


class Host:
    """The two things the probe may do to a machine: read a file below the root, and run a command of the list."""

    def __init__(self, root: str = "/") -> None:
        self.root = root
        self.live = os.path.realpath(root) == "/"
        self.errors: list[str] = []
        self.deadline = time.monotonic() + COMMAND_TIMEOUT_S
        self.overlay = ""
        self._started: dict[str, subprocess.Popen[str]] = {}
        self._outputs: dict[str, str | None] = {}
        self.is_lab = self.exists("/etc/edgectl-lab")
        if self.is_lab:
            self.overlay = self.path("/etc/edgectl-lab.d/root")
        self._measured = {} if self.live else json.loads(self.read("/.commands/measured") or "{}")

    def path(self, path: str) -> str:
        if self.overlay:
            laid_over = os.path.join(self.overlay, path.lstrip("/"))
            if os.path.exists(laid_over):
                return laid_over
        return os.path.join(self.root, path.lstrip("/"))

    def exists(self, path: str) -> bool:
        return os.path.exists(self.path(path))

    def names(self, directory: str) -> list[str]:
        """Sorted names in a directory; empty when there is none or it can't be read."""
        try:
            return sorted(os.listdir(self.path(directory)))
        except OSError:
            return []

    def read_bytes(self, path: str) -> bytes | None:
        try:
            with open(self.path(path), "rb") as file:
                return file.read()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            self.errors.append(f"{path}: {error.strerror}")
            return None

    def read(self, path: str) -> str | None:
        """Text of a file, stripped, without the NUL that ends device-tree strings; None when there is none."""
        content = self.read_bytes(path)
        return None if content is None else content.decode("utf-8", "replace").strip().rstrip("\0")

    def lines(self, path: str) -> list[str]:
        return (self.read(path) or "").splitlines()

    def command_exists(self, name: str) -> bool:
        return any(self.exists(os.path.join(directory, name)) for directory in SEARCH_PATH.split(":"))

    def measured(self, name: str, value: Any) -> Any:
        """What was asked of the running system; below another root, what a recording says the answer was."""
        return self._measured.get(name, value)

    def start(self, name: str, *argv: str) -> None:
        """Start a command; all run at the same time, and `output` waits for the one it needs."""
        if not self.live:
            return
        environment = dict(os.environ, LC_ALL="C", PATH=SEARCH_PATH)
        try:
            self._started[name] = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment,
                universal_newlines=True,
                errors="replace",
            )
        except OSError:  # not installed: that is an answer, not an error
            return

    def output(self, name: str, may_fail: bool = False) -> str | None:
        """Standard output of a started command; None when it is not installed, failed or took too long."""
        if not self.live:
            return self.read("/.commands/" + name)
        process = self._started.pop(name, None)
        if process is not None:
            self._outputs[name] = self._wait_for(name, process, may_fail)
        return self._outputs.get(name)

    def _wait_for(self, name: str, process: subprocess.Popen[str], may_fail: bool) -> str | None:
        try:
            out, err = process.communicate(timeout=max(0.1, self.deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            self.errors.append(f"{name}: no answer within {COMMAND_TIMEOUT_S:.0f} s")
            return None
        if process.returncode and not may_fail:
            first_line = (err or out).strip().partition("\n")[0]
            self.errors.append(f"{name}: exit code {process.returncode}: {first_line}")
            return None
        return out


def start_commands(host: Host) -> None:
    """Start everything that takes time before any file is read."""
    properties = (
        "Id,LoadState,ActiveState,SubState,UnitFileState,ExecMainStartTimestampMonotonic,ActiveEnterTimestampMonotonic"
    )
    units = [unit if unit.endswith("*") else unit + ".service" for unit in UNITS]
    if host.exists("/run/systemd/system"):
        host.start("units", "systemctl", "show", "--no-pager", "--property", properties, *units)
    host.start("chronyc", "chronyc", "-c", "tracking")
    host.start("dpkg", "dpkg-query", "-W", "-f", "${db:Status-Status} ${Package} ${Version}\\n", *PACKAGES)
    host.start("ip-address", "ip", "-d", "-j", "address", "show")
    host.start("ip-route", "ip", "-4", "-j", "route", "show")
    host.start("iptables-version", "iptables", "--version")
    if filter_table_in_use(host):
        host.start("iptables-forward", "iptables", "-S", "FORWARD")
    host.start("wireguard", "wg", "show", "all", "dump")
    host.start("containerd-version", "containerd", "--version")
    host.start("containerd-config", "containerd", "config", "dump")
    host.start("kubelet-version", "kubelet", "--version")
    if host.exists("/usr/local/bin/k3s") and not host.exists(K3S_MARK):
        host.start("k3s-version", "/usr/local/bin/k3s", "--version")
        if host.exists(K3S_SERVER + "/tls/server-ca.crt"):
            nodes = ("kubectl", "--kubeconfig=/etc/rancher/k3s/k3s.yaml", "--request-timeout=5s", "get")
            host.start("k3s-nodes", "/usr/local/bin/k3s", *nodes, "--raw=/api/v1/nodes")


def filter_table_in_use(host: Host) -> bool:
    """Whether listing the chain FORWARD reads only: where no table is there yet, iptables would load a module."""
    return host.exists("/sys/module/nf_tables") or "filter" in host.lines("/proc/net/ip_tables_names")


def identity(host: Host) -> dict[str, Any]:
    # A container and a cloned disk share a boot id with others, so the start of PID 1 is what tells a reboot.
    return {
        "hostname": host.read("/proc/sys/kernel/hostname") or host.read("/etc/hostname"),
        "machine_id": host.read("/etc/machine-id") or None,
        "boot_id": host.read("/proc/sys/kernel/random/boot_id"),
        "booted_at": start_of_process(host, 1),
        "product_uuid": (host.read("/sys/class/dmi/id/product_uuid") or "").lower() or None,
        "serial": host.read("/proc/device-tree/serial-number"),
        "root": host.measured("root", os.geteuid() == 0),
    }


def start_of_process(host: Host, pid: int) -> int | None:
    """Unix time at which a process started."""
    status = host.read(f"/proc/{pid}/stat")
    boot = re.search(r"^btime (\d+)", host.read("/proc/stat") or "", re.MULTILINE)
    if not status or not boot:
        return None
    ticks_after_boot = int(status.rpartition(")")[2].split()[19])
    return int(boot.group(1)) + ticks_after_boot // os.sysconf("SC_CLK_TCK")


def operating_system(host: Host) -> dict[str, Any]:
    content = host.read("/etc/os-release") or host.read("/usr/lib/os-release") or ""
    release = dict(re.findall(r"""^([A-Z_]+)=["']?(.*?)["']?$""", content, re.MULTILINE))
    return {
        "id": release.get("ID"),
        "id_like": release.get("ID_LIKE", "").split(),
        "version_id": release.get("VERSION_ID"),
        "codename": release.get("VERSION_CODENAME"),
        "name": release.get("PRETTY_NAME"),
        "python": host.measured("python", ".".join(str(part) for part in sys.version_info[:3])),
    }


def kernel(host: Host) -> dict[str, Any]:
    release = host.read("/proc/sys/kernel/osrelease") or ""
    config = kernel_config(host, release)
    loaded = sorted(line.split(" ", 1)[0] for line in host.lines("/proc/modules"))
    directory = "/lib/modules/" + release
    indexes = [host.read(f"{directory}/{name}") for name in ("modules.builtin", "modules.dep")]
    return {
        "release": release,
        "version": host.read("/proc/sys/kernel/version"),
        "arch": machine(host),
        "config": config,
        "modules_loaded": loaded,
        "module_available": {name: module_available(name, config, loaded, indexes) for name in CONFIG_OF_MODULE},
        "tun": host.exists("/dev/net/tun"),
        "cmdline": host.read("/proc/cmdline"),
    }


def machine(host: Host) -> str | None:
    """As `uname -m` names it."""
    return os.uname().machine if host.live else host.read("/.commands/uname-machine")


def kernel_config(host: Host, release: str) -> dict[str, str] | None:
    """Build options of interest that are set (y or m); an option that is not in it is off. None: not published."""
    packed = host.read_bytes("/proc/config.gz")
    text = gzip.decompress(packed).decode("ascii", "replace") if packed else host.read("/boot/config-" + release)
    if not text:
        return None
    wanted = set(KERNEL_OPTIONS)
    options = re.findall(r"^CONFIG_(\w+)=([ym])$", text, re.MULTILINE)
    return {"CONFIG_" + name: value for name, value in options if name in wanted}


def module_available(
    name: str, config: dict[str, str] | None, loaded: list[str], indexes: list[str | None]
) -> bool | None:
    """Whether the kernel has a feature or can load it; None when neither its options nor its modules can be seen."""
    built = config.get(CONFIG_OF_MODULE[name]) if config is not None else None
    if name in loaded or built == "y" or any(f"/{name}.ko" in (index or "") for index in indexes):
        return True
    if config is not None and built is None:
        return False
    return None if indexes[1] is None else False


def cgroup(host: Host) -> dict[str, Any]:
    unified = host.read("/sys/fs/cgroup/cgroup.controllers")
    if unified is not None:
        return {"version": 2, "controllers": unified.split()}
    rows = [line.split() for line in host.lines("/proc/cgroups") if not line.startswith("#")]
    return {"version": 1, "controllers": sorted(row[0] for row in rows if row[3] == "1")}


def swap(host: Host) -> list[dict[str, Any]]:
    rows = [line.split() for line in host.lines("/proc/swaps")[1:]]
    return [
        {"device": row[0], "type": row[1], "size_kib": int(row[2]), "zram": row[0].startswith("/dev/zram")}
        for row in rows
    ]


def clock(host: Host) -> dict[str, Any]:
    """`synchronized` is None when no time service can be asked."""
    now = host.measured("now", time.time())
    if host.exists("/run/systemd/timesync/synchronized"):
        return {"now": now, "synchronized": True, "service": "systemd-timesyncd"}
    fields = (host.output("chronyc", may_fail=True) or "").strip().split(",")
    if len(fields) > 10:
        # The last field is the leap status: "Not synchronised" until chronyd has chosen a source.
        return {"now": now, "synchronized": fields[-1] != "Not synchronised", "service": "chrony"}
    synchronized = host.measured("synchronized", kernel_clock_is_synchronised() if host.live else None)
    return {"now": now, "synchronized": synchronized, "service": None}


def kernel_clock_is_synchronised() -> bool | None:
    """What `timedatectl` calls NTPSynchronized, asked of the kernel: timedatectl would start a service to answer."""
    try:
        import ctypes

        timex = ctypes.create_string_buffer(512)
        if ctypes.CDLL(None).adjtimex(timex) < 0:
            return None
    except (ImportError, OSError, AttributeError):
        return None
    max_error_us = struct.unpack_from("@Illl", timex)[3]  # modes, offset, freq, maxerror: adjtimex(2)
    return max_error_us < 16_000_000


def memory(host: Host) -> dict[str, Any]:
    sizes = dict(re.findall(r"^(\w+):\s+(\d+) kB", host.read("/proc/meminfo") or "", re.MULTILINE))
    return {"total_kib": int(sizes["MemTotal"]), "available_kib": int(sizes["MemAvailable"])}


def disks(host: Host) -> list[dict[str, Any]]:
    """Size of the file systems that hold the directories which fill up."""
    mounts = {}
    for line in host.lines("/proc/mounts"):
        device, mount, fstype = line.split(" ")[:3]
        mounts[mount.replace("\\040", " ")] = (device, fstype)
    measured = []
    for path in DIRECTORIES_TO_MEASURE:
        if not os.path.isdir(host.path(path)):
            continue
        size = os.statvfs(host.path(path))
        mount = os.path.realpath(path) if host.live else path
        while mount != "/" and mount not in mounts:
            mount = os.path.dirname(mount)
        device, fstype = mounts.get(mount, (None, None))
        measured.append(
            {
                "path": path,
                "mount": mount,
                "device": device,
                "fstype": fstype,
                "size_bytes": size.f_blocks * size.f_frsize,
                "free_bytes": size.f_bavail * size.f_frsize,
                "rotational": rotational(host, device),
            }
        )
    return host.measured("disks", measured)


def rotational(host: Host, device: str | None) -> bool | None:
    """Whether the disk of a block device turns; None where there is no disk, as below a container."""
    name = os.path.basename(os.path.realpath(device or ""))
    for place in ("queue", "../queue"):  # of the disk itself, of a partition's disk
        try:
            with open(host.path("/sys/class/block/{}/{}/rotational".format(name, place))) as file:
                return file.read().strip() == "1"
        except OSError:
            pass
    return None


def network(host: Host) -> dict[str, Any]:
    interfaces = [
        {
            "name": link["ifname"],
            "mac": link.get("address"),
            "mtu": link.get("mtu"),
            "kind": link.get("linkinfo", {}).get("info_kind") or link.get("link_type"),
            "state": link.get("operstate"),
            "addresses": [
                f"{item['local']}/{item['prefixlen']}" for item in link.get("addr_info", []) if "local" in item
            ],
        }
        for link in json.loads(host.output("ip-address") or "[]")
        if link.get("ifname")
    ]
    routes = json.loads(host.output("ip-route") or "[]")
    defaults = sorted((r for r in routes if r.get("dst") == "default"), key=lambda route: route.get("metric", 0))
    default = defaults[0] if defaults else {}
    interface = default.get("dev")
    link = next((i for i in interfaces if i["name"] == interface), {"addresses": [], "mtu": None})
    on_default = [address for address in link["addresses"] if ":" not in address]
    return {
        "default_interface": interface,
        "default_address": default.get("prefsrc") or (on_default[0].partition("/")[0] if on_default else None),
        "default_mtu": link["mtu"],
        "interfaces": interfaces,
        "routes": [
            {"dst": r.get("dst"), "dev": r.get("dev"), "via": r.get("gateway"), "protocol": r.get("protocol")}
            for r in routes
        ],
        "listening": listening(host),
    }


def listening(host: Host) -> list[dict[str, Any]]:
    """TCP ports that listen and UDP ports that are bound; `process` is None for the kernel's and other users' own."""
    sockets = {}
    for table, listens in (("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07")):
        for line in host.lines("/proc/net/" + table)[1:]:
            fields = line.split()
            if fields[3] == listens:
                address, _, port = fields[1].partition(":")
                sockets[fields[9], table, fields[1]] = {
                    "protocol": table[:3],
                    "port": int(port, 16),
                    # Any address, or only this machine: all that a reader of ports needs to know.
                    "local": address in ("0100007F", "00000000000000000000000001000000"),
                }
    owners = host.measured("socket_owners", owners_of_sockets(host, {inode for inode, _, _ in sockets}))
    found = [dict(entry, process=owners.get(inode)) for (inode, _, _), entry in sockets.items()]
    return sorted(found, key=lambda entry: (entry["protocol"], entry["port"]))


def owners_of_sockets(host: Host, inodes: set[str]) -> dict[str, str]:
    wanted = {f"socket:[{inode}]": inode for inode in inodes}
    owners = {}
    for pid in filter(str.isdigit, host.names("/proc")):
        for descriptor in host.names(f"/proc/{pid}/fd"):
            try:
                target = os.readlink(host.path(f"/proc/{pid}/fd/{descriptor}"))
            except OSError:  # closed meanwhile
                continue
            if target in wanted:
                owners[wanted[target]] = host.read(f"/proc/{pid}/comm") or pid
    return owners


def firewall(host: Host) -> dict[str, Any]:
    version = host.output("iptables-version", may_fail=True)
    backend = None if not version else "nft" if "nf_tables" in version else "legacy"
    rules = host.output("iptables-forward") or ""
    policy = re.search(r"^-P FORWARD (\w+)", rules, re.MULTILINE)
    forward_policy = policy.group(1) if policy else None
    return {
        "iptables_backend": backend,
        "ufw_rules": re.findall(r"^### tuple ### (.+)$", host.read("/etc/ufw/user.rules") or "", re.MULTILINE),
        "ufw_active": bool(re.search(r"^ENABLED=yes", host.read("/etc/ufw/ufw.conf") or "", re.MULTILINE)),
        "forward_policy": forward_policy,
        "docker_forward_drop": forward_policy == "DROP" and "-j DOCKER-" in rules,
    }


def packages(host: Host) -> dict[str, str]:
    rows = [line.split(" ") for line in (host.output("dpkg", may_fail=True) or "").splitlines()]
    return {row[1]: row[2] for row in rows if row[0] == "installed" and len(row) > 2}


def units(host: Host) -> dict[str, Any]:
    monotonic_zero = host.measured("monotonic_zero", time.time() - time.monotonic())
    found = {}
    for block in (host.output("units") or "").strip().split("\n\n"):
        unit = dict(line.partition("=")[::2] for line in block.splitlines())
        if not unit.get("Id") or unit.get("LoadState") == "not-found":
            continue
        # The start of the process says which configuration it has read; a oneshot such as wg-quick has none.
        microseconds = int(unit.get("ExecMainStartTimestampMonotonic") or 0) or int(
            unit.get("ActiveEnterTimestampMonotonic") or 0
        )
        running = unit.get("ActiveState") == "active" and microseconds
        found[unit["Id"]] = {
            "load": unit.get("LoadState"),
            "active": unit.get("ActiveState"),
            "sub": unit.get("SubState"),
            "enabled": unit.get("UnitFileState") or None,
            "started_at": round(monotonic_zero + microseconds / 1e6, 3) if running else None,
        }
    return found


def toml_sections(text: str) -> dict[str, dict[str, str]]:
    """Section -> key -> value as text, of TOML as containerd writes it: one line a key, quotes of either kind."""
    sections: dict[str, dict[str, str]] = {"": {}}
    section = ""
    for raw in text.splitlines():
        line = raw.strip()
        header = re.match(r"\[+([^\]]+)\]+$", line)
        pair = re.match(r"([A-Za-z0-9_-]+)\s*=\s*(.+)$", line)
        if header:
            section = header.group(1).replace('"', "").replace("'", "").strip()
            sections.setdefault(section, {})
        elif pair:
            sections[section][pair.group(1)] = pair.group(2)
    return sections


def toml_strings(value: str | None) -> list[str]:
    return [double or single for double, single in re.findall(r'"([^"]*)"|\'([^\']*)\'', value or "")]


def containerd(host: Host) -> dict[str, Any]:
    if not host.command_exists("containerd"):
        return {"present": False}
    version = re.search(r"\bv?(\d+\.\d+\.\d+)", host.output("containerd-version", may_fail=True) or "")
    config_path = "/etc/containerd/config.toml"
    dump = host.output("containerd-config", may_fail=True)
    config = toml_sections(dump or host.read(config_path) or "")
    runtimes = {}
    images: dict[str, str] = {}
    cni: dict[str, str] = {}
    default_runtime = None
    for section, values in config.items():
        runtime = re.search(r"cri.*\.runtimes\.([^.]+)(\.options)?$", section)
        if runtime:
            runtimes.setdefault(runtime.group(1), {}).update(values)
        if re.search(r"cri(\.v1\.images)?(\.pinned_images)?$", section):
            images.update(values)
        if re.search(r"cri(\.v1\.runtime)?\.cni$", section):
            cni.update(values)
        default_runtime = default_runtime or (toml_strings(values.get("default_runtime_name")) or [None])[0]
    installed = [name for name in ("containerd.io", "containerd") if name in packages(host)]
    sandbox = toml_strings(images.get("sandbox_image") or images.get("sandbox"))
    return {
        "present": True,
        "version": version.group(1) if version else None,
        "package": installed[0] if installed else None,
        "config_path": config_path if host.exists(config_path) else None,
        "config_version": int(config[""].get("version", "0")) or None,
        "disabled_plugins": toml_strings(config[""].get("disabled_plugins")),
        "imports": toml_strings(config[""].get("imports")),
        "systemd_cgroup": runtimes.get("runc", {}).get("SystemdCgroup") == "true",
        "sandbox_image": sandbox[0] if sandbox else None,
        "cni_bin_dirs": toml_strings(cni.get("bin_dirs")) or toml_strings(cni.get("bin_dir")),
        "runtimes": sorted(runtimes),
        "default_runtime": default_runtime,
        "docker_owned": any(host.exists(f"/usr/{place}/dockerd") for place in ("bin", "sbin", "local/bin")),
    }


def apt(host: Host) -> dict[str, Any]:
    """Who holds a lock of apt or dpkg, seen in the kernel's own list: nothing is locked to find out."""
    inodes = set()
    for path in APT_LOCKS:
        try:
            inodes.add(str(os.stat(host.path(path)).st_ino))
        except OSError:
            continue
    for line in host.lines("/proc/locks"):
        # 1: POSIX ADVISORY WRITE 4321 fe:00:262187 0 EOF; a waiting process has an arrow before POSIX
        fields = line.split()
        if "->" in fields or fields[5].rpartition(":")[2] not in inodes:
            continue
        command = (host.read(f"/proc/{fields[4]}/cmdline") or "").replace("\0", " ").strip()
        if re.search(r"apt|dpkg|unattended|packagekit|aptitude|synaptic", command):
            return {"lock_holder": {"pid": int(fields[4]), "command": command[:200]}}
    return {"lock_holder": None}


def jetson(host: Host) -> dict[str, Any] | None:
    first_line = (host.read("/etc/nv_tegra_release") or "").partition("\n")[0]
    release = re.match(r"# R(\d+) \(release\), REVISION: (\d+(?:\.\d+)*)", first_line)
    compatible = host.read("/proc/device-tree/compatible") or ""
    family = host.read("/sys/devices/soc0/family") or ""
    if not release and "nvidia,tegra" not in compatible and not family.lower().startswith("tegra"):
        return None
    l4t = f"{release.group(1)}.{release.group(2)}" if release else None
    jetpack = (
        next((name for prefix, name in JETPACK_OF_L4T if (l4t + ".").startswith(prefix + ".")), None) if l4t else None
    )
    return {
        "l4t": l4t,
        "jetpack": jetpack,
        "model": host.read("/proc/device-tree/model"),
        "soc": next((name for chip, name in SOC_OF_COMPATIBLE.items() if chip in compatible), None),
        "power_mode": power_mode(host),
    }


def power_mode(host: Host) -> str | None:
    """Name of the mode that nvpmodel remembers, from its files: the command itself is slow."""
    chosen = re.search(r"pmode:(\d+)", host.read("/var/lib/nvpmodel/status") or "")
    if not chosen:
        return None
    names = re.findall(r"<\s*POWER_MODEL\s+ID=(\d+)\s+NAME=(\S+)", host.read("/etc/nvpmodel.conf") or "")
    return {int(number): name for number, name in names}.get(int(chosen.group(1)), chosen.group(1))


def gpus(host: Host) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    loaded = loaded_driver(host)
    for bus in host.names("/sys/bus/pci/devices"):
        device = "/sys/bus/pci/devices/" + bus
        if host.read(device + "/vendor") != "0x10de" or not (host.read(device + "/class") or "").startswith("0x03"):
            continue
        facts = dict(
            re.findall(r"^(.+?):\s+(.+)$", host.read(f"/proc/driver/nvidia/gpus/{bus}/information") or "", re.M)
        )
        bound = re.search(r"^DRIVER=(\S+)", host.read(device + "/uevent") or "", re.M)
        found.append(
            {
                "kind": "pci",
                "bus": bus,
                "name": facts.get("Model"),
                "uuid": facts.get("GPU UUID"),
                "driver": bool(facts),
                "driver_version": loaded if facts else None,
                # Any that has it: nvidia, nouveau, vfio-pci of one that is given to virtual machines.
                "kernel_driver": bound.group(1) if bound else None,
            }
        )
    nodes = [node for node in ("/dev/nvhost-gpu", "/dev/nvgpu/igpu0") if host.exists(node)]
    # Thor's comes with NVIDIA's open driver, whose node is the same as a discrete GPU's.
    if not found and not nodes and "nvidia,tegra264" in (host.read("/proc/device-tree/compatible") or ""):
        nodes = [node for node in ("/dev/nvidia0",) if host.exists(node)]
    if nodes:
        found.append(
            {"kind": "integrated", "bus": None, "name": None, "uuid": None, "driver": True, "device_nodes": nodes}
        )
    return found


def loaded_driver(host: Host) -> str | None:
    """Version of NVIDIA's kernel module that runs, of whatever kind."""
    # "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue ..."; the open one has "for x86_64" there.
    said = host.read("/proc/driver/nvidia/version") or ""
    loaded = re.search(r"Kernel Module(?: for \S+)?\s+(\d+(?:\.\d+)+)", said)
    return loaded.group(1) if loaded else None


def nvidia_driver(host: Host) -> dict[str, Any] | None:
    """What there is of a discrete GPU's driver; None where there is no such GPU.

    loaded: version of the kernel module that runs; libraries: versions on the disk. available: whether the running
    kernel has a module to load, None when its modules can't be seen. secure_boot: None without UEFI.
    """
    cards = [gpu for gpu in gpus(host) if gpu["kind"] == "pci"]
    if not cards:
        return None
    libraries = set()
    for directory in (place.format(machine=machine(host)) for place in LIBRARY_DIRECTORIES):
        for name in host.names(directory):
            library = re.match(r"lib(?:cuda|nvidia-ml)\.so\.(\d{3}(?:\.\d+)+)$", name)
            if library and host.exists(directory + "/" + name):
                libraries.add(library.group(1))
    modules = host.read("/lib/modules/{}/modules.dep".format(host.read("/proc/sys/kernel/osrelease")))
    secure = host.read_bytes(SECURE_BOOT)
    nodes = ["/dev/nvidia{}".format(number) for number in range(len(cards))] + ["/dev/nvidiactl", "/dev/nvidia-uvm"]
    return {
        "loaded": loaded_driver(host),
        "libraries": sorted(libraries),
        "available": None if modules is None else bool(NVIDIA_MODULE.search(modules)),
        "device_nodes": [node for node in nodes if host.exists(node)],
        "secure_boot": None if not secure else secure[-1:] == b"\1",
        "dkms_key": host.exists(DKMS_KEY),
    }


def toolkit(host: Host) -> dict[str, Any] | None:
    config_path = "/etc/nvidia-container-runtime/config.toml"
    config = host.read(config_path)
    if config is None and not host.command_exists("nvidia-container-runtime"):
        return None
    mode = toml_strings(toml_sections(config or "").get("nvidia-container-runtime", {}).get("mode"))
    return {
        "config_path": config_path if config is not None else None,
        "mode": mode[0] if mode else None,
        "csv_files": host.names("/etc/nvidia-container-runtime/host-files-for-container.d"),
        "runtime": host.command_exists("nvidia-container-runtime"),
        "ctk": host.command_exists("nvidia-ctk"),
    }


def wireguard(host: Host) -> dict[str, Any]:
    interfaces: dict[str, Any] = {}
    now = host.measured("now", time.time())
    for line in (host.output("wireguard") or "").splitlines():
        fields = line.split("\t")
        if len(fields) == 5:  # interface, private key (never leaves this loop), public key, port, fwmark
            interfaces[fields[0]] = {
                "public_key": fields[2],
                "listen_port": int(fields[3]),
                "userspace": host.exists(f"/run/wireguard/{fields[0]}.sock"),
                "peers": [],
            }
        elif len(fields) == 9:
            handshake = int(fields[5])
            interfaces[fields[0]]["peers"].append(
                {
                    "public_key": fields[1],
                    "endpoint": None if fields[3] == "(none)" else fields[3],
                    "allowed_ips": [] if fields[4] == "(none)" else fields[4].split(","),
                    "handshake_age_s": max(0, int(now - handshake)) if handshake else None,
                    "rx": int(fields[6]),
                    "tx": int(fields[7]),
                }
            )
    return {"interfaces": interfaces}


def kubernetes(host: Host) -> dict[str, Any]:
    """What there is of Kubernetes. k3s: a k3s that somebody else installed, also after edgectl has taken it over."""
    mark = host.read(K3S_MARK)
    document = k3s_node(host, json.loads(mark)) if mark else kubeadm_node(host)
    document["k3s_present"] = any(host.exists(path) for path in K3S_TRACES)
    adopted = host.read(K3S_ADOPTED)
    document["k3s"] = json.loads(adopted) if adopted and mark else foreign_k3s(host) if not mark else None
    if document["k3s"]:
        document["leftovers"] = []
    document["k3s_templates"] = k3s_templates(host)
    return document


def k3s_certificate(host: Host) -> tuple[str | None, str | None]:
    """Role of the host, and the certificate of the cluster's CA."""
    certificate = host.read(K3S_SERVER + "/tls/server-ca.crt")
    if certificate:
        return "control_plane", certificate
    certificate = host.read(K3S_AGENT + "/server-ca.crt")
    return ("worker", certificate) if certificate else (None, None)


def k3s_node(host: Host, mark: dict[str, Any]) -> dict[str, Any]:
    role, certificate = k3s_certificate(host)
    return {
        "distribution": "k3s",
        "role": role,
        "kubelet_version": mark.get("version"),
        "cluster_ca_hash": public_key_hash(certificate) if certificate else None,
        "made_by_edgectl": True,
        "phase": mark.get("phase"),
        "leftovers": [],
    }


def foreign_k3s(host: Host) -> dict[str, Any] | None:
    """A node of k3s' that edgectl did not make; None where there is none. Values of secret options stay on the host."""
    role, certificate = k3s_certificate(host)
    if role is None or certificate is None:
        return None
    found = options_of_k3s(host)
    release = re.search(r"v(\d+\.\d+\.\d+)(\+k3s\d+)?", host.output("k3s-version", may_fail=True) or "")
    nodes = host.output("k3s-nodes", may_fail=True)
    names = json.loads(nodes)["items"] if (nodes or "").startswith("{") else None
    if found.one("datastore-endpoint"):
        datastore = "external"
    elif host.exists(K3S_SERVER + "/db/etcd"):
        datastore = "etcd"
    else:
        datastore = "sqlite" if host.exists(K3S_SERVER + "/db/state.db") else None
    return {
        "role": role,
        "version": release.group(1) if release else None,
        "release": release.group(0) if release else None,
        "cluster_ca_hash": public_key_hash(certificate),
        "adopted": False,
        "unit": found.unit,
        "unit_role": found.role,
        "node_name": (found.one("node-name") or host.read("/proc/sys/kernel/hostname") or "").lower(),
        "nodes": None if names is None else sorted(node["metadata"]["name"] for node in names),
        "datastore": datastore if role == "control_plane" else None,
        "network_policy": not found.on("disable-network-policy"),
        "options": found.public(),
        "problems": found.problems,
        "scripts": [path for path in K3S_SCRIPTS if host.exists(path)],
    }


def k3s_templates(host: Host) -> list[dict[str, Any]]:
    """Templates from which k3s makes containerd's configuration; base: whether its own is part of it.

    docs.k3s.io, "Advanced Options", Configuring containerd: from containerd 2.0 on config-v3.toml.tmpl comes first.
    """
    directory = K3S_AGENT + "/etc/containerd/"
    texts = [(directory + name, host.read(directory + name)) for name in ("config-v3.toml.tmpl", "config.toml.tmpl")]
    return [
        {"path": path, "base": bool(re.search(r"{{-?\s*template\s+\"base\"", text))}
        for path, text in texts
        if text is not None
    ]


def kubeadm_node(host: Host) -> dict[str, Any]:
    role = None
    if host.exists("/etc/kubernetes/manifests/kube-apiserver.yaml"):
        role = "control_plane"
    elif host.exists("/etc/kubernetes/kubelet.conf"):
        role = "worker"
    version = re.search(r"v(\d+\.\d+\.\d+\S*)", host.output("kubelet-version", may_fail=True) or "")
    certificate = host.read("/etc/kubernetes/pki/ca.crt")
    mark = host.read(KUBEADM_MARK)
    return {
        "distribution": "kubeadm" if role else None,
        "role": role,
        "kubelet_version": version.group(1) if version else None,
        "cluster_ca_hash": public_key_hash(certificate) if certificate else None,
        "made_by_edgectl": mark is not None,
        "phase": json.loads(mark).get("phase") if mark else None,
        "leftovers": [] if role else [path for path in KUBERNETES_DIRECTORIES if holds_a_file(host, path)],
    }


def holds_a_file(host: Host, directory: str) -> bool:
    return any(files for _, _, files in os.walk(host.path(directory)))


def public_key_hash(pem: str) -> str:
    """`sha256:<hex>` of a certificate's public key, in the form that `kubeadm join` takes for the cluster's CA."""
    der = base64.b64decode(pem.partition("-----BEGIN CERTIFICATE-----")[2].partition("-----END")[0])
    _, start, _ = der_element(der, 0)  # Certificate
    _, position, _ = der_element(der, start)  # TBSCertificate
    tag, _, end = der_element(der, position)
    if tag == 0xA0:  # the optional version
        position = end
    for _ in ("serialNumber", "signature", "issuer", "validity", "subject"):
        position = der_element(der, position)[2]
    return "sha256:" + hashlib.sha256(der[position : der_element(der, position)[2]]).hexdigest()


def der_element(der: bytes, position: int) -> tuple[int, int, int]:
    """Tag, start of the content and end of the DER element at a position (X.690, 8.1)."""
    length, content = der[position + 1], position + 2
    if length & 0x80:
        size = length & 0x7F
        length = int.from_bytes(der[content : content + size], "big")
        content += size
    return der[position], content, content + length


def ssh_host_keys(host: Host) -> list[dict[str, str]]:
    keys = []
    for name in host.names("/etc/ssh"):
        fields = (host.read("/etc/ssh/" + name) or "").split() if re.match(r"ssh_host_\w+_key\.pub$", name) else []
        if len(fields) > 1:
            digest = hashlib.sha256(base64.b64decode(fields[1])).digest()
            keys.append({"type": fields[0], "fingerprint": "SHA256:" + base64.b64encode(digest).decode().rstrip("=")})
    return keys


def lock(host: Host) -> dict[str, Any] | None:
    content = host.read(LOCK_FILE)
    return json.loads(content) if content else None


def reboot(host: Host) -> dict[str, Any]:
    return {
        "required": host.exists("/run/reboot-required"),
        "packages": sorted(set(host.lines("/run/reboot-required.pkgs"))),
    }


def simulated(host: Host) -> str | None:
    return "lab" if host.is_lab else None


def lab(host: Host) -> dict[str, Any] | None:
    """What a node of the lab says about itself: its lab, its platform, and what of it is only pretended."""
    return json.loads(host.read("/etc/edgectl-lab") or "{}") if host.is_lab else None


def receipts(host: Host) -> dict[str, Any]:
    """What edgectl's roles have left here, role by role, and whether that is still so."""
    return measured_receipts() if host.live else {}


def stamp(host: Host) -> dict[str, Any] | None:
    """What the last complete run wrote down at its end: the digest of inventory and content, machine, receipts."""
    content = host.read(STAMP)
    return json.loads(content) if content else None


SECTIONS: dict[str, Callable[[Host], Any]] = {
    "identity": identity,
    "os": operating_system,
    "kernel": kernel,
    "cgroup": cgroup,
    "swap": swap,
    "clock": clock,
    "memory": memory,
    "disks": disks,
    "firewall": firewall,
    "apt": apt,
    "jetson": jetson,
    "gpus": gpus,
    "nvidia_driver": nvidia_driver,
    "toolkit": toolkit,
    "ssh_host_keys": ssh_host_keys,
    "lock": lock,
    "reboot": reboot,
    "simulated": simulated,
    "lab": lab,
    # Those that wait for a command come last.
    "network": network,
    "packages": packages,
    "units": units,
    "wireguard": wireguard,
    "containerd": containerd,
    "kubernetes": kubernetes,
    "receipts": receipts,
    "stamp": stamp,
}


def probe(root: str = "/", look_at: Callable[[str], Host] = Host) -> dict[str, Any]:
    """The document of the machine whose file system starts at `root`; never raises. look_at: makes its Host."""
    started = time.monotonic()
    host = look_at(root)
    start_commands(host)
    document: dict[str, Any] = {"schema_version": SCHEMA_VERSION}
    for name, read in SECTIONS.items():
        try:
            document[name] = read(host)
        except Exception as error:  # one odd file must not hide the rest of the host
            document[name] = None
            host.errors.append(f"{name}: {type(error).__name__}: {error}")
    document["errors"] = host.errors
    document["duration_s"] = round(time.monotonic() - started, 3)
    return document


if __name__ == "__main__":
    json.dump(probe(sys.argv[1] if len(sys.argv) > 1 else "/"), sys.stdout)
    print()
