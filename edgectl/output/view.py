"""What a live display shows, kept up to date by events. Knows no terminal, so that it can be tested as data."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from edgectl.run.events import (
    Event,
    HostDone,
    HostStarted,
    PhaseFinished,
    PhaseStarted,
    Status,
    Tally,
    TaskStarted,
    Waiting,
    Warned,
)


class Mark(StrEnum):
    """How a phase or a host stands."""

    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


@dataclass
class PhaseRow:
    """A line of the list of phases."""

    name: str
    mark: Mark = Mark.RUNNING
    started: float = 0.0
    seconds: float = 0.0
    changes: int = 0
    failed: set[str] = field(default_factory=set)


@dataclass
class HostRow:
    """A host: what it is doing, and how often it was changed."""

    name: str
    mark: Mark = Mark.PENDING
    doing: str = ""
    since: float = 0.0
    changes: int = 0


class View:
    """The whole display. `lines` are those that scroll away above it: failures and warnings."""

    def __init__(self, phases: Iterable[str] = (), on_line: Callable[[str, str], None] | None = None) -> None:
        self.phases = [PhaseRow(name, Mark.PENDING) for name in phases]
        self.hosts: dict[str, HostRow] = {}
        self.task = ""
        self._current: PhaseRow | None = None
        self._on_line = on_line or (lambda _style, _text: None)
        self._warned: set[str] = set()

    def take(self, event: Event) -> None:
        match event:
            case PhaseStarted():
                self._phase_started(event)
            case PhaseFinished():
                self._phase_finished(event)
            case TaskStarted():
                self.task = event.task
            case HostStarted():
                self._begin(event.host, event.task, event.time)
            case Waiting():
                row = self._row(event.host)
                row.doing = f"waiting: {event.task} (attempt {event.attempt} of {event.attempts})"
            case HostDone():
                self._host_done(event)
            case Tally():
                self._tally(event)
            case Warned(level="warning" | "error") if event.text not in self._warned:
                self._warned.add(event.text)
                self._on_line("warning", event.text)

    def _row(self, host: str) -> HostRow:
        return self.hosts.setdefault(host, HostRow(host))

    def _phase_started(self, event: PhaseStarted) -> None:
        row = next((row for row in self.phases if row.name == event.phase and row.mark is Mark.PENDING), None)
        if row is None:
            row = PhaseRow(event.phase)
            self.phases.append(row)
        row.mark, row.started = Mark.RUNNING, event.time
        self._current = row

    def _phase_finished(self, event: PhaseFinished) -> None:
        if self._current is not None:
            self._current.seconds = event.seconds
            self._current.mark = Mark.FAILED if self._current.failed else Mark.DONE
            self._current = None
        for row in self.hosts.values():
            if row.mark is Mark.RUNNING:
                row.mark, row.doing = Mark.DONE, ""

    def _begin(self, host: str, task: str, now: float) -> None:
        row = self._row(host)
        # A host that fails gets no more tasks, unless a rescue took the failure up.
        if row.mark is Mark.FAILED and self._current is not None:
            self._current.failed.discard(host)
        row.mark, row.doing, row.since = Mark.RUNNING, task, now

    def _host_done(self, event: HostDone) -> None:
        row = self._row(event.host)
        row.doing = ""
        if event.status is Status.CHANGED:
            row.changes += 1
            if self._current is not None:
                self._current.changes += 1
        if event.status in (Status.FAILED, Status.UNREACHABLE) and event.failure is not None:
            row.mark, row.doing = Mark.FAILED, event.task
            if self._current is not None:
                self._current.failed.add(event.host)
            self._on_line("failure", f"{event.host}: {event.task}: {event.failure.message}")

    def _tally(self, event: Tally) -> None:
        for host, counts in event.hosts.items():
            bad = counts.get("failures", 0) or counts.get("dark", 0)
            self._row(host).mark = Mark.FAILED if bad else Mark.DONE
