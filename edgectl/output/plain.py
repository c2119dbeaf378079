"""One line for each thing worth knowing: phases, changes, waits, failures. For logs, CI and pipes."""

from __future__ import annotations

import re
from collections.abc import Callable
from types import TracebackType
from typing import Self

from edgectl.output.words import count, duration, first_line
from edgectl.run.events import (
    Event,
    HostDone,
    Noted,
    PhaseFinished,
    PhaseStarted,
    Restarted,
    Status,
    Waiting,
    Warned,
)

_SHOWN = {
    Status.CHANGED: "changed",
    Status.FAILED: "FAILED",
    Status.UNREACHABLE: "UNREACHABLE",
    Status.IGNORED: "ignored",
}

# What differs between two messages that say the same: how far it is.
_NUMBER = re.compile(r"\d+(\.\d+)?")


class PlainRenderer:
    """Writes lines through `write`; verbose adds tasks that changed nothing and Ansible's own messages."""

    def __init__(self, write: Callable[[str], None], *, verbose: bool = False) -> None:
        self._write = write
        self._verbose = verbose
        self._changes = 0
        self._failures = 0
        self._waiting: dict[tuple[str, str], str] = {}
        self._warned: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def note(self, text: str) -> None:
        self._write(text)

    def take(self, event: Event) -> None:
        match event:
            case PhaseStarted():
                self._changes = self._failures = 0
                self._write(event.phase)
            case PhaseFinished():
                self._phase_finished(event)
            case HostDone():
                self._host_done(event)
            case Waiting():
                self._waiting_for(event)
            case Restarted() if self._verbose:
                self._write(f"  {event.host}: restart of {event.unit}")
            case Noted():
                self._write(f"  {event.host}: note: {event.text}")
            case Warned():
                self._warned_of(event)

    def _phase_finished(self, event: PhaseFinished) -> None:
        parts = [count(self._changes, "change")]
        if self._failures:
            parts.append(count(self._failures, "failure"))
        self._write(f"  {event.phase} ended after {duration(event.seconds)}: {', '.join(parts)}")

    def _host_done(self, event: HostDone) -> None:
        if event.status is Status.CHANGED:
            self._changes += 1
        if event.status in (Status.FAILED, Status.UNREACHABLE):
            self._failures += 1
        if event.status not in _SHOWN and not self._verbose:
            return
        line = f"  {event.host}: {_SHOWN.get(event.status, event.status)}: {event.task}"
        if event.failure is not None:
            message = event.failure.message if self._verbose else first_line(event.failure.message)
            line += f": {message}"
        elif self._verbose:
            line += f" ({duration(event.seconds)})"
        self._write(line)

    def _waiting_for(self, event: Waiting) -> None:
        # A pipe has no line to overwrite: say once what we wait for, and only the log counts the attempts.
        place, what = (event.host, event.task), _NUMBER.sub("", event.message)
        if self._waiting.get(place) != what or self._verbose:
            said = f": {event.message}" if event.message else ""
            self._write(f"  {event.host}: waiting: {event.task} (attempt {event.attempt} of {event.attempts}){said}")
        self._waiting[place] = what

    def _warned_of(self, event: Warned) -> None:
        if event.level == "verbose" and not self._verbose:
            return
        if event.text not in self._warned:
            self._warned.add(event.text)
            self._write(f"  {event.text}")
