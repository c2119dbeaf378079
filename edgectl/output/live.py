"""The live display: a row a host, a column a phase, and what each host does now, drawn in place on a terminal."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Self

from edgectl.output.view import Cell, HostRow, Mark, View
from edgectl.output.words import clock, count, duration, first_line
from edgectl.run.events import Event

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.live import Live
    from rich.text import Text

_STYLES = {
    Mark.PENDING: "dim",
    Mark.RUNNING: "cyan",
    Mark.DONE: "green",
    Mark.FAILED: "bold red",
    Mark.STOPPED: "yellow",
    Mark.ABSENT: "dim",
}
_CHANGED = "yellow"
_PER_SECOND = 6

_GAP = 2
_FEW, _NARROW = 3, 4  # so many lines a list needs, and so many cells a column, to be of use
_SHORTEST_NAME = 12
# A task that may be tried so often waits for as long as something moves.
_ENDLESS = 1000
# From this width on, what a host does stands beside its row.
_BESIDE = 44
# Beside a host that waits for something and says for what.
_BESIDE_MESSAGE = 60
# More rows than these are no display any more, on a terminal of any height.
_MOST_ROWS = 16

_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x1f\x7f]+")


@dataclass(frozen=True)
class Signs:
    """What a display is drawn with."""

    marks: Mapping[Mark, str]
    frames: str
    ellipsis: str
    ascii: bool

    def spinner(self, now: float) -> str:
        """The sign of somebody at work."""
        return self.frames[int(now * _PER_SECOND) % len(self.frames)]

    def fit(self, text: str, width: int) -> str:
        """One line of at most `width` cells, with an ellipsis where something was cut off."""
        from rich.cells import cell_len, set_cell_size

        text = " ".join(_CONTROL.sub(" ", text).split())
        if self.ascii:
            text = text.encode("ascii", "replace").decode()
        if cell_len(text) <= width:
            return text
        room = width - len(self.ellipsis)
        return set_cell_size(text, room).rstrip() + self.ellipsis if room > 0 else set_cell_size(text, max(0, width))


UNICODE = Signs({Mark.PENDING: "·", Mark.DONE: "✓", Mark.FAILED: "✗", Mark.STOPPED: "!"}, "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", "…", False)
ASCII = Signs({Mark.PENDING: ".", Mark.DONE: "ok", Mark.FAILED: "x", Mark.STOPPED: "!"}, "|/-\\", "...", True)


class Screen:
    """Draws a view on the width and height that there is. A test gives its own clock, to see the same each time."""

    def __init__(self, view: View, *, signs: Signs = UNICODE, clock: Callable[[], float] = time.time) -> None:
        self._view = view
        self._signs = signs
        self._clock = clock

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if self._view.hosts and self._view.phases:
            yield from _Picture(self._view, self._signs, self._clock(), options.max_width).lines(options.size.height)


class _Picture:
    """One frame."""

    def __init__(self, view: View, signs: Signs, now: float, width: int) -> None:
        self._view = view
        self._signs = signs
        self._now = now
        self._width = width
        # A copy: events go on arriving in a thread of their own while this one draws.
        longest = max(len(name) for name in list(view.hosts))
        if len(view.hosts) > 2 * _FEW:
            longest = max(longest, len(f"{len(view.hosts)} hosts"))
        self._columns = _columns([phase.name for phase in view.phases], width - _GAP - min(longest, _SHORTEST_NAME))
        taken = sum(self._columns) + _GAP * len(self._columns)
        self._name = max(1, min(longest, width - taken))
        self._beside = width - self._name - taken - _GAP
        told = any(row.waiting and row.waiting.message for row in view.busy())
        if self._beside < (_BESIDE_MESSAGE if told else _BESIDE):
            self._beside = 0

    def lines(self, height: int) -> Iterable[Text]:
        # The terminal's last line is left to the cursor; three are the status, the phases' names and their times.
        room = max(1, height - 1 - 3)
        busy = [] if self._beside else self._view.busy()
        rows = min(len(self._view.hosts), _MOST_ROWS)
        below = min(len(busy), max(_FEW, room // 3 - 1, room - rows - 1)) if room > 2 * _FEW else 0
        if below:
            room -= below + 1
        shown, folded = self._view.folded(min(room, _MOST_ROWS))
        yield self._status()
        yield self._header()
        for row in shown:
            yield self._row(row.name, [row], self._doing(row, self._beside) if self._beside else None)
        if folded:
            yield self._row(f"{len(folded)} {'more' if shown else 'hosts'}", folded, None)
        yield self._times()
        if below:
            yield self._text()
            yield from self._below(busy, below)

    def _status(self) -> Text:
        view = self._view
        if view.started is None:
            return self._text(("starting Ansible", "dim"))
        parts = [duration(view.elapsed(self._now))]
        left = view.remaining(self._now)
        if left is not None and left >= 1:
            parts.append(f"about {duration(round(left)) if left >= 10 else f'{left:.0f} s'} left")
        if changes := sum(row.changes for row in list(view.hosts.values())):
            parts.append(count(changes, "change"))
        failed = sum(row.mark is Mark.FAILED for row in list(view.hosts.values()))
        text = self._text((parts[0], "bold"), (", ".join(["", *parts[1:]]), ""))
        return text.append(f", {count(failed, 'host')} failed", "bold red") if failed else text

    def _header(self) -> Text:
        cells = []
        for phase, width in zip(self._view.phases, self._columns, strict=False):
            style = {Mark.PENDING: "dim", Mark.RUNNING: "bold", Mark.FAILED: "red"}.get(phase.mark, "")
            cells.append((phase.name, style, width))
        return self._line("", "", cells)

    def _row(self, name: str, rows: Sequence[HostRow], doing: tuple[str, str] | None) -> Text:
        cells = []
        for number, width in enumerate(self._columns):
            text, style = self._cell(self._view.together(rows, number))
            cells.append((text, style, width))
        marks = {row.mark for row in rows}
        line = self._line(name, "bold red" if Mark.FAILED in marks else "bold", cells)
        return line.append(" " * _GAP).append(*doing) if doing else line

    def _cell(self, cell: Cell) -> tuple[str, str]:
        changes = f"+{cell.changes}" if cell.changes else ""
        if cell.mark is Mark.DONE and changes:
            return changes, _CHANGED
        sign = self._signs.spinner(self._now) if cell.mark is Mark.RUNNING else self._signs.marks.get(cell.mark, "")
        return f"{sign} {changes}".strip(), _STYLES[cell.mark]

    def _times(self) -> Text:
        phases = zip(self._view.phases, self._columns, strict=False)
        pending = (Mark.PENDING, Mark.ABSENT)
        return self._line(
            "",
            "",
            [("" if p.mark in pending else clock(p.elapsed(self._now)), "dim", width) for p, width in phases],
        )

    def _below(self, busy: Sequence[HostRow], most: int) -> Iterable[Text]:
        shown = busy if len(busy) <= most else busy[: most - 1]
        name = min(max((len(row.name) for row in shown), default=0), max(_SHORTEST_NAME, self._name))
        for row in shown:
            what, style = self._doing(row, self._width - name - _GAP)
            yield self._text((self._padded(row.name, name) + " " * _GAP, "bold"), (what, style))
        if len(busy) > len(shown):
            more = f"{len(busy) - len(shown)} {'more' if shown else 'hosts'} at work"
            yield self._text((more, "dim"))

    def _doing(self, row: HostRow, width: int) -> tuple[str, str]:
        """What a host does now and since when, or where it failed."""
        if row.mark is Mark.FAILED and row.doing:
            return self._signs.fit(f"failed: {row.doing}", width), "red"
        if not row.busy:
            return "", ""
        seconds = self._now - row.since
        # Most tasks are over within a second, and their clocks would only flicker.
        elapsed = f"{clock(seconds) if seconds >= 1 else '':>4}  "
        if row.waiting is None:
            return elapsed + self._signs.fit(row.doing, width - len(elapsed)), "dim"
        # What has no end in mind does not count its attempts.
        counted = row.waiting.attempts < _ENDLESS
        attempt = f", attempt {row.waiting.attempt} of {row.waiting.attempts}" if counted else ""
        # Between a long task's name and a long message, the number of attempts stays in sight.
        message = f": {row.waiting.message}" if row.waiting.message else ""
        room = width - len(elapsed)
        others = len(attempt) + min(len(message), room // 3)
        task = self._signs.fit(row.waiting.task, max(_SHORTEST_NAME, room - others))
        return elapsed + self._signs.fit(task + attempt + message, room), _CHANGED

    def _line(self, name: str, style: str, cells: Iterable[tuple[str, str, int]]) -> Text:
        line = self._text((self._padded(name, self._name), style))
        for text, cell_style, width in cells:
            line.append(" " * _GAP).append(self._padded(text, width), cell_style)
        return line

    def _padded(self, text: str, width: int) -> str:
        from rich.cells import set_cell_size

        return set_cell_size(self._signs.fit(text, width), width)

    def _text(self, *parts: tuple[str, str]) -> Text:
        from rich.text import Text

        return Text.assemble(*parts, no_wrap=True, overflow="crop", end="\n")


def _columns(names: Sequence[str], room: int) -> list[int]:
    """Widths of the phases' columns: as wide as their names, the widest ones narrower where there is no room."""
    widths = [max(len(name), _NARROW) for name in names]
    while sum(widths) + _GAP * len(widths) > room and max(widths) > _NARROW:
        widths[widths.index(max(widths))] -= 1
    return widths


