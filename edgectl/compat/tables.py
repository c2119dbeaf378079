"""The tables of data/, read, checked and frozen. Every entry names the sources that it was taken from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from edgectl.errors import EdgectlError

DIRECTORY = Path(__file__).parent / "data"
Level = Literal["supported", "best effort", "refused"]
Text = Annotated[str, Field(min_length=1)]
Version = Annotated[str, Field(pattern=r"^\d+(\.\d+){0,2}$")]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Source(_Frozen):
    """Where a fact was read, and in which month (YYYY-MM)."""

    text: Text
    date: Annotated[str, Field(pattern=r"^\d{4}-\d{2}$")]


class Entry(_Frozen):
    """Anything that a table says. sources: keys of the same file's sources."""

    sources: Annotated[tuple[str, ...], Field(min_length=1)]


class Release(Entry):
    """A Jetson Linux (L4T) release. toolkit: version of nvidia-container-toolkit in its package repository."""

    l4t: Annotated[str, Field(pattern=r"^\d+\.\d+\.\d+$")]
    jetpack: Text
    ubuntu: Version
    kernel: Text
    cuda: Version
    boards: Annotated[tuple[Text, ...], Field(min_length=1)]
    toolkit: str | None = None
    level: Level
    why: Text


class KernelLine(Entry):
    """The kernels of some releases, from L4T `since` on, before `until`. Options stand without CONFIG_."""

    name: Text
    since: Version
    until: Version | None = None
    kernel: Version
    built_in: tuple[Text, ...]
    modules: tuple[Text, ...]
    absent: tuple[Text, ...]

    @model_validator(mode="after")
    def _says_each_option_once(self) -> Self:
        named = [*self.built_in, *self.modules, *self.absent]
        twice = sorted({option for option in named if named.count(option) > 1})
        if twice:
            raise ValueError(f"{self.name} names {', '.join(twice)} twice")
        return self

    @property
    def options(self) -> dict[str, bool]:
        """Whether the kernel has an option, for those that are known."""
        return dict.fromkeys((*self.built_in, *self.modules), True) | dict.fromkeys(self.absent, False)


class Feature(Entry):
    """A network stack or a part of one, with all options that it needs and features of which it needs one."""

    id: Annotated[str, Field(pattern=r"^[a-z0-9_]+$")]
    name: Text
    about: str = ""
    needs: tuple[Text, ...]
    needs_one_of: tuple[str, ...] = ()


class Minimum(Entry):
    """The containerd that a Kubernetes, and all that come after it, cannot do without."""

    kubernetes: Version
    containerd: Version


class Tested(Entry):
    """Per series of containerd, the oldest release that its makers test with a Kubernetes."""

    kubernetes: Version
    containerd: Annotated[tuple[Version, ...], Field(min_length=1)]


class CgroupLimit(Entry):
    """The first Kubernetes that refuses cgroup v1."""

    kubernetes: Version


class Driver(Entry):
    """The oldest NVIDIA driver for programs of a CUDA release."""

    cuda: Version
    driver: Version


class System(Entry):
    """An operating system by ID and VERSION_ID of its /etc/os-release."""

    id: Text
    version: Version
    level: Level
    why: Text


class Architecture(Entry):
    """As `uname -m` names it."""

    name: Text


class _File(_Frozen):
    sources: dict[str, Source]

    @model_validator(mode="after")
    def _has_every_source_that_is_named(self) -> Self:
        used = {source for entry in self.entries() for source in entry.sources}
        unknown, unused = sorted(used - set(self.sources)), sorted(set(self.sources) - used)
        if unknown:
            raise ValueError(f"no source is called {', '.join(unknown)}")
        if unused:
            raise ValueError(f"nothing is taken from the source {', '.join(unused)}")
        return self

    def entries(self) -> Iterator[Entry]:
        """Everything in the file that has sources."""
        for name in type(self).model_fields:
            value = getattr(self, name)
            yield from (
                entry for entry in (value if isinstance(value, tuple) else (value,)) if isinstance(entry, Entry)
            )


class Jetpack(_File):
    """jetpack.yml"""

    releases: tuple[Release, ...]


class Kernel(_File):
    """kernel.yml"""

    lines: tuple[KernelLine, ...]
    features: tuple[Feature, ...]

    @model_validator(mode="after")
    def _has_the_features_that_others_need(self) -> Self:
        """Earlier ones only, so that a feature can be judged when those it needs are."""
        known: set[str] = set()
        for feature in self.features:
            unknown = set(feature.needs_one_of) - known
            if unknown:
                raise ValueError(f"{feature.id} needs {', '.join(sorted(unknown))}, which do not stand before it")
            known.add(feature.id)
        return self


class Kubernetes(_File):
    """kubernetes.yml"""

    minimum: tuple[Minimum, ...]
    tested: tuple[Tested, ...]
    cgroup_v1_refused_from: CgroupLimit


class Drivers(_File):
    """drivers.yml"""

    drivers: tuple[Driver, ...]


class Systems(_File):
    """systems.yml"""

    systems: tuple[System, ...]
    architectures: tuple[Architecture, ...]


class Tables(_Frozen):
    """All files of data/, each by its name."""

    jetpack: Jetpack
    kernel: Kernel
    kubernetes: Kubernetes
    drivers: Drivers
    systems: Systems

    def entries(self) -> Iterator[tuple[str, Entry, tuple[Source, ...]]]:
        """Every entry with its file's name and its sources."""
        for name in type(self).model_fields:
            file: _File = getattr(self, name)
            for entry in file.entries():
                yield name, entry, tuple(file.sources[source] for source in entry.sources)


def load(directory: Path) -> Tables:
    """Read the tables of a directory; raises EdgectlError that names what is wrong with them."""
    import yaml

    try:
        files = {name: yaml.safe_load((directory / f"{name}.yml").read_text("utf-8")) for name in Tables.model_fields}
        return Tables.model_validate(files)
    except (OSError, yaml.YAMLError, ValidationError) as error:
        raise EdgectlError(f"the compatibility tables in {directory} cannot be used", str(error)) from error


@cache
def shipped() -> Tables:
    """The tables that edgectl brings along."""
    return load(DIRECTORY)


def numbers(version: str) -> tuple[int, ...]:
    """A version to compare: `36.4` is (36, 4, 0), `1.7.24~ds1` is (1, 7, 24)."""
    found = re.match(r"\d+(?:\.\d+)*", version)
    parts = [int(part) for part in found[0].split(".")[:3]] if found else []
    return tuple(parts + [0] * (3 - len(parts)))
