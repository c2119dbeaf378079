"""What a live display shows, kept up to date by events. Knows no terminal, so that it can be tested as data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
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
    Waiting,
    Warned,
)


class Mark(StrEnum):
    """How a phase, a host, or a host in a phase stands. Absent: the host has no part in the phase."""

    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"
    ABSENT = "absent"


@dataclass
class PhaseRow:
    """A phase of the run."""

    name: str
    mark: Mark = Mark.RUNNING
    started: float = 0.0
    seconds: float = 0.0
    changes: int = 0
    failed: set[str] = field(default_factory=set)

    def elapsed(self, now: float) -> float:
        """Seconds that it has taken, or took."""
        return max(0.0, now - self.started) if self.mark is Mark.RUNNING else self.seconds


@dataclass
class Cell:
    """A host in a phase."""

    mark: Mark = Mark.RUNNING
    changes: int = 0


@dataclass
class HostRow:
    """A host: what it is doing since when, what it waits for, and how it fared in each phase (by its number)."""

    name: str
    mark: Mark = Mark.PENDING
    doing: str = ""
    since: float = 0.0
    waiting: Waiting | None = None
    changes: int = 0
    cells: dict[int, Cell] = field(default_factory=dict)

    @property
    def busy(self) -> bool:
        """Whether it is in the middle of a task, rather than waiting for the others to end theirs."""
        return self.mark is Mark.RUNNING and bool(self.doing)


# Of several hosts that share a row, the one that counts.
_WORST_FIRST = (Mark.FAILED, Mark.STOPPED, Mark.RUNNING, Mark.PENDING, Mark.DONE, Mark.ABSENT)


class View:
    """The whole display. `on_line` gets what scrolls away above it: failures and warnings.

    hosts: those that will take part, so that they are shown from the first moment on.
    former: phase -> seconds in a former run, for an estimate of the time left.
    """

    def __init__(
        self,
        phases: Iterable[str] = (),
        on_line: Callable[[str, str], None] | None = None,
        *,
        hosts: Iterable[str] = (),
        former: Mapping[str, float] | None = None,
    ) -> None:
        self.phases = [PhaseRow(name, Mark.PENDING) for name in phases]
        self.hosts = {name: HostRow(name) for name in hosts}
        self.started: float | None = None
        self.ended: float | None = None
        self._former = former or {}
        self._current: int | None = None
        self._latest = 0.0
        self._cut_short: tuple[int, list[HostRow]] | None = None
        self._on_line = on_line or (lambda _style, _text: None)
        self._warned: set[str] = set()

    def take(self, event: Event) -> None:
        self._latest = event.time
        if self.started is None:
            self.started = event.time
        match event:
            case PhaseStarted():
                self._phase_started(event)
            case PhaseFinished():
                self._phase_finished(event)
            case HostStarted():
                self._begin(event.host, event.task, event.time)
            case Waiting():
                self._row(event.host).waiting = event
            case HostDone():
                self._host_done(event)
            case Tally():
                self._tally(event)
            case Warned(level="warning" | "error") if event.text not in self._warned:
                self._warned.add(event.text)
                self._on_line("warning", event.text)

    def end(self) -> None:
        """No more events will come. Without a tally the run was stopped, and who was at work has not done it all."""
        if self.ended is not None or self.started is None:
            return
        self.ended = self._latest
        if self._cut_short is not None:
            number, rows = self._cut_short
            self.phases[number].mark = Mark.STOPPED
            for row in rows:
                row.mark = row.cells[number].mark = Mark.STOPPED

    def elapsed(self, now: float) -> float:
        """Seconds since the run's first event, up to its last."""
        if self.started is None:
            return 0.0
        return max(0.0, (now if self.ended is None else self.ended) - self.started)

    def remaining(self, now: float) -> float | None:
        """Seconds that are left if each phase takes as long as in the former run; None when there is none to go by."""
        if self.started is None or self.ended is not None:
            return None
        left = 0.0
        for row in self.phases:
            if row.mark not in (Mark.PENDING, Mark.RUNNING):
                continue
            if row.name not in self._former:
                return None
            left += max(0.0, self._former[row.name] - row.elapsed(now))
        return left

    def cell(self, row: HostRow, number: int) -> Cell:
        """How a host stands in a phase."""
        if number in row.cells:
            return row.cells[number]
        over = self.phases[number].mark not in (Mark.PENDING, Mark.RUNNING)
        out = row.mark in (Mark.FAILED, Mark.STOPPED)
        return Cell(Mark.ABSENT if over or out else Mark.PENDING)

    def together(self, rows: Sequence[HostRow], number: int) -> Cell:
        """Several hosts in a phase as one cell: the worst of their marks, the sum of their changes."""
        cells = [self.cell(row, number) for row in rows]
        mark = min((cell.mark for cell in cells), key=_WORST_FIRST.index, default=Mark.ABSENT)
        return Cell(mark, sum(cell.changes for cell in cells))

    def folded(self, most: int) -> tuple[list[HostRow], list[HostRow]]:
        """The hosts to show in `most` rows, and those that share the last row because they are too many.

        Hosts in trouble come first, then those that wait for something, then those at work, the longest first. Both
        lists keep the hosts' own order.
        """
        rows = list(self.hosts.values())
        if len(rows) <= most:
            return rows, []
        shown = {row.name for row in sorted(rows, key=_urgency)[: max(0, most - 1)]}
        return [row for row in rows if row.name in shown], [row for row in rows if row.name not in shown]

    def busy(self) -> list[HostRow]:
        """The hosts in the middle of a task: those that wait for something first, then the longest."""
        return sorted((row for row in list(self.hosts.values()) if row.busy), key=_urgency)

    def _row(self, host: str) -> HostRow:
        return self.hosts.setdefault(host, HostRow(host))

    def _phase_started(self, event: PhaseStarted) -> None:
        names = (i for i, row in enumerate(self.phases) if row.name == event.phase and row.mark is Mark.PENDING)
        number = next(names, None)
        if number is None:
            number = len(self.phases)
            self.phases.append(PhaseRow(event.phase))
        for passed_over in self.phases[:number]:
            if passed_over.mark is Mark.PENDING:
                passed_over.mark = Mark.ABSENT
        self.phases[number].mark, self.phases[number].started = Mark.RUNNING, event.time
        self._current = number
        self._cut_short = None

    def _phase_finished(self, event: PhaseFinished) -> None:
        if self._current is None:
            return
        number, self._current = self._current, None
        phase = self.phases[number]
        phase.seconds = event.seconds
        phase.mark = Mark.FAILED if phase.failed else Mark.DONE
        self._cut_short = number, [row for row in self.hosts.values() if row.busy and number in row.cells]
        for row in self.hosts.values():
            cell = row.cells.get(number)
            if cell is not None and cell.mark is Mark.RUNNING:
                cell.mark = Mark.DONE
            if row.mark is Mark.RUNNING:
                row.mark, row.doing, row.waiting = Mark.DONE, "", None

    def _begin(self, host: str, task: str, now: float) -> None:
        row = self._row(host)
        row.mark, row.doing, row.since, row.waiting = Mark.RUNNING, task, now, None
        if self._current is not None:
            row.cells.setdefault(self._current, Cell()).mark = Mark.RUNNING
            # A host that fails gets no more tasks, unless a rescue took the failure up.
            self.phases[self._current].failed.discard(host)

    def _host_done(self, event: HostDone) -> None:
        row = self._row(event.host)
        row.doing, row.waiting = "", None
        phase = cell = None
        if self._current is not None:
            phase, cell = self.phases[self._current], row.cells.setdefault(self._current, Cell())
        if event.status is Status.CHANGED:
            row.changes += 1
            if phase is not None and cell is not None:
                phase.changes += 1
                cell.changes += 1
        if event.status in (Status.FAILED, Status.UNREACHABLE) and event.failure is not None:
            row.mark, row.doing = Mark.FAILED, event.task
            if phase is not None and cell is not None:
                phase.failed.add(event.host)
                cell.mark = Mark.FAILED
            self._on_line("failure", f"{event.host}: {event.task}: {event.failure.message}")

    def _tally(self, event: Tally) -> None:
        self.ended = event.time
        for host, counts in event.hosts.items():
            row = self._row(host)
            bad = counts.get("failures", 0) or counts.get("dark", 0)
            row.mark = Mark.FAILED if bad else Mark.DONE
            if not bad:
                self._absolve(row)
            elif row.cells and Mark.FAILED not in [cell.mark for cell in row.cells.values()]:
                # What it did after its failure (a block's `always`) looked like a rescue.
                last = max(row.cells)
                row.cells[last].mark = self.phases[last].mark = Mark.FAILED

    def _absolve(self, row: HostRow) -> None:
        """A rescue that ends with the phase leaves a failure that only the tally knows to be none."""
        for number, cell in row.cells.items():
            if cell.mark is Mark.FAILED:
                cell.mark = Mark.DONE
                phase = self.phases[number]
                phase.failed.discard(row.name)
                if phase.mark is Mark.FAILED and not phase.failed:
                    phase.mark = Mark.DONE


def _urgency(row: HostRow) -> tuple[int, float]:
    if row.mark in (Mark.FAILED, Mark.STOPPED):
        return 0, 0.0
    if not row.busy:
        return 3, 0.0
    return (1 if row.waiting else 2), row.since
