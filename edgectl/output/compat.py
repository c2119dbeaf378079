"""What runs on what, for people: the tables, and what they mean for hosts. Or one JSON document of either."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from edgectl.compat import verdict
from edgectl.compat.tables import Release, Tables, numbers
from edgectl.compat.verdict import Gpu, HostVerdict, Judged, KernelView, Runtime
from edgectl.output.jsonl import SCHEMA_VERSION
from edgectl.output.summary import table
from edgectl.output.words import listing
from edgectl.ssh.probe import ProbeFailure

Verdicts = Mapping[str, HostVerdict | ProbeFailure]

_NARROWEST, _WIDEST = 60, 140
_LABEL_WIDTH = 13
_BOLD, _OFF = "\033[1m", "\033[0m"
_COLOURS = {"supported": "\033[32m", "best effort": "\033[33m", "refused": "\033[31m"}
_WORDS = {True: "yes", False: "no", None: "?"}


class _Page:
    """Lays out text for a terminal's width, with colours or without."""

    def __init__(self, width: int, *, colour: bool) -> None:
        self.width = max(_NARROWEST, min(width, _WIDEST))
        self.colour = colour

    def bold(self, text: str) -> str:
        return f"{_BOLD}{text}{_OFF}" if self.colour else text

    def level(self, level: str) -> str:
        return f"{_COLOURS[level]}{level}{_OFF}" if self.colour and level in _COLOURS else level

    def folded(self, text: str, first: str = "  ", further: str = "    ") -> list[str]:
        return textwrap.wrap(
            text, self.width, initial_indent=first, subsequent_indent=further, break_long_words=False,
            break_on_hyphens=False,
        )  # fmt: skip

    def labelled(self, label: str, text: str) -> list[str]:
        return self.folded(text, f"  {label:<{_LABEL_WIDTH}}", " " * (_LABEL_WIDTH + 2))

    def fits(self, header: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
        return max(len(line) for line in table(header, rows)) <= self.width

    def table(self, header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
        """Columns as everywhere; a level gets its colour when the columns stand."""
        first, *others = table(header, rows)
        yield first
        for line, row in zip(others, rows, strict=True):
            level = next((cell for cell in row if cell in _COLOURS), "")
            before, gap, after = line.partition(f"  {level}")
            yield f"{before}  {self.level(level)}{after}" if level and gap else line


def lines(known: Tables, *, width: int, colour: bool = False) -> Iterator[str]:
    """All tables. width: of the terminal, in columns."""
    page = _Page(width, colour=colour)
    chapters = {
        "Jetson Linux (L4T) releases": _releases,
        "Other systems": _systems,
        "What NVIDIA's stock kernels for Jetsons can run": _features,
        "Kubernetes and containerd": _kubernetes,
        "NVIDIA's driver for discrete GPUs": _drivers,
    }
    for title, chapter in chapters.items():
        yield page.bold(title)
        yield from chapter(known, page)
        yield ""
    yield from page.folded("Your own machines: edgectl compat INVENTORY", "", "")
    yield from page.folded("Where all this comes from: edgectl compat --json", "", "")


def _releases(known: Tables, page: _Page) -> Iterator[str]:
    header: tuple[str, ...] = ("L4T", "JETPACK", "UBUNTU", "KERNEL", "CUDA", "BOARDS", "LEVEL")
    rows = [_release_row(row) for row in known.jetpack.releases]
    toolkits = [(row.l4t, row.toolkit or "-") for row in known.jetpack.releases]
    wide = [(*row, toolkit) for row, (_, toolkit) in zip(rows, toolkits, strict=True)]
    roomy = page.fits((*header, "TOOLKIT"), wide)
    yield from page.table((*header, "TOOLKIT") if roomy else header, wide if roomy else rows)
    reasons: dict[tuple[str, str], list[str]] = {}
    for row in known.jetpack.releases:
        reasons.setdefault((row.level, row.why), []).append(row.l4t)
    yield ""
    for (_, why), releases in reasons.items():
        yield from page.folded(f"{_span(releases)}: {why}")
    if not roomy:
        said = [f"{toolkit} in {l4t}" for l4t, toolkit in toolkits if toolkit != "-"]
        yield from page.folded(f"nvidia-container-toolkit in NVIDIA's repository: {', '.join(said)}")


def _release_row(row: Release) -> tuple[str, ...]:
    kernel = row.kernel.removesuffix("-tegra")
    return row.l4t, row.jetpack, row.ubuntu, kernel, row.cuda, ", ".join(row.boards), row.level


def _span(releases: Sequence[str]) -> str:
    """Newest and oldest of releases that follow each other in the table."""
    return releases[0] if len(releases) == 1 else f"{releases[-1]} to {releases[0]}"


def _systems(known: Tables, page: _Page) -> Iterator[str]:
    rows = [(f"{row.id.capitalize()} {row.version}", row.level) for row in known.systems.systems]
    yield from page.table(("SYSTEM", "LEVEL"), rows)
    yield ""
    reasons: dict[str, list[str]] = {}
    for (name, _), row in zip(rows, known.systems.systems, strict=True):
        reasons.setdefault(row.why, []).append(name)
    for why, names in reasons.items():
        yield from page.folded(f"{listing(names)}: {why}")
    architectures = listing([row.name for row in known.systems.architectures])
    yield from page.folded(f"All others are refused, and every architecture but {architectures}.", further="  ")


def _features(known: Tables, page: _Page) -> Iterator[str]:
    judged = {line.name: verdict.judge(KernelView({}, complete=False, line=line), known) for line in known.kernel.lines}
    header = ("", *judged)
    by_feature = list(zip(*judged.values(), strict=True))
    rows = [(row[0].feature.name, *(_WORDS[one.possible] for one in row)) for row in by_feature]
    told = [(*row, one[0].feature.about) for row, one in zip(rows, by_feature, strict=True)]
    roomy = page.fits((*header, ""), told)
    yield from page.table((*header, "") if roomy else header, told if roomy else rows)
    yield ""
    yield from page.folded("What is missing (kernel options, without CONFIG_):", further="  ")
    for row in by_feature:
        missing: dict[str, list[str]] = {}
        for name, one in zip(judged, row, strict=True):
            if one.possible is False:
                missing.setdefault(", ".join(one.missing) or " or ".join(one.one_of), []).append(name)
        if missing:
            every = "; ".join(f"{what} ({', '.join(names)})" for what, names in missing.items())
            yield from page.folded(f"{row[0].feature.name}: {every}")
    kernels = ", ".join(f"{line.name} {line.kernel}" for line in known.kernel.lines)
    yield from page.folded(
        f"? is what nobody has read. A kernel that you built yourself may have more. Linux: {kernels}.", further="  "
    )


def _kubernetes(known: Tables, page: _Page) -> Iterator[str]:
    minimum, tested = known.kubernetes.minimum, known.kubernetes.tested
    releases = sorted({one.kubernetes for one in minimum} | {one.kubernetes for one in tested}, key=numbers)
    rows = []
    for release in reversed(releases):
        needed = next(one.containerd for one in minimum if numbers(one.kubernetes) <= numbers(release))
        series = next((one.containerd for one in tested if one.kubernetes == release), ())
        rows.append((f"from {release}", needed, ", ".join(series) or "-"))
    yield from page.table(("KUBERNETES", "CONTAINERD AT LEAST", "TESTED FROM (EACH SERIES)"), rows)
    limit = known.kubernetes.cgroup_v1_refused_from.kubernetes
    yield from page.folded(
        f"From {limit} on kubelet refuses cgroup v1, which JetPack 5 starts with, unless failCgroupV1 is false.",
        further="  ",
    )


def _drivers(known: Tables, page: _Page) -> Iterator[str]:
    return page.table(("CUDA", "DRIVER"), [(row.cuda, f"{row.driver} or newer") for row in known.drivers.drivers])


def host_lines(verdicts: Verdicts, *, width: int, colour: bool = False) -> Iterator[str]:
    """What the tables mean for each host, or why it was not asked. width: of the terminal, in columns."""
    page = _Page(width, colour=colour)
    for number, (name, said) in enumerate(verdicts.items()):
        if number:
            yield ""
        if isinstance(said, ProbeFailure):
            yield f"{page.bold(name)}: not known"
            yield from page.folded(said.reason)
            continue
        yield f"{page.bold(name)}: {page.level(said.level)}"
        for label, text in _facts(said):
            yield from page.labelled(label, text)


def _facts(said: HostVerdict) -> Iterator[tuple[str, str]]:
    yield "Why", said.why
    yield "System", said.system
    if said.board:
        yield "Board", said.board + (" (simulated)" if said.simulated else "")
        yield "Release", _release(said)
    yield "Kernel", f"{said.kernel or 'unknown'} on {said.arch or 'unknown'}; {_read_from(said)}"
    possible = [one for one in said.features if one.possible]
    if possible:
        yield "Possible", ", ".join(one.feature.name for one in possible)
    yield from _reasons("Impossible", [one for one in said.features if one.possible is False], said)
    unknown = [one for one in said.features if one.possible is None]
    if unknown:
        yield "Not known", ", ".join(one.feature.name for one in unknown)
    yield from _runtime(said.runtime)
    for gpu in said.gpus:
        yield "GPU", _gpu(gpu)


def _release(said: HostVerdict) -> str:
    if said.release is None:
        return f"unknown release, L4T {said.l4t}" if said.l4t else "unknown release"
    toolkit = f", container toolkit {said.release.toolkit}" if said.release.toolkit else ""
    return f"JetPack {said.release.jetpack}, L4T {said.l4t}, CUDA {said.release.cuda}{toolkit}"


def _read_from(said: HostVerdict) -> str:
    if said.read_from == "kernel":
        return "judged by its own options"
    if said.line is None:
        return "it does not tell its options, and no table has them"
    return f"it does not tell its options: judged by NVIDIA's {said.line.name} kernels"


def _reasons(label: str, judged: Sequence[Judged], said: HostVerdict) -> Iterator[tuple[str, str]]:
    """One line a reason: several features often lack the same. Who says so, where that is not the host's own kernel."""
    same: dict[str, list[str]] = {}
    for one in judged:
        other = one.read_from == "table" and said.read_from != "table"
        same.setdefault(one.why + (" (by the table)" if other else ""), []).append(one.feature.name)
    for number, (why, names) in enumerate(same.items()):
        yield ("" if number else label), f"{', '.join(names)}: {why}"


def _runtime(runtime: Runtime) -> Iterator[tuple[str, str]]:
    if runtime.containerd:
        limit = f"Kubernetes older than {runtime.containerd_below}" if runtime.containerd_below else "any Kubernetes"
        yield "containerd", f"{runtime.containerd}: {limit}"
    if runtime.cgroup_below:
        limit = f"Kubernetes older than {runtime.cgroup_below}"
        yield "cgroups", f"v{runtime.cgroup}: {limit}, unless kubelet's failCgroupV1 is false"


def _gpu(gpu: Gpu) -> str:
    loaded = "NVIDIA's driver is loaded" if gpu.loaded else "NVIDIA's driver is not loaded"
    if gpu.driver:
        programs = f"CUDA {listing(gpu.cuda)}" if gpu.cuda else "no CUDA listed above"
        loaded = f"driver {gpu.driver} runs programs of {programs}"
    needed = [f"{row.driver} for CUDA {row.cuda}" for row in gpu.drivers if not gpu.runs(row)]
    return f"{gpu.name or 'NVIDIA GPU'} at {gpu.bus}: {loaded}" + (f"; at least {', '.join(needed)}" if needed else "")


def document(known: Tables) -> dict[str, Any]:
    """All tables as one JSON document; what each entry calls its sources stands in the table's own `sources`."""
    return {"schema_version": SCHEMA_VERSION, "kind": "compat", "tables": known.model_dump(mode="json")}


def host_document(verdicts: Verdicts) -> dict[str, Any]:
    """The verdict on each host as one JSON document; a host that gave none has the reason instead."""
    hosts = {name: _json(said) for name, said in verdicts.items()}
    return {"schema_version": SCHEMA_VERSION, "kind": "compat", "hosts": hosts}


def _json(said: HostVerdict | ProbeFailure) -> dict[str, Any]:
    if isinstance(said, ProbeFailure):
        return {"error": said.reason, "trouble": said.trouble and said.trouble.value}
    return {
        "level": said.level,
        "why": said.why,
        "system": said.system,
        "arch": said.arch,
        "jetson": {"board": said.board, "simulated": said.simulated, "l4t": said.l4t} if said.board else None,
        "release": said.release and said.release.model_dump(mode="json"),
        "kernel": {
            "release": said.kernel,
            "line": said.line and said.line.name,
            "read_from": None if said.read_from == "nothing" else said.read_from,
        },
        "features": {one.feature.id: _feature(one) for one in said.features},
        "containerd": {"version": said.runtime.containerd, "kubernetes_below": said.runtime.containerd_below},
        "cgroup": {"version": said.runtime.cgroup, "kubernetes_below": said.runtime.cgroup_below},
        "gpus": [
            {
                "name": gpu.name,
                "bus": gpu.bus,
                "driver_loaded": gpu.loaded,
                "driver_version": gpu.driver,
                "cuda": gpu.cuda if gpu.driver else None,
                "driver_minimum": {row.cuda: row.driver for row in gpu.drivers},
            }
            for gpu in said.gpus
        ],
    }


def _feature(one: Judged) -> dict[str, Any]:
    return {
        "name": one.feature.name,
        "possible": one.possible,
        "why": one.why or None,
        "missing": list(one.missing),
        "unknown": list(one.unknown),
        "read_from": None if one.read_from == "nothing" else one.read_from,
    }
