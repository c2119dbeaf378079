"""NVIDIA's software for simulated GPUs: the packages that a node installs, in repositories, and the cluster's images.

NVIDIA's container toolkit and device plugin are the real ones; lab/nvidia says what is simulated.
"""

from __future__ import annotations

import functools
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from edgectl import content
from edgectl.lab import aptrepository, debian, gobuild, imagearchive, toolchain
from edgectl.lab.aptrepository import Package
from edgectl.lab.imagearchive import Image, Layer
from edgectl.lab.machine import architecture, run
from edgectl.lab.manifest import Artifact
from edgectl.lab.parts import Part
from edgectl.lab.progress import Progress

# Raise it when this module makes something else from the same sources.
_FORM = 3
# Where a node has the repositories; the list of sources that a Jetson comes with names them.
MOUNT = "/opt/edgectl-lab/jetson"
SOURCES_LIST = "/etc/apt/sources.list.d/nvidia-l4t-apt-source.list"
# For a node with a discrete GPU: what stands for more components of Debian, and NVIDIA's own repository.
DEBIAN_LIST = "/etc/apt/sources.list.d/edgectl-lab-non-free.list"
TOOLKIT_REPOSITORY = f"file:{MOUNT}/libnvidia-container/stable/deb/$(ARCH)"
_KEY = "libnvidia-container/gpgkey"
_FINGERPRINT = "libnvidia-container/fingerprint"
TOOLKIT_KEY = f"file://{MOUNT}/{_KEY}"
_TOOLKIT = "github.com/NVIDIA/nvidia-container-toolkit"
_DEVICE_PLUGIN = "github.com/NVIDIA/k8s-device-plugin"
_CHART = "nvidia-device-plugin"
_HELM = "helm.sh/helm/v3"
# For the linker: NVML is bound when it is first called, and it is not here.
_LAZY = "-extldflags=-Wl,-z,lazy"


@dataclass(frozen=True)
class Wanted:
    """A package that the repository is to have. toolkit: the release its programs are of."""

    package: Package
    repository: str
    toolkit: str = ""
    programs: tuple[str, ...] = ()
    library: str = ""
    library_source: str = ""
    defines: tuple[str, ...] = ()
    links: dict[str, str] = field(default_factory=dict)


def source() -> Path:
    """The recipes, and what of the packages is not built."""
    return content.root() / "lab" / "nvidia"


def part() -> Part:
    """What of the artifact directory is made here; the repositories lie beside it."""
    return Part("nvidia", source(), _FORM, _fill)


def repositories(built: Path) -> Path:
    """The directory of a built part that nodes mount."""
    return built / "jetson"


@functools.cache
def _recipe(name: str) -> dict[str, Any]:
    data: dict[str, Any] = yaml.safe_load((source() / name).read_text())
    return data


def _repositories() -> dict[str, dict[str, Any]]:
    """The recipes of the repositories by their place."""
    found: dict[str, dict[str, Any]] = _recipe("packages.yml")["repositories"]
    return {place.replace("{arch}", architecture()): recipe for place, recipe in found.items()}


def packages() -> list[Wanted]:
    """All packages of the repositories."""
    toolkit = _recipe("packages.yml")["toolkit"]
    wanted = []
    for repository, recipe in _repositories().items():
        for release in map(str, recipe.get("toolkits", ())):
            wanted += [_wanted(repository, {**entry, "version": f"{release}-1"}, release) for entry in toolkit]
        wanted += [_wanted(repository, entry) for entry in recipe.get("packages", ())]
    return wanted


def _wanted(repository: str, entry: dict[str, Any], toolkit: str = "") -> Wanted:
    version = str(entry["version"])
    package = Package(
        entry["name"],
        version,
        architecture(),
        entry["description"],
        entry.get("depends", "").replace("{version}", version),
    )
    return Wanted(
        package,
        repository,
        toolkit,
        tuple(entry.get("programs", ())),
        _placed(entry.get("library", "")),
        entry.get("source", ""),
        tuple(entry.get("defines", ())),
        {_placed(link): target for link, target in entry.get("links", {}).items()},
    )


