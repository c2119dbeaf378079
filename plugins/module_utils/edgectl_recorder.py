"""Record what the probe reads of a host, and take out on the host itself what is nobody's business.

Runs like the probe, with it, and by the same rules: standard library only, Python 3.8 upwards, read-only. What is
recorded stands in the lists FILES, PRESENT and COMMANDS, each entry with the function that cleans it. All else that
the probe reads (keys, certificates, locks) stays on the host, so that what a later probe reads is not recorded
until somebody has thought about what it may tell.
"""

from __future__ import annotations

import gzip
import ipaddress
import json
import os
import re
import sys

import edgectl_probe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

SCHEMA_VERSION = 1
HOST = "host"
MACHINE_ID = "0" * 32
MEASURED = ("now", "monotonic_zero", "synchronized", "root", "python", "disks", "socket_owners")

# Kernel options that are kept besides those that the probe looks at: what a later edgectl may want to know.
OPTION_FAMILIES = (
    "NETFILTER", "NF_", "NFT_", "IP_", "IP6_", "BRIDGE", "NET_CLS_", "NET_ACT_", "NET_SCH_", "NET_NS", "BPF", "CGROUP",
    "MEMCG", "BLK_CGROUP", "NAMESPACES", "USER_NS", "SECCOMP", "WIREGUARD", "VLAN", "INET", "IPV6", "EXT4_FS", "XFS_FS",
    "BTRFS_FS", "SWAP", "ZSWAP", "HUGETLB", "PREEMPT", "ARM64_4K", "ARM64_16K", "ARM64_64K", "IKCONFIG", "MODULES",
    "MODULE_SIG", "TEGRA", "ROCKCHIP", "DRM_ACCEL", "SECURITY_APPARMOR", "SECURITY_SELINUX",
)  # fmt: skip

# Kernel parameters whose value says something about the system and nothing about its owner.
TELLING_PARAMETERS = re.compile(
    r"(cgroup\w*|systemd\.(unified_cgroup_hierarchy|legacy_systemd_cgroup_controller)|swapaccount|psi|ipv6\.disable|"
    r"net\.ifnames|apparmor|selinux|security|lsm|iommu|mem|hugepages\w*|isolcpus|rootfstype|zswap\.enabled|"
    r"transparent_hugepage|module_blacklist|nvidia\S*|video)"
)
PLAIN_DEVICE = re.compile(r"/dev/(sd|nvme|mmcblk|vd|xvd|hd|md|dm-|zram|loop)[a-z0-9]*")
MAC = re.compile(r"(?<![0-9A-Fa-f:])(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}(?![0-9A-Fa-f:])")
# systemd names a USB or wireless interface after its MAC address where nothing else is unique about it.
NAMED_BY_MAC = re.compile(r"\b((?:en|wl|ww|eth)x)[0-9a-f]{12}\b")
CRI_SECTION = re.compile(r"cri.*\.runtimes\.[^.]+(\.options)?$|cri(\.v1\.\w+)?(\.(containerd|cni|pinned_images))?$")
CRI_KEYS = (
    "version", "disabled_plugins", "imports", "SystemdCgroup", "sandbox_image", "sandbox", "bin_dir", "bin_dirs",
    "default_runtime_name",
)  # fmt: skip
# 32 bytes in base64: a WireGuard key.
KEY = re.compile(r"(?<![A-Za-z0-9+/=])[A-Za-z0-9+/]{43}=(?![A-Za-z0-9+/=])")
ADDRESS_V4 = re.compile(r"(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?![\d.])")
ADDRESS_V6 = re.compile(r"(?<![0-9A-Fa-f:.])(?=[0-9A-Fa-f:]*:[0-9A-Fa-f:]*:)[0-9A-Fa-f:]{3,39}(?![0-9A-Fa-f:.])")


