"""The live display: the phases with their times, a row for each host, drawn in place on a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Self

from edgectl.output.view import Mark, PhaseRow, View
from edgectl.output.words import count, duration, first_line
from edgectl.run.events import Event

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.live import Live
    from rich.table import Table

_SYMBOLS = {Mark.PENDING: ("·", "dim"), Mark.DONE: ("✓", "green"), Mark.FAILED: ("✗", "bold red")}
_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_ASCII_SYMBOLS = {Mark.PENDING: (".", "dim"), Mark.DONE: ("+", "green"), Mark.FAILED: ("x", "bold red")}
_ASCII_FRAMES = "|/-\\"
_PER_SECOND = 6

# Rows of hosts kept on the screen; with more, those that are at work or in trouble come first.
_LONGEST_LIST = 16


class Screen:
    """Draws a view. `now` is injected, so that a test sees the same picture each time."""

    def __init__(self, view: View, *, unicode: bool = True, now: float | None = None) -> None:
        self._view = view
        self._unicode = unicode
        self._now = now

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        now = time.time() if self._now is None else self._now
        yield self._phases(now)
        if self._view.hosts:
            yield ""
            yield self._hosts(now)

    def _symbol(self, mark: Mark, now: float) -> tuple[str, str]:
        if mark is Mark.RUNNING:
            frames = _FRAMES if self._unicode else _ASCII_FRAMES
            return frames[int(now * _PER_SECOND) % len(frames)], "cyan"
        return (_SYMBOLS if self._unicode else _ASCII_SYMBOLS)[mark]

    def _phases(self, now: float) -> Table:
        from rich.text import Text

        table = _grid(3)
        for row in self._view.phases:
            symbol, style = self._symbol(row.mark, now)
            table.add_row(
                Text(symbol, style), Text(row.name, "dim" if row.mark is Mark.PENDING else ""), _phase_note(row, now)
            )
        return table

    def _hosts(self, now: float) -> Table:
        from rich.text import Text

        rows = list(self._view.hosts.values())
        if len(rows) > _LONGEST_LIST:
            rows.sort(key=lambda row: row.mark not in (Mark.RUNNING, Mark.FAILED))
        table = _grid(4)
        for row in rows[:_LONGEST_LIST]:
            symbol, style = self._symbol(row.mark, now)
            seconds = now - row.since
            # A host that has ended its task waits for the others, and has no clock of its own to show.
            busy = row.mark is Mark.RUNNING and row.doing
            doing = row.doing + (f"  {duration(seconds)}" if busy and seconds >= 3 else "")
            changes = count(row.changes, "change") if row.changes else ""
            table.add_row(Text(symbol, style), Text(row.name, "bold"), Text(changes, "yellow"), Text(doing, "dim"))
        if len(rows) > _LONGEST_LIST:
            table.add_row("", Text(f"and {len(rows) - _LONGEST_LIST} more", "dim"))
        return table


def _grid(columns: int) -> Table:
    from rich.table import Table

    table = Table.grid(padding=(0, 1), pad_edge=False)
    for number in range(columns):
        # Only the last column may be cut, with an ellipsis: one row a line at any width.
        table.add_column(no_wrap=True, overflow="ellipsis", ratio=1 if number == columns - 1 else None)
    table.expand = True
    return table


def _phase_note(row: PhaseRow, now: float) -> str:
    if row.mark is Mark.PENDING:
        return ""
    seconds = now - row.started if row.mark is Mark.RUNNING else row.seconds
    parts = [duration(max(0.0, seconds))]
    if row.changes:
        parts.append(count(row.changes, "change"))
    if row.failed:
        parts.append("failed on " + ", ".join(sorted(row.failed)))
    return "  ".join(parts)


class LiveRenderer:
    """Shows a run on a terminal. Failures and warnings scroll away above the display and stay readable."""

    def __init__(self, *, phases: Iterable[str] = (), verbose: bool = False, console: Console | None = None) -> None:
        from rich.console import Console

        self._console = console or Console(highlight=False, markup=False)
        self._verbose = verbose
        self._view = View(phases, self._line)
        self._live: Live | None = None

    def __enter__(self) -> Self:
        from rich.live import Live

        unicode = (self._console.encoding or sys.getdefaultencoding()).lower().startswith("utf")
        self._live = Live(
            Screen(self._view, unicode=unicode),
            console=self._console,
            refresh_per_second=_PER_SECOND,
            transient=False,
            redirect_stdout=False,
        )
        self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.__exit__(kind, error, trace)

    def take(self, event: Event) -> None:
        self._view.take(event)

    def note(self, text: str) -> None:
        self._console.print(text)

    def _line(self, style: str, text: str) -> None:
        shown = text if self._verbose else first_line(text)
        self._console.print(shown, style="red" if style == "failure" else "yellow")
