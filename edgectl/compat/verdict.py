"""What the tables mean for one host: pure functions from the probe's document to a verdict.

What the host's own kernel says always wins: the tables are of stock kernels, and a kernel may have been rebuilt or got
a module more.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from edgectl.compat import tables
from edgectl.compat.tables import Driver, Feature, KernelLine, Level, Release, Tables, numbers
from edgectl.ssh.probe import section

ReadFrom = Literal["kernel", "table", "nothing"]

# The probe's names of modules whose options it can tell from the modules themselves, without the kernel's options.
OPTION_OF_MODULE = {
    "wireguard": "WIREGUARD",
    "br_netfilter": "BRIDGE_NETFILTER",
    "overlay": "OVERLAY_FS",
    "vxlan": "VXLAN",
}


@dataclass(frozen=True)
class KernelView:
    """What is known of a kernel's options. complete: what is not in `live` is off."""

    live: Mapping[str, bool]
    complete: bool
    line: KernelLine | None

    def option(self, name: str) -> tuple[bool | None, ReadFrom]:
        """Whether the kernel has an option (None: not known), and who says so."""
        if name in self.live:
            return self.live[name], "kernel"
        if self.complete:
            return False, "kernel"
        known = self.line.options.get(name) if self.line else None
        return known, "nothing" if known is None else "table"

    @property
    def read_from(self) -> ReadFrom:
        """Where most of it was read."""
        return "kernel" if self.complete else "table" if self.line else "nothing"


@dataclass(frozen=True)
class Judged:
    """A feature on a kernel. possible: None where the kernel's options are not known.

    missing, unknown: kernel options without CONFIG_. one_of: names of features of which it needs one and has none.
    read_from: `kernel` (of this host), `table` (of the stock kernel), or `nothing`.
    """

    feature: Feature
    possible: bool | None
    missing: tuple[str, ...]
    unknown: tuple[str, ...]
    one_of: tuple[str, ...]
    read_from: ReadFrom

    @property
    def why(self) -> str:
        """Why it is not possible, or not known to be; "" where it is."""
        if self.possible:
            return ""
        told = [f"lacks {', '.join(self.missing)}"] if self.missing else []
        told += [f"neither {' nor '.join(self.one_of)} is possible"] if self.one_of and self.possible is False else []
        if self.possible is None:
            told += [f"not known: {', '.join(self.unknown) or ' or '.join(self.one_of)}"]
        return "; ".join(told)


@dataclass(frozen=True)
class Runtime:
    """containerd and cgroups. Each *_below: the first Kubernetes that does not start with it; None: no limit known."""

    containerd: str | None
    containerd_below: str | None
    cgroup: int | None
    cgroup_below: str | None


@dataclass(frozen=True)
class Gpu:
    """A discrete GPU, and the drivers that it needs. loaded: whether NVIDIA's driver has taken it, and its version."""

    name: str | None
    bus: str | None
    loaded: bool
    driver: str | None
    drivers: tuple[Driver, ...]

    def runs(self, needed: Driver) -> bool:
        """Whether the loaded driver is new enough for programs of a CUDA release."""
        return self.driver is not None and numbers(self.driver) >= numbers(needed.driver)

    @property
    def cuda(self) -> list[str]:
        """The CUDA releases whose programs the loaded driver runs."""
        return [needed.cuda for needed in self.drivers if self.runs(needed)]


@dataclass(frozen=True)
class HostVerdict:
    """All that the tables say of a host. release: None on a machine that is no Jetson, or whose release is unknown."""

    level: Level | Literal["unknown"]
    why: str
    system: str
    board: str | None
    simulated: bool
    l4t: str | None
    release: Release | None
    arch: str | None
    kernel: str | None
    line: KernelLine | None
    read_from: ReadFrom
    features: tuple[Judged, ...]
    runtime: Runtime
    gpus: tuple[Gpu, ...]

    @property
    def is_jetson(self) -> bool:
        """Whether it is one, with a release that edgectl knows or without."""
        return self.l4t is not None or self.board is not None


def release_of(l4t: str, known: Tables | None = None) -> Release | None:
    """The row of an L4T release (`36.4.3`); None: edgectl does not know it."""
    rows = (known or tables.shipped()).jetpack.releases
    return next((row for row in rows if numbers(row.l4t) == numbers(l4t)), None)


def line_of(release: Release, known: Tables | None = None) -> KernelLine | None:
    """The kernels that a release belongs to; None: nobody has read how its kernel is built."""
    at = numbers(release.l4t)
    for line in (known or tables.shipped()).kernel.lines:
        if numbers(line.since) <= at:
            return line if line.until is None or at < numbers(line.until) else None
    return None


def judge(kernel: KernelView, known: Tables | None = None) -> tuple[Judged, ...]:
    """Every feature on a kernel, in the order of the table."""
    done: dict[str, Judged] = {}
    for feature in (known or tables.shipped()).kernel.features:
        done[feature.id] = _judged(feature, kernel, [done[name] for name in feature.needs_one_of])
    return tuple(done.values())