class Cleaner:
    """Replaces what identifies a host, the same thing by the same placeholder, and remembers what it was about."""

    def __init__(self) -> None:
        self.placeholders: dict[str, dict[str, str]] = {}
        self.left_out: set[str] = set()

    def placeholder(self, kind: str, original: str, form: str) -> str:
        """A placeholder for this very value; `form` gets its number."""
        known = self.placeholders.setdefault(kind, {})
        return known.setdefault(original, form.format(len(known) + 1))

    def taken_out(self) -> list[str]:
        counted = [
            kind if len(known) == 1 else "{} ({} different ones)".format(kind, len(known))
            for kind, known in self.placeholders.items()
        ]
        return sorted(counted) + sorted(self.left_out)

    def address(self, text: str) -> str:
        """An address that tells nothing: private IPv4 stays, public becomes one that nobody has (RFC 2544).

        IPv6 is numbered afresh, for half of a link-local address is a MAC address.
        """
        try:
            address = ipaddress.ip_address(text)
        except ValueError:
            return text
        if address.is_loopback or address.is_unspecified or address.is_multicast:
            return text
        if address.version == 6:
            if int(address) & (2**64 - 1) == 0 and address.is_link_local:
                return text
            kind = "link" if address.is_link_local else "private" if address.is_private else "public"
            form = {"link": "fe80::{:x}", "private": "fd00::{:x}", "public": "2001:db8::{:x}"}[kind]
            return self.placeholder("{} IPv6 address".format(kind), text, form)
        if not address.is_global:
            return text
        network, _, last = text.rpartition(".")
        return self.placeholder("public network", network, "198.18.{}") + "." + last

    def addresses(self, text: str) -> str:
        return ADDRESS_V6.sub(lambda found: self.address(found.group()), self.addresses_v4(text))

    def addresses_v4(self, text: str) -> str:
        return ADDRESS_V4.sub(lambda found: self.address(found.group()), text)

    def anywhere(self, text: str) -> str:
        """What may stand in any text."""
        text = MAC.sub(lambda found: self.placeholder("MAC address", found.group(), "02:00:00:00:00:{:02x}"), text)
        text = KEY.sub(lambda found: self.placeholder("WireGuard key", found.group(), "key-{}"), text)
        return NAMED_BY_MAC.sub(
            lambda found: found.group(1) + self.placeholder("MAC address", found.group(), "0200000000{:02x}"), text
        )


def as_is(text: str, cleaner: Cleaner) -> str:
    return text


def words(text: str, cleaner: Cleaner) -> str:
    """Columns that stand for themselves, without the blanks that only make them straight."""
    return "".join(" ".join(line.split()) + "\n" for line in text.splitlines())


def host_name(text: str, cleaner: Cleaner) -> str:
    return cleaner.placeholder("host name", text.strip(), HOST) if text.strip() else text


def machine_id(text: str, cleaner: Cleaner) -> str:
    return cleaner.placeholder("machine-id", text, MACHINE_ID) if re.match(r"[0-9a-f]{32}", text) else text


def kernel_parameters(text: str, cleaner: Cleaner) -> str:
    """Names of all parameters, values only of some: others hold serial numbers, UUIDs and addresses."""
    kept = []
    for parameter in re.findall(r"[^\s\"]*\"[^\"]*\"|\S+", text.partition(" -- ")[0]):
        name, equals, _ = parameter.partition("=")
        telling = not equals or TELLING_PARAMETERS.fullmatch(name)
        kept.append(
            parameter if telling else name + "=" + cleaner.placeholder("value of a kernel parameter", name, "-")
        )
    return " ".join(kept) + "\n"


def kernel_options(text: str, cleaner: Cleaner) -> str:
    wanted = set(edgectl_probe.KERNEL_OPTIONS)
    options = re.findall(r"^CONFIG_(\w+)=([ym])$", text, re.MULTILINE)
    return "".join(
        "CONFIG_{}={}\n".format(name, value)
        for name, value in options
        if name in wanted or name.startswith(OPTION_FAMILIES)
    )


def loaded_modules(text: str, cleaner: Cleaner) -> str:
    return "".join(line.partition(" ")[0] + " 0 0 - Live 0x0\n" for line in text.splitlines())


def module_index(text: str, cleaner: Cleaner) -> str:
    """The lines of the modules that the probe looks for; an index without them is still there, and says so."""
    wanted = tuple("/{}.ko".format(name) for name in edgectl_probe.CONFIG_OF_MODULE)
    return "".join(
        line.partition(":")[0] + ":\n"
        for line in text.splitlines()
        if any(n in line for n in wanted) or edgectl_probe.NVIDIA_MODULE.search(line)
    )


def lines_with(pattern: str) -> Callable[[str, Cleaner], str]:
    def kept(text: str, cleaner: Cleaner) -> str:
        return "".join(line + "\n" for line in text.splitlines() if re.match(pattern, line))

    return kept