def _placed(path: str) -> str:
    """A library's path on this architecture, by Debian's name of it."""
    return path.replace("{triplet}", {"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}[architecture()])


def sources_list(platform: str = "jetson") -> str:
    """The list of sources that a node comes with, a Jetson or one with a discrete GPU, for the lab's own place."""
    return "".join(
        f"deb [trusted=yes] file:{MOUNT}/{place} {recipe['distribution']} main\n"
        for place, recipe in _repositories().items()
        if "distribution" in recipe and recipe.get("platform", "jetson") == platform
    )


def key_fingerprint() -> str:
    """Fingerprint of the key that the built repositories are signed with; "" where they are not made."""
    try:
        return (repositories(part().directory) / _FINGERPRINT).read_text().strip()
    except FileNotFoundError:
        return ""


def image_name(which: str) -> str:
    """The name of one of the images: `device_plugin` or `gpu_check`."""
    return str(_recipe("images.yml")[which]["image"])


def _fill(wanted: Path, log: Path, progress: Progress) -> list[Artifact]:
    work = wanted / "work"
    for rest in (work, repositories(wanted)):
        shutil.rmtree(rest, ignore_errors=True)
    work.mkdir()
    go = toolchain.find_or_fetch(architecture(), progress)
    for toolkit in sorted({wanted.toolkit for wanted in packages()} - {""}):
        with progress.phase(f"build NVIDIA's container toolkit {toolkit}"):
            _build_toolkit(go, toolkit, work, log)
    with progress.phase("build the packages of a Jetson"):
        for wanted_library in (entry for entry in packages() if entry.library):
            _build_library(wanted_library, work / "libraries" / wanted_library.package.name, log)
        _write_repositories(repositories(wanted), work)
        _sign(repositories(wanted))
    recipe = _recipe("images.yml")["device_plugin"]
    with progress.phase(f"build NVIDIA's device plugin {recipe['version']} (the first time takes some minutes)"):
        _build_device_plugin(go, recipe, work, log)
    with progress.phase("pack the images for GPUs"):
        artifacts = [_device_plugin(wanted, work, log), _gpu_check(wanted, work, log)]
    with progress.phase(f"build helm {_recipe('chart.yml')['helm']} and pack NVIDIA's chart"):
        artifacts += _chart(go, recipe, wanted, work, log)
    shutil.rmtree(work)
    return artifacts


def _build_toolkit(go: Path, version: str, work: Path, log: Path) -> None:
    into = work / version
    into.mkdir(exist_ok=True)
    programs = sorted({program for wanted in packages() if wanted.toolkit == version for program in wanted.programs})
    gobuild.install(
        go,
        [f"{_TOOLKIT}/cmd/{program}" for program in programs],
        f"v{version}",
        into,
        log,
        linker=f"{_LAZY} -X {_TOOLKIT}/internal/info.version={version}",
        tags="netgo,osusergo",
        cgo=True,
    )


def _build_library(wanted: Wanted, library: Path, log: Path) -> None:
    soname = Path(wanted.library).name.partition(".so")[0] + ".so.1"
    flags = ["-shared", "-fPIC", "-Os", "-s", f"-Wl,-soname,{soname}", *(f"-D{define}" for define in wanted.defines)]
    flags += ["-nostdlib"] if wanted.library_source == "libcuda.c" else []
    library.parent.mkdir(parents=True, exist_ok=True)
    with log.open("a") as output:
        run(["gcc", *flags, "-o", library, source() / wanted.library_source], output=output)


def _sign(place: Path) -> None:
    """Sign those that NVIDIA signs, with a key that is made for this and thrown away; beside them what tells it."""
    # gpg's agent listens on a socket in its home, whose path has to be a short one.
    with tempfile.TemporaryDirectory(prefix="edgectl-lab-") as home:
        _sign_with(Path(home), place)


def _sign_with(home: Path, place: Path) -> None:
    gpg: list[str | Path] = ["gpg", "--homedir", home, "--batch", "--quiet", "--pinentry-mode", "loopback"]
    run([*gpg, "--passphrase", "", "--quick-generate-key", "edgectl lab", "rsa3072", "sign", "never"])
    (place / _KEY).write_text(run([*gpg, "--armor", "--export"]).stdout)
    listed = run([*gpg, "--with-colons", "--list-keys"]).stdout.splitlines()
    fingerprint = next(line.split(":")[9] for line in listed if line.startswith("fpr:"))
    (place / _FINGERPRINT).write_text(fingerprint + "\n")
    for repository in (name for name, recipe in _repositories().items() if recipe.get("signed")):
        release = place / repository / "Release"
        run([*gpg, "--armor", "--detach-sign", "--output", release.with_name("Release.gpg"), release])
    run(["gpgconf", "--homedir", home, "--kill", "gpg-agent"])
    for path in (place / _KEY, place / _FINGERPRINT, *place.rglob("Release.gpg")):
        path.chmod(0o644)


def _write_repositories(place: Path, work: Path) -> None:
    for repository, recipe in _repositories().items():
        built = {}
        for wanted in packages():
            if wanted.repository == repository:
                archive = place / repository / "pool" / wanted.package.name / wanted.package.filename
                archive.parent.mkdir(parents=True, exist_ok=True)
                archive.hardlink_to(_build_package(wanted, work))
                built[archive] = wanted.package
        aptrepository.write_index(place / repository, recipe.get("distribution", ""), architecture(), built)
    for path in (place, *place.rglob("*")):
        # apt on a node reads as a user of its own.
        path.chmod(0o755 if path.is_dir() else 0o644)


def _build_package(wanted: Wanted, work: Path) -> Path:
    archive = work / "packages" / wanted.package.filename
    if archive.exists():
        return archive
    tree = source() / "packages" / wanted.package.name
    files = {f"/usr/bin/{program}": work / wanted.toolkit / program for program in wanted.programs}
    if wanted.library:
        files[wanted.library] = work / "libraries" / wanted.package.name
    place = work / "package"
    aptrepository.lay_out(place, [tree] if tree.is_dir() else [], files, wanted.links)
    return aptrepository.build(wanted.package, place, archive.parent)


def _build_device_plugin(go: Path, recipe: dict[str, Any], work: Path, log: Path) -> None:
    gobuild.build(
        go,
        gobuild.module_source(go, _DEVICE_PLUGIN, recipe["version"], recipe["sum"]),
        [f"./cmd/{program}" for program in recipe["programs"]],
        work,
        log,
        linker=f"{_LAZY} -X {_DEVICE_PLUGIN}/internal/info.version={recipe['version']}",
        tags="netgo,osusergo",
        cgo=True,
    )


def _device_plugin(wanted: Path, work: Path, log: Path) -> Artifact:
    recipe = _recipe("images.yml")["device_plugin"]
    programs = Layer(files={f"/usr/bin/{program}": work / program for program in recipe["programs"]})
    layers = (Layer(base=_root("device-plugin", recipe, work, log)), programs)
    image = Image((image_name("device_plugin"),), layers, entrypoint=(f"/usr/bin/{recipe['programs'][0]}",))
    return _archive(wanted, "nvidia-device-plugin", image)


def _gpu_check(wanted: Path, work: Path, log: Path) -> Artifact:
    root = _root("gpu-check", _recipe("images.yml")["gpu_check"], work, log)
    return _archive(wanted, "gpu-check", Image((image_name("gpu_check"),), (Layer(base=root),)))


def _chart(go: Path, recipe: dict[str, Any], wanted: Path, work: Path, log: Path) -> list[Artifact]:
    """The Helm chart of the device plugin's release, and the helm that installs it."""
    helm = _recipe("chart.yml")["helm"]
    gobuild.install(go, [f"{_HELM}/cmd/helm"], helm, work, log, linker=f"-X {_HELM}/internal/version.version={helm}")
    chart = gobuild.module_source(go, _DEVICE_PLUGIN, recipe["version"], recipe["sum"]) / "deployments/helm" / _CHART
    run([work / "helm", "package", chart, "--destination", work])
    version, arch = recipe["version"].removeprefix("v"), architecture()
    made = {
        work / "helm": Artifact(f"nvidia/helm/{helm}/linux-{arch}/helm", "binary", "helm", helm, arch),
        work / f"{_CHART}-{version}.tgz": Artifact(
            f"nvidia/chart/{version}/{_CHART}-{version}.tgz", "chart", f"{_CHART}-chart", version, arch
        ),
    }
    for path, artifact in made.items():
        (wanted / artifact.path).parent.mkdir(parents=True, exist_ok=True)
        path.replace(wanted / artifact.path)
    return list(made.values())


def _root(name: str, recipe: dict[str, Any], work: Path, log: Path) -> Path:
    """An archive of the system in an image: packages of Debian."""
    root = work / f"{name}.tar"
    # As in the image that it stands for: without a cache, NVIDIA's toolkit cannot add its libraries to it.
    options = ['--extract-hook=ldconfig -r "$1"']
    debian.mmdebstrap(debian.source("bookworm"), "extract", recipe["packages"], root, log, options)
    return root


def _archive(wanted: Path, name: str, image: Image) -> Artifact:
    version = image.names[0].rpartition(":")[2]
    relative = f"nvidia/{name}/{version}/linux-{architecture()}/images.tar"
    path = wanted / relative
    path.parent.mkdir(parents=True, exist_ok=True)
    imagearchive.write(path, [image], architecture())
    return Artifact(relative, "images", name, version, architecture(), image.names)