class LiveRenderer:
    """Shows a run on a terminal. Failures and warnings scroll away above the display and stay readable.

    hosts, former: as for the view.
    """

    def __init__(
        self,
        *,
        phases: Iterable[str] = (),
        hosts: Iterable[str] = (),
        former: Mapping[str, float] | None = None,
        verbose: bool = False,
        console: Console | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        from rich.console import Console

        self._console = console or Console()
        self._verbose = verbose
        self._view = View(phases, self._line, hosts=hosts, former=former)
        self._clock = clock
        self._live: Live | None = None

    def screen(self) -> Screen:
        """What stands on the terminal, for anybody who wants to print it once."""
        unicode = (self._console.encoding or sys.getdefaultencoding()).lower().startswith("utf")
        return Screen(self._view, signs=UNICODE if unicode else ASCII, clock=self._clock)

    def __enter__(self) -> Self:
        from rich.live import Live

        self._live = Live(
            self.screen(),
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
        self._view.end()
        if self._live is not None:
            self._live.__exit__(kind, error, trace)

    def take(self, event: Event) -> None:
        self._view.take(event)

    def note(self, text: str) -> None:
        self._print(text)

    def _line(self, style: str, text: str) -> None:
        self._print(text if self._verbose else first_line(text), "red" if style == "failure" else "yellow")

    def _print(self, text: str, style: str | None = None) -> None:
        # A message may hold what the terminal's encoding lacks, and must not end the run for that.
        encoding = self._console.encoding or "utf-8"
        shown = text.encode(encoding, "replace").decode(encoding)
        # What hosts say is shown as it is: `:key:` in a message is no emoji, `[red]` no markup.
        self._console.print(shown, style=style, markup=False, emoji=False, highlight=False)