def swaps(text: str, cleaner: Cleaner) -> str:
    lines = text.splitlines()
    rows = [line.split() for line in lines[1:]]
    kept = [" ".join([device(row[0], cleaner), *row[1:]]) for row in rows if row]
    return "\n".join([" ".join(line.split()) for line in lines[:1]] + kept) + "\n"


def device(name: str, cleaner: Cleaner) -> str:
    """The name of a block device: volume groups are named after hosts, swap files lie in homes."""
    if PLAIN_DEVICE.fullmatch(name) or not re.search(r"[/:]", name):
        return name
    return cleaner.placeholder("device name", name, ("/dev/mapper/" if name.startswith("/dev/") else "/") + "volume{}")


def sockets(text: str, cleaner: Cleaner) -> str:
    """Listening sockets only, as any address or this machine: all others name whom the host talks to."""
    lines = text.splitlines()
    kept = [" ".join(line.split()) for line in lines[:1]]
    for fields in (line.split() for line in lines[1:]):
        if len(fields) > 9 and fields[3] in ("0A", "07"):
            address, _, port = fields[1].partition(":")
            local = address in ("0100007F", "00000000000000000000000001000000")
            fields[1] = "{}:{}".format(address if local else "0" * len(address), port)
            fields[2], fields[7] = "0" * len(address) + ":0000", "0"
            kept.append(" ".join(fields[:10]))
    return "\n".join(kept) + "\n"


def ufw_rules(text: str, cleaner: Cleaner) -> str:
    tuples = [line.partition(" comment=")[0] for line in text.splitlines() if line.startswith("### tuple ###")]
    return "".join(cleaner.addresses(line) + "\n" for line in tuples)


def containerd_config(text: str, cleaner: Cleaner) -> str:
    """Headers and keys that the probe looks at; registries, with their names and passwords, are left out."""
    kept, wanted = [], True
    for line in text.splitlines():
        header = re.match(r"\s*\[+([^\]]+)\]+", line)
        pair = re.match(r"\s*([A-Za-z0-9_-]+)\s*=", line)
        if header:
            wanted = bool(CRI_SECTION.search(re.sub(r"[\"' ]", "", header.group(1))))
        if wanted and (header or (pair and pair.group(1) in CRI_KEYS)):
            kept.append(line)
    return "".join(line + "\n" for line in kept)


def runtime_config(text: str, cleaner: Cleaner) -> str:
    mode = edgectl_probe.toml_sections(text).get("nvidia-container-runtime", {}).get("mode")
    return "[nvidia-container-runtime]\n" + ("mode = {}\n".format(mode) if mode else "")


def gpu_information(text: str, cleaner: Cleaner) -> str:
    model = "".join(re.findall(r"^Model:.*\n", text, re.MULTILINE))
    identity = re.search(r"^GPU UUID:\s+(\S+)", text, re.MULTILINE)
    return model + (
        "GPU UUID: " + cleaner.placeholder("GPU's UUID", identity.group(1), "GPU-{}") + "\n" if identity else ""
    )


def driver_version(text: str, cleaner: Cleaner) -> str:
    """Up to the number: who built it, and when, stands behind."""
    return "".join(re.findall(r"^NVRM version:.*Kernel Module(?: for \S+)?\s+[\d.]+", text, re.MULTILINE)) + "\n"


def kubeadm_mark(text: str, cleaner: Cleaner) -> str:
    return json.dumps({"phase": json.loads(text).get("phase")})


def lab_mark(text: str, cleaner: Cleaner) -> str:
    mark = json.loads(text or "{}")
    return json.dumps({name: mark[name] for name in ("platform", "simulated") if name in mark})


def ip_address(text: str, cleaner: Cleaner) -> str:
    links = []
    for link in json.loads(text or "[]"):
        if not link.get("ifname"):
            continue
        kept = {name: link[name] for name in ("ifname", "address", "mtu", "link_type", "operstate") if name in link}
        if not MAC.fullmatch(str(kept.get("address"))):  # a tunnel's is an IP address
            kept.pop("address", None)
        if link.get("linkinfo", {}).get("info_kind"):
            kept["linkinfo"] = {"info_kind": link["linkinfo"]["info_kind"]}
        kept["addr_info"] = [
            {"local": cleaner.address(item["local"]), "prefixlen": item["prefixlen"]}
            for item in link.get("addr_info", [])
            if "local" in item
        ]
        links.append(kept)
    return a_line_each(links) if links else "[]\n"


