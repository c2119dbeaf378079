"""What happens during a run, as dataclasses. Renderers and the run log all live on these and on nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Status(StrEnum):
    """How one task ended on one host."""

    OK = "ok"
    CHANGED = "changed"
    SKIPPED = "skipped"
    FAILED = "failed"
    IGNORED = "ignored"
    UNREACHABLE = "unreachable"


@dataclass(frozen=True)
class Event:
    """Something that happened; `time` is Unix time in seconds."""

    time: float


@dataclass(frozen=True)
class PhaseStarted(Event):
    """A play began."""

    phase: str


@dataclass(frozen=True)
class PhaseFinished(Event):
    """A play ended, because another one or the final tally began."""

    phase: str
    seconds: float


@dataclass(frozen=True)
class TaskStarted(Event):
    """Some hosts begin a task; which ones, `HostStarted` says."""

    task: str
    role: str
    handler: bool


@dataclass(frozen=True)
class HostStarted(Event):
    """One host begins a task."""

    host: str
    task: str


@dataclass(frozen=True)
class Waiting(Event):
    """A task with `until` did not succeed yet and will be tried again; `message` is what it said, in one line."""

    host: str
    task: str
    attempt: int
    attempts: int
    message: str = ""


@dataclass(frozen=True)
class Failure:
    """A task that failed on a host, with what its module said. `findings` are those of preflight."""

    host: str
    phase: str
    task: str
    role: str = ""
    action: str = ""
    message: str = ""
    rc: int | None = None
    stderr: str = ""
    items: tuple[str, ...] = ()
    findings: tuple[Mapping[str, Any], ...] = ()
    delegated_to: str = ""
    unreachable: bool = False


@dataclass(frozen=True)
class HostDone(Event):
    """One host ended a task. A failure may still be absorbed by a `rescue`; the tally at the end tells.

    diff: what the task changed, or would change, as far as its module says so (runs with --diff).
    """

    host: str
    task: str
    role: str
    action: str
    status: Status
    seconds: float
    failure: Failure | None = None
    diff: str = ""
    result: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Restarted(Event):
    """A unit was restarted on a host, or would be by a run that is no dry run."""

    host: str
    unit: str


@dataclass(frozen=True)
class Noted(Event):
    """A role has something to tell about a host that is no failure (a task of `debug` with a message)."""

    host: str
    text: str


@dataclass(frozen=True)
class Warned(Event):
    """Ansible says something outside of any task: a warning, a deprecation, an error in a playbook."""

    level: str
    text: str


@dataclass(frozen=True)
class Tally(Event):
    """Ansible's own count at the end: host -> {ok, changed, failures, dark, skipped, rescued, ignored}."""

    hosts: Mapping[str, Mapping[str, int]]
