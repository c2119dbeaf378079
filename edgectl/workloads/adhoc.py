"""An entry made of an image's name, for `edgectl run`: the same form as the catalogue's, so the same road."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from edgectl import content
from edgectl.errors import Problems, UsageError
from edgectl.workloads import registry
from edgectl.workloads.catalogue import Workload
from edgectl.workloads.request import Wish

# A CronJob adds eleven signs to its name for each of its jobs.
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,50}[a-z0-9])?")
_IMAGE = re.compile(r"(?P<path>[^:@]+(?::\d+/[^:@]+)?)(?::(?P<tag>[^@]+))?(?:@(?P<digest>sha256:[0-9a-f]{64}))?")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")


@dataclass(frozen=True)
class Image:
    """An image's name in parts. repository: with its registry; tag and digest are empty where they were not given."""

    repository: str
    tag: str = ""
    digest: str = ""

    @property
    def short(self) -> str:
        return self.repository.rpartition("/")[2]


@dataclass(frozen=True)
class Ask:
    """What `edgectl run` was asked for. kind: as in an entry. memory: a quantity such as 4Gi."""

    kind: str = "pod"
    name: str = ""
    command: Sequence[str] = ()
    environment: Sequence[str] = ()
    volumes: Sequence[str] = ()
    memory: str = "1Gi"
    gpus: int = 1
    port: int = 0
    schedule: str = ""
    seconds: int = 3600
    keep_seconds: int = 0


def parse(text: str) -> Image:
    """`dustynv/ros:humble` as docker reads it: Docker Hub is the registry of a name without one.

    Raises UsageError for what is no image's name.
    """
    found = _IMAGE.fullmatch(text)
    path = found["path"] if found else ""
    if not found or not re.fullmatch(r"[a-z0-9][a-z0-9._:/-]*[a-z0-9]", path) or "//" in path:
        raise UsageError(
            f"{text}: that is no image's name", fix="such as dustynv/pytorch or nvcr.io/nvidia/pytorch:25.01-py3"
        )
    host, slash, _ = path.partition("/")
    if not slash:
        path = f"docker.io/library/{path}"
    elif "." not in host and ":" not in host and host != "localhost":
        path = f"docker.io/{path}"
    if found["digest"] and not found["tag"]:
        raise UsageError(f"{text}: it has a digest and no tag", fix="write NAME:TAG@sha256:...")
    return Image(path, found["tag"] or "", found["digest"] or "")


def workload(text: str, ask: Ask, names: Sequence[str], tags: Callable[[str], list[str]] = registry.tags) -> Workload:
    """The entry. names: those of the catalogue, which are taken.

    Raises UsageError or Problems for what can't be meant, or where a registry has to be asked and does not answer.
    """
    image = parse(text)
    usual = re.sub(r"[^a-z0-9]+", "-", image.short).strip("-")
    name = ask.name or (f"{usual}-run" if usual in names else usual)
    if name in names:
        raise UsageError(f"--name {name}: the catalogue has a workload of this name", fix=f"edgectl deploy {name}")
    if not _NAME.fullmatch(name):
        raise UsageError(f"--name {name}: lower-case letters, digits and -, at most 52", fix="--name NAME")
    entry: dict[str, Any] = {
        "title": name,
        "kind": ask.kind,
        "category": "ml",
        "summary": f"{text}, by edgectl run",
        "needs": {"gpu": "required" if ask.gpus else "none", "memory_mib": _mib(ask.memory)},
        "images": _images(image, tags),
        "readiness": {"seconds": ask.seconds},
        "proof": {"level": "rendered"},
        "sources": ["edgectl run"],
        "literal": True,
    }
    if ask.gpus > 1:
        entry["needs"]["gpus"] = ask.gpus
    if ask.port:
        entry |= {"port": ask.port, "check": {"kind": "tcp"}, "login": False}
    if ask.keep_seconds:
        entry["keep_seconds"] = ask.keep_seconds
    for key, value in (
        ("args", list(ask.command)),
        ("schedule", ask.schedule),
        ("environment", _environment(ask.environment)),
        ("volumes", [_volume(one) for one in ask.volumes]),
    ):
        if value:
            entry[key] = value
    wrong = content.module_util("edgectl_workload_entry").problems(entry)
    if wrong:
        raise Problems([UsageError(f"{text}: {key} {what}", fix=fix) for key, what, fix in wrong])
    return Workload(name, entry)