def a_line_each(entries: list[dict[str, Any]]) -> str:
    return "[\n" + ",\n".join(json.dumps(entry) for entry in entries) + "\n]\n"


def ip_route(text: str, cleaner: Cleaner) -> str:
    names = ("dst", "dev", "gateway", "protocol", "metric", "prefsrc")
    routes = [{name: route[name] for name in names if name in route} for route in json.loads(text or "[]")]
    return cleaner.addresses(a_line_each(routes)) if routes else "[]\n"


def wireguard(text: str, cleaner: Cleaner) -> str:
    rows = [line.split("\t") for line in text.splitlines()]
    for fields in rows:
        # The private key of an interface stands where a peer has its public key, and a peer's preshared key after that.
        fields[1 if len(fields) == 5 else 2] = "(hidden)"
    cleaned = cleaner.addresses("\n".join("\t".join(fields) for fields in rows))
    if any(len(fields) == 5 for fields in rows):
        cleaner.left_out.add("WireGuard's private keys")
    return cleaned + "\n" if cleaned else ""


def chronyc(text: str, cleaner: Cleaner) -> str:
    fields = text.strip().split(",")
    return ",".join(["-"] * (len(fields) - 1) + fields[-1:]) + "\n"


def forward_chain(text: str, cleaner: Cleaner) -> str:
    policy = re.findall(r"^-P FORWARD \w+$", text, re.MULTILINE)
    return "\n".join(policy + (["-A FORWARD -j DOCKER-USER"] if "-j DOCKER-" in text else [])) + "\n"


FILES: tuple[tuple[str, Callable[[str, Cleaner], str]], ...] = (
    (r"/proc/sys/kernel/hostname|/etc/hostname", host_name),
    (r"/etc/machine-id", machine_id),
    (r"(/etc|/usr/lib)/os-release", lines_with(r"(ID|ID_LIKE|NAME|PRETTY_NAME|VERSION|VERSION_ID|VERSION_CODENAME)=")),
    (r"/proc/sys/kernel/(osrelease|version)", as_is),
    (r"/proc/cmdline", kernel_parameters),
    (r"/proc/config\.gz|/boot/config-.+", kernel_options),
    (r"/proc/modules", loaded_modules),
    (r"/lib/modules/[^/]+/modules\.(builtin|dep)", module_index),
    (r"/sys/fs/cgroup/cgroup\.controllers|/proc/cgroups", words),
    (r"/proc/meminfo", lines_with(r"(Mem|Swap)\w+:")),
    (r"/proc/swaps", swaps),
    (r"/proc/net/(tcp|udp)6?", sockets),
    (r"/proc/net/ip_tables_names", as_is),
    (r"/etc/ufw/ufw\.conf", lines_with(r"ENABLED=")),
    (r"/etc/ufw/user\.rules", ufw_rules),
    (r"/etc/nv_tegra_release|/proc/device-tree/(model|compatible)|/sys/devices/soc0/family", as_is),
    (r"/etc/nvpmodel\.conf", lines_with(r"<\s*POWER_MODEL")),
    (r"/var/lib/nvpmodel/status", as_is),
    (r"/proc/driver/nvidia/gpus/[^/]+/information", gpu_information),
    (r"/proc/driver/nvidia/version", driver_version),
    (re.escape(edgectl_probe.SECURE_BOOT), as_is),
    (r"/etc/nvidia-container-runtime/config\.toml", runtime_config),
    (r"/etc/containerd/config\.toml", containerd_config),
    (edgectl_probe.KUBEADM_MARK, kubeadm_mark),
    (r"/run/reboot-required\.pkgs", as_is),
    (r"/etc/edgectl-lab", lab_mark),
)

