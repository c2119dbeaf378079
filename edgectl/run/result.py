"""What came of a run, gathered from its events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from edgectl.run.events import (
    Event,
    Failure,
    HostDone,
    HostStarted,
    Noted,
    PhaseFinished,
    PhaseStarted,
    Restarted,
    Status,
    Tally,
    Warned,
)
from edgectl.run.reader import SUMMARY_KEY


class RunStatus(StrEnum):
    """How a run ended."""

    SUCCESSFUL = "successful"
    FAILED = "failed"
    UNREACHABLE = "unreachable"
    CANCELED = "canceled"


@dataclass(frozen=True)
class PhaseTime:
    """A phase and how long it took."""

    name: str
    seconds: float


@dataclass(frozen=True)
class Change:
    """A task that changed a host."""

    host: str
    phase: str
    task: str
    diff: str = ""


@dataclass(frozen=True)
class RunResult:
    """A finished run. `failures` are those that nothing absorbed; `ignored` are the others.

    `busy` names, for a canceled run, each host that may still be in the middle of a task, and the task.
    `restarts` are the units that were restarted, or would be by a run that is no dry run: unit -> its hosts.
    `notes` is what roles had to tell besides: text -> the hosts that it was said of.
    `summary` is what the playbook's last phase says about the cluster (key `edgectl_summary`).
    """

    run_id: str
    status: RunStatus
    seconds: float
    started: float
    log_path: Path
    hosts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    phases: tuple[PhaseTime, ...] = ()
    failures: tuple[Failure, ...] = ()
    ignored: tuple[Failure, ...] = ()
    changes: tuple[Change, ...] = ()
    unreachable: tuple[str, ...] = ()
    busy: Mapping[str, str] = field(default_factory=dict)
    restarts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    notes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    summary: Mapping[str, Any] = field(default_factory=dict)
    output: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return self.status is RunStatus.SUCCESSFUL


class Gatherer:
    """Takes the events of a run and tells what came of it."""

    def __init__(self) -> None:
        self._phase = ""
        self._phases: list[PhaseTime] = []
        self._failed: list[Failure] = []
        self._ignored: list[Failure] = []
        self._unreachable: list[Failure] = []
        self._changes: list[Change] = []
        self._busy: dict[str, str] = {}
        self._tally: Mapping[str, Mapping[str, int]] | None = None
        self._summary: Mapping[str, Any] = {}
        self._restarts: dict[str, tuple[str, ...]] = {}
        self._notes: dict[str, tuple[str, ...]] = {}
        self._output: list[str] = []

    def take(self, event: Event) -> None:
        match event:
            case PhaseStarted():
                self._phase = event.phase
            case PhaseFinished():
                self._phases.append(PhaseTime(event.phase, event.seconds))
            case HostStarted():
                self._busy[event.host] = event.task
            case HostDone():
                self._host_done(event)
            case Tally():
                self._tally = event.hosts
            case Restarted():
                hosts = self._restarts.get(event.unit, ())
                self._restarts[event.unit] = hosts if event.host in hosts else (*hosts, event.host)
            case Noted():
                self._notes[event.text] = (*self._notes.get(event.text, ()), event.host)
            case Warned(level="error" | "verbose"):
                self._output.append(event.text)

    def _host_done(self, event: HostDone) -> None:
        self._busy.pop(event.host, None)
        if event.status is Status.CHANGED:
            self._changes.append(Change(event.host, self._phase, event.task, event.diff))
        if SUMMARY_KEY in event.result:
            self._summary = event.result[SUMMARY_KEY]
        if event.failure is None:
            return
        by_status = {
            Status.FAILED: self._failed,
            Status.IGNORED: self._ignored,
            Status.UNREACHABLE: self._unreachable,
        }
        by_status[event.status].append(event.failure)

    def result(self, *, run_id: str, rc: int, canceled: bool, started: float, seconds: float, log: Path) -> RunResult:
        """The verdict. Ansible's exit code 4 means unreachable hosts or an unreadable playbook: the tally decides."""
        failures, absorbed = self._sort_failures()
        unreachable = tuple(dict.fromkeys(failure.host for failure in self._unreachable))
        if canceled:
            status = RunStatus.CANCELED
        elif rc == 0 and not failures and not unreachable:
            status = RunStatus.SUCCESSFUL
        elif unreachable and not failures:
            status = RunStatus.UNREACHABLE
        else:
            status = RunStatus.FAILED
        return RunResult(
            run_id=run_id,
            status=status,
            seconds=seconds,
            started=started,
            log_path=log,
            hosts=self._tally or {},
            phases=tuple(self._phases),
            failures=tuple(failures) + tuple(self._unreachable),
            ignored=tuple(self._ignored) + tuple(absorbed),
            changes=tuple(self._changes),
            unreachable=unreachable,
            busy=dict(self._busy) if canceled else {},
            restarts=self._restarts,
            notes=self._notes,
            summary=self._summary,
            output=tuple(self._output),
        )

    def _sort_failures(self) -> tuple[list[Failure], list[Failure]]:
        """Tell failures from those that a `rescue` absorbed: a host's last ones are real, as many as the tally says."""
        if self._tally is None:
            return list(self._failed), []
        real: list[Failure] = []
        absorbed: list[Failure] = []
        left = {host: counts.get("failures", 0) for host, counts in self._tally.items()}
        for failure in reversed(self._failed):
            if left.get(failure.host, 0) > 0:
                left[failure.host] -= 1
                real.insert(0, failure)
            else:
                absorbed.insert(0, failure)
        return real, absorbed
