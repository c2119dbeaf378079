"""The catalogue: workloads/NAME/workload.yml, read and checked."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from edgectl import content
from edgectl.errors import EdgectlError, Problems, UsageError
from edgectl.inventory.documents import did_you_mean

FILE = "workload.yml"
# In the order in which they are shown.
CATEGORIES = {
    "llm": "Language models",
    "ui": "User interfaces",
    "vision": "Vision and images",
    "rag": "Retrieval and agents",
    "speech": "Speech",
    "home": "Home automation",
    "robotics": "Robotics",
    "ml": "Machine learning",
    "serving": "Model serving",
}


@dataclass(frozen=True)
class Workload:
    """An entry. data: what its file says (plugins/module_utils/edgectl_workload_entry.py tells the form)."""

    name: str
    data: Mapping[str, Any]

    @property
    def title(self) -> str:
        return str(self.data["title"])

    @property
    def category(self) -> str:
        return str(self.data["category"])

    @property
    def platforms(self) -> list[str]:
        """For which platforms there is an image, in the order of the file."""
        return list(dict.fromkeys(image["platform"] for image in self.data["images"]))

    def values(self, given: Mapping[str, str]) -> dict[str, Any]:
        """The value of every parameter. Raises Problems for those that can't be."""
        chosen, wrong = _form().values(self.data, dict(given))
        _raise([UsageError(f"{self.name}: --set {key}: it {what}", fix=fix) for key, what, fix in wrong])
        return dict(chosen)


@dataclass(frozen=True)
class Bundle:
    """Entries that are deployed together, in this order; the last is the one that people open."""

    name: str
    data: Mapping[str, Any]
    parts: tuple[Workload, ...]

    @property
    def title(self) -> str:
        return str(self.data["title"])

    def values(self, given: Mapping[str, str]) -> dict[str, dict[str, Any]]:
        """By part: the value of every parameter. Each that is given goes to all parts that have it.

        Raises Problems for those that no part has, and for values that can't be.
        """
        known = {key for part in self.parts for key in part.data.get("parameters", {})}
        names = ", ".join(sorted(known))
        _raise([UsageError(f"{self.name}: --set {key}: it is no parameter of its parts", fix=f"known: {names}")
                for key in given if key not in known])  # fmt: skip
        return {part.name: part.values({key: given[key] for key in given if key in part.data.get("parameters", {})})
                for part in self.parts}  # fmt: skip


def directory() -> Path:
    """Where the entries are."""
    return content.root() / "workloads"


def read(place: Path | None = None) -> dict[str, Workload]:
    """All entries by name, bundles not among them. Raises Problems with every mistake in every file."""
    found, problems = {}, []
    for file in sorted((place or directory()).glob(f"*/{FILE}")):
        try:
            workload = read_file(file)
            if "bundle" not in workload.data:
                found[workload.name] = workload
        except Problems as error:
            problems += error.problems
        except EdgectlError as error:
            problems.append(error)
    _raise(problems)
    for workload in found.values():
        for other in workload.data.get("requires", ()):
            if other not in found:
                problems.append(_mistake(workload.name, "requires", f"names {other}, which is no entry", ""))
    _raise(problems)
    return found


def bundles(place: Path | None = None) -> dict[str, Bundle]:
    """All bundles by name. Raises Problems for parts that are no entries."""
    known, found, problems = read(place), {}, []
    for file in sorted((place or directory()).glob(f"*/{FILE}")):
        if file.parent.name in known:
            continue
        name, data = file.parent.name, read_file(file).data
        for part in data["bundle"]:
            if part not in known:
                problems.append(_mistake(name, "bundle", f"names {part}, which is no entry", ", ".join(known)))
        found[name] = Bundle(name, data, tuple(known[part] for part in data["bundle"] if part in known))
    _raise(problems)
    return found


def read_file(file: Path) -> Workload:
    """One entry. Raises UsageError for YAML that can't be read, Problems for what has not the form of an entry."""
    import yaml

    try:
        data = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise UsageError(f"{file} can't be read", str(error).replace("\n", " "), "correct its YAML") from error
    name = file.parent.name
    _raise([_mistake(name, key, what, fix) for key, what, fix in _form().problems(data)])
    return Workload(name, data)


def find(name: str) -> Workload:
    """An entry by its name. Raises UsageError for one that is not there, and for a bundle."""
    found = choose(name)
    if isinstance(found, Bundle):
        names = [part.name for part in found.parts]
        raise UsageError(f"{name} is {' and '.join(names)}", "this is for one of them", f"name {' or '.join(names)}")
    return found


def choose(name: str) -> Workload | Bundle:
    """An entry or a bundle by its name. Raises UsageError for one that is not there."""
    known: dict[str, Workload | Bundle] = {**read(), **bundles()}
    if name not in known:
        near = did_you_mean(name, known)
        raise UsageError(
            f"{name} is not in the catalogue",
            f"it has {', '.join(known)}",
            f"did you mean {near}?" if near else "edgectl catalog",
        )
    return known[name]


def choose_or_own(name: str) -> Workload | Bundle:
    """An entry or a bundle by its name, or what `edgectl run` may have made under it.

    Raises UsageError for what can be neither.
    """
    known: dict[str, Workload | Bundle] = {**read(), **bundles()}
    if name in known:
        return known[name]
    if not re.fullmatch(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?", name):
        raise UsageError(f"{name} is no name of a workload", fix="edgectl catalog")
    near = did_you_mean(name, known)
    return Workload(name, {"title": name, **({"near": near} if near else {})})


def settings(given: Sequence[str]) -> dict[str, str]:
    """`--set KEY=VALUE` as a mapping. Raises UsageError for one without `=`."""
    found = {}
    for word in given:
        key, equals, value = word.partition("=")
        if not equals or not key:
            raise UsageError(
                f"--set {word}: it has no value", fix="--set KEY=VALUE; `edgectl catalog NAME` lists the keys"
            )
        found[key] = value
    return found


@cache
def _form() -> Any:  # noqa: ANN401 - a module
    return content.module_util("edgectl_workload_entry")


def _mistake(name: str, key: str, what: str, fix: str) -> UsageError:
    return UsageError(f"workloads/{name}/{FILE}: {key} {what}", fix=fix)


def _raise(problems: Sequence[EdgectlError]) -> None:
    if problems:
        raise Problems(problems)