# Whose being there is all that the probe asks for.
PRESENT = (
    r"(/usr(/local)?)?/s?bin/[\w-]+|/dev/net/tun|/dev/nvhost-gpu|/dev/nvgpu/igpu0|/dev/nvidia(\d+|ctl|-uvm)|"
    r"/usr/lib(64|/[\w-]+)?(/nvidia/current)?/lib(cuda|nvidia-ml)\.so\.[\d.]+|/var/lib/dkms/mok\.pub|"
    r"/run/(systemd/(system|timesync/synchronized)|wireguard/[^/]+\.sock|reboot-required)|/sys/module/nf_tables|"
    r"/etc/kubernetes/(manifests/kube-apiserver\.yaml|kubelet\.conf)|/etc/rancher/k3s|/var/lib/rancher/k3s"
)
CSV_FILES = "/etc/nvidia-container-runtime/host-files-for-container.d"
PCI = "/sys/bus/pci/devices/"

COMMANDS: dict[str, Callable[[str, Cleaner], str]] = {
    "units": as_is,
    "chronyc": chronyc,
    "dpkg": lines_with("installed "),
    "ip-address": ip_address,
    "ip-route": ip_route,
    "iptables-version": as_is,
    "iptables-forward": forward_chain,
    "wireguard": wireguard,
    "containerd-version": as_is,
    "containerd-config": containerd_config,
    "kubelet-version": as_is,
}

# What is read, not recorded, and worth a word to whoever sends the recording.
LEFT_OUT = (
    (r"/etc/ssh/.+", "SSH host keys"),
    (r"/proc/sys/kernel/random/boot_id", "boot-id"),
    (r"/sys/class/dmi/id/product_uuid|/proc/device-tree/serial-number", "serial number"),
    (r"/etc/kubernetes/pki/.+", "the cluster's certificate"),
    (r"/proc/locks|/run/edgectl\.lock", "locks and their owners"),
    (
        r"/etc/(rancher|default|sysconfig)/.+|/etc/systemd/system/k3s.*|/var/lib/rancher/.+",
        "options and certificate of k3s",
    ),
    (r"/var/lib/edgectl/stamp\.json", "receipts of edgectl's roles"),
)
UNREMARKABLE = r"/proc/(\d+/.*|stat|mounts|locks)|/\.commands/.*|" + PCI + ".*"


class RecordingHost(edgectl_probe.Host):
    """Remembers what the probe got to see."""

    def __init__(self, root: str = "/") -> None:
        self.contents: dict[str, bytes] = {}
        self.found: set[str] = set()
        self.outputs: dict[str, str] = {}
        self.answers: dict[str, Any] = {}
        super().__init__(root)

    def read_bytes(self, path: str) -> bytes | None:
        content = super().read_bytes(path)
        if content is not None:
            self.contents[path] = content
        return content

    def exists(self, path: str) -> bool:
        there = super().exists(path)
        if there:
            self.found.add(path)
        return there

    def names(self, directory: str) -> list[str]:
        names = super().names(directory)
        if directory == CSV_FILES:
            self.found.update(directory + "/" + name for name in names)
        return names

    def output(self, name: str, may_fail: bool = False) -> str | None:
        text = super().output(name, may_fail)
        if text is not None:
            self.outputs[name] = text
        return text

    def measured(self, name: str, value: Any) -> Any:
        self.answers[name] = super().measured(name, value)
        return self.answers[name]


def record(root: str = "/") -> dict[str, Any]:
    """The cleaned parts of a recording, and what was taken out of them."""
    hosts: list[RecordingHost] = []

    def remembering(root: str) -> RecordingHost:
        hosts.append(RecordingHost(root))
        return hosts[0]

    document = edgectl_probe.probe(root, remembering)
    host, cleaner = hosts[0], Cleaner()
    recording = {
        "files": files(host, cleaner),
        "present": present(host, document),
        "commands": commands(host, document, cleaner),
        "measured": measured(host, cleaner),
    }
    if document.get("receipts"):
        cleaner.left_out.add("receipts of edgectl's roles")
    recording["not_readable"] = sorted({line.partition(":")[0] for line in document["errors"]})
    recording = without_names(recording, distinctive_names(host), cleaner)
    taken_out = without_names(cleaner.taken_out(), distinctive_names(host), cleaner)
    return {"schema_version": SCHEMA_VERSION, **recording, "taken_out": taken_out}