def _judged(feature: Feature, kernel: KernelView, choices: list[Judged]) -> Judged:
    readings = {option: kernel.option(option) for option in feature.needs}
    missing = tuple(option for option, (there, _) in readings.items() if there is False)
    unknown = tuple(option for option, (there, _) in readings.items() if there is None)
    possible: bool | None = False if missing else None if unknown else True
    if choices and possible is not False:
        best = True if any(one.possible for one in choices) else None if _any_unknown(choices) else False
        possible = best if best is not True else possible
    # Of what decides: a missing option does alone; otherwise all that it needs.
    told_by = {read_from for option, (_, read_from) in readings.items() if not missing or option in missing}
    if not missing:
        told_by |= {one.read_from for one in choices}
    nobody = bool(choices) and not any(one.possible for one in choices)
    names = tuple(one.feature.name for one in choices) if nobody and not missing else ()
    return Judged(feature, possible, missing, unknown, names, _weakest(told_by))


def _weakest(told_by: Collection[ReadFrom]) -> ReadFrom:
    """A verdict is as good as the worst that it rests on."""
    return "nothing" if "nothing" in told_by else "table" if "table" in told_by else "kernel"


def _any_unknown(choices: list[Judged]) -> bool:
    return any(one.possible is None for one in choices)


def verdicts(document: Mapping[str, Any], known: Tables | None = None) -> HostVerdict:
    """What the tables say of the host that a probe's document describes."""
    known = known or tables.shipped()
    jetson, system, kernel = (section(document, name) for name in ("jetson", "os", "kernel"))
    l4t = jetson.get("l4t")
    release = release_of(l4t, known) if l4t else None
    line = line_of(release, known) if release else None
    view = kernel_view(document, line)
    level, why = _level(document, release, known)
    return HostVerdict(
        level=level,
        why=why,
        system=system.get("name") or system.get("id") or "unknown system",
        board=(jetson.get("model") or "unknown Jetson") if document.get("jetson") else None,
        simulated=bool(section(document, "lab").get("simulated")),
        l4t=l4t,
        release=release,
        arch=kernel.get("arch"),
        kernel=kernel.get("release"),
        line=line,
        read_from=view.read_from,
        features=judge(view, known),
        runtime=_runtime(document, known),
        gpus=tuple(_gpu(gpu, known) for gpu in document.get("gpus") or [] if gpu.get("kind") == "pci"),
    )


def kernel_view(document: Mapping[str, Any], line: KernelLine | None) -> KernelView:
    """What the host says of its own kernel, over the table's line.

    A module that is installed counts even where the kernel's options lack it: it was built later, for this kernel.
    """
    kernel = section(document, "kernel")
    config: dict[str, str] | None = kernel.get("config")
    modules = {OPTION_OF_MODULE[name]: there for name, there in (kernel.get("module_available") or {}).items()
               if name in OPTION_OF_MODULE and there is not None}  # fmt: skip
    live = {name.removeprefix("CONFIG_"): True for name in config or {}} | modules
    if kernel.get("tun"):
        live["TUN"] = True
    return KernelView(live, complete=config is not None, line=line)


def _level(
    document: Mapping[str, Any], release: Release | None, known: Tables
) -> tuple[Level | Literal["unknown"], str]:
    if release:
        return release.level, release.why
    jetson, system = section(document, "jetson"), section(document, "os")
    if jetson:
        newest = known.jetpack.releases[0].l4t
        said = f"edgectl does not know L4T {jetson['l4t']} (the newest it knows is {newest})"
        return "unknown", said if jetson.get("l4t") else "/etc/nv_tegra_release does not tell the release"
    arch = section(document, "kernel").get("arch")
    if arch and arch not in {row.name for row in known.systems.architectures}:
        return "refused", f"there are no binaries for {arch}"
    if not system.get("id"):
        return "unknown", "the system does not tell its name in /etc/os-release"
    rows = [row for row in known.systems.systems if row.id == system["id"]]
    row = next((row for row in rows if row.version == system.get("version_id")), None)
    if row:
        return row.level, row.why
    names = ", ".join(f"{one.id.capitalize()} {one.version}" for one in known.systems.systems)
    return "refused", f"edgectl knows {names} and JetPack"


def _runtime(document: Mapping[str, Any], known: Tables) -> Runtime:
    version, cgroup = section(document, "containerd").get("version"), section(document, "cgroup").get("version")
    limit = known.kubernetes.cgroup_v1_refused_from.kubernetes
    return Runtime(
        containerd=version,
        containerd_below=first_refused(version, known) if version else None,
        cgroup=cgroup,
        cgroup_below=limit if cgroup == 1 else None,
    )


def first_refused(containerd: str, known: Tables | None = None) -> str | None:
    """The oldest Kubernetes that needs a newer containerd than this one; None: no such is known."""
    rows = (known or tables.shipped()).kubernetes.minimum
    refused = [row.kubernetes for row in rows if numbers(containerd) < numbers(row.containerd)]
    return min(refused, key=numbers, default=None)


def _gpu(gpu: Mapping[str, Any], known: Tables) -> Gpu:
    loaded = bool(gpu.get("driver"))
    return Gpu(gpu.get("name"), gpu.get("bus"), loaded, gpu.get("driver_version"), known.drivers.drivers)