def words(text: str, ask: Ask, wish: Wish, *, rm: bool) -> list[str]:
    """The command line that asks for the same; the inventory comes after its last word but the user's command."""
    usual, anywhere = Ask(), Wish()
    found = ["run", text]
    found += {"job": ["--job"], "cronjob": ["--schedule", ask.schedule], "shell": ["-it"]}.get(ask.kind, [])
    for option, value, default in (
        ("--port", ask.port, usual.port),
        ("--memory", ask.memory, usual.memory),
        ("--name", ask.name, usual.name),
        ("--timeout", ask.seconds, usual.seconds),
        ("--gpu", ask.gpus or usual.gpus, usual.gpus),
        ("--node", wish.node, anywhere.node),
        ("--platform", wish.platform, anywhere.platform),
        ("--namespace", wish.namespace, anywhere.namespace),
    ):
        found += [option, str(value)] if value != default else []
    found += [word for one in ask.environment for word in ("--env", one)]
    found += [word for one in ask.volumes for word in ("--volume", one)]
    found += [] if ask.gpus else ["--cpu"]
    found += ["--rm"] if rm else []
    found += [] if wish.wait else ["--no-wait"]
    return [*found, "-i", *(["--", *ask.command] if ask.command else [])]


def _images(image: Image, tags: Callable[[str], list[str]]) -> list[dict[str, Any]]:
    """One image for all nodes, or a list of tags of which each Jetson gets its own."""
    rules = content.module_util("edgectl_image_tags")
    common: dict[str, Any] = {"source": "edgectl run", **({"digest": image.digest} if image.digest else {})}
    board = {"platform": "jetson", "arch": ["arm64"], **common}
    whole = f"{image.repository}:{image.tag}"
    if rules.release_of(image.tag):
        return [{**board, "repository": image.repository, "tags": [image.tag]}]
    if image.tag.endswith("-igpu"):
        return [{**board, "image": whole}]
    listed = registry.known().get(image.repository, [])
    if image.tag and any(rules.begins(tag, image.tag) for tag in listed):
        return [{**board, "repository": image.repository, "tags": listed, "tag_prefix": image.tag}]
    if image.tag:
        return [{"platform": "any", "arch": ["amd64", "arm64"], "image": whole, "moving": True, **common}]
    told = listed or tags(image.repository)
    released = [tag for tag in told if rules.release_of(tag)]
    if not released:
        some = ", ".join(sorted(told)[-5:])
        raise UsageError(
            f"{image.repository}: which tag?",
            f"none of its tags names a release of Jetson Linux; the last of them: {some}" if some else "it has none",
            f"{image.repository}:TAG",
        )
    return [{**board, "repository": image.repository, "tags": released}]


def _mib(text: str) -> int:
    found: int = content.module_util("edgectl_workload_fit").mib(text)
    if not found:
        raise UsageError(f"--memory {text}: it is no amount of memory", fix="such as --memory 4Gi or 512Mi")
    return found


def _environment(given: Sequence[str]) -> dict[str, str]:
    found = {}
    for word in given:
        key, equals, value = word.partition("=")
        if not equals or not value or not _VARIABLE.fullmatch(key):
            raise UsageError(f"--env {key}: it has no value, or is no variable's name", fix="--env KEY=VALUE")
        found[key] = value
    return found


def _volume(text: str) -> dict[str, str]:
    name, _, path = text.partition(":")
    if not re.fullmatch(r"[a-z0-9-]+", name) or not path.startswith("/") or path == "/":
        raise UsageError(f"--volume {text}: it is not NAME:/path", fix="such as --volume data:/data")
    return {"name": name, "path": path}