def files(host: RecordingHost, cleaner: Cleaner) -> dict[str, str]:
    kept = {}
    for path, content in sorted(host.contents.items()):
        clean = next((clean for pattern, clean in FILES if re.fullmatch(pattern, path)), None)
        if clean:
            kept.update(cleaned(path, content, clean, cleaner))
        elif path.startswith(PCI) and is_nvidia(host, path):
            kept[path] = content.decode("utf-8", "replace")
        elif content.strip() and not re.fullmatch(UNREMARKABLE, path):
            known = (name for pattern, name in LEFT_OUT if re.fullmatch(pattern, path))
            cleaner.left_out.add(next(known, path))
    return kept


def cleaned(name: str, content: bytes, clean: Callable[[str, Cleaner], str], cleaner: Cleaner) -> dict[str, str]:
    """The clean text by its name; empty when it is not what it should be, since that can't be cleaned either."""
    try:
        text = (gzip.decompress(content) if name.endswith(".gz") else content).decode("utf-8", "replace")
        return {name: clean(text, cleaner)}
    except Exception:  # one odd file must not keep the rest from being recorded
        cleaner.left_out.add(name + ", which could not be understood")
        return {}


def is_nvidia(host: RecordingHost, path: str) -> bool:
    return host.contents.get(os.path.dirname(path) + "/vendor", b"").strip() == b"0x10de"


def present(host: RecordingHost, document: dict[str, Any]) -> list[str]:
    found = {path for path in host.found if re.fullmatch(PRESENT, path) or path.startswith(CSV_FILES + "/")}
    found |= {path for path in host.found - set(host.contents) if any(re.fullmatch(known, path) for known, _ in FILES)}
    leftovers = (document.get("kubernetes") or {}).get("leftovers") or []
    return sorted(found | {directory + "/left-over" for directory in leftovers})


def commands(host: RecordingHost, document: dict[str, Any], cleaner: Cleaner) -> dict[str, str]:
    kept: dict[str, str] = {}
    for name, clean in COMMANDS.items():
        if name in host.outputs:
            kept.update(cleaned(name, host.outputs[name].encode("utf-8", "replace"), clean, cleaner))
    machine = (document.get("kernel") or {}).get("arch")
    return dict(kept, **({"uname-machine": machine + "\n"} if machine else {}))


def measured(host: RecordingHost, cleaner: Cleaner) -> dict[str, Any]:
    kept = {name: host.answers[name] for name in MEASURED if name in host.answers}
    for disk in kept.get("disks", ()):
        if not disk["path"].startswith(disk["mount"]):  # a link to a file system elsewhere, under a name of the user's
            disk["mount"] = disk["path"]
        disk["device"] = disk["device"] and device(disk["device"], cleaner)
    return kept


def distinctive_names(host: RecordingHost) -> dict[str, str]:
    """Names of the host and of whoever is logged in, unless they are words of the system such as `ubuntu`."""
    hostname = host.contents.get("/proc/sys/kernel/hostname", b"").decode("utf-8", "replace").strip()
    wanted = {hostname: HOST, hostname.partition(".")[0]: HOST}
    wanted.update({os.environ.get(name, ""): "user" for name in ("SUDO_USER", "USER", "LOGNAME")})
    system = [host.contents.get(path, b"") for path in ("/etc/os-release", "/proc/device-tree/model")]
    words = b" ".join(system).decode("utf-8", "replace").lower() + " ".join(
        edgectl_probe.PACKAGES + edgectl_probe.UNITS
    )
    return {
        name: placeholder
        for name, placeholder in wanted.items()
        if len(name) > 2 and name.lower() not in words + "root"
    }


def without_names(value: Any, names: dict[str, str], cleaner: Cleaner) -> Any:
    """The same with MAC addresses, keys and names replaced in every text."""
    if isinstance(value, dict):
        return {without_names(key, names, cleaner): without_names(item, names, cleaner) for key, item in value.items()}
    if isinstance(value, list):
        return [without_names(item, names, cleaner) for item in value]
    if not isinstance(value, str):
        return value
    text = cleaner.anywhere(value)
    for name, placeholder in names.items():
        kind = "host name" if placeholder == HOST else "user name"
        pattern = r"(?<!\w)" + re.escape(name) + r"(?!\w)"
        text = re.sub(
            pattern, lambda found, kind=kind, to=placeholder: cleaner.placeholder(kind, found.group(), to), text
        )
    return text


def main() -> None:
    json.dump(record(sys.argv[1] if len(sys.argv) > 1 else "/"), sys.stdout)
    print()
