"""What a renderer is, and which one suits the place where edgectl runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from enum import StrEnum
from types import TracebackType
from typing import Protocol, Self

from edgectl.run.events import Event


class Style(StrEnum):
    """How a run is shown."""

    LIVE = "live"
    PLAIN = "plain"
    JSON = "json"


class Renderer(Protocol):
    """Shows events as they come. Entered before the first, left after the last."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def take(self, event: Event) -> None: ...

    def note(self, text: str) -> None:
        """Show a line of edgectl's own between the events."""


def choose_style(*, json: bool, plain: bool, terminal: bool | None = None) -> Style:
    """JSON when asked for; live only where there is a terminal that can be drawn on."""
    if json:
        return Style.JSON
    if terminal is None:
        terminal = sys.stdout.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")
    return Style.LIVE if terminal and not plain else Style.PLAIN


def make(
    style: Style,
    *,
    phases: Sequence[str] = (),
    hosts: Sequence[str] = (),
    former: Mapping[str, float] | None = None,
    verbose: bool = False,
) -> Renderer:
    """A renderer that writes to standard output.

    phases, hosts: those to come, for the renderer that can show them beforehand.
    former: phase -> seconds in a former run, for the one that estimates the time left.
    """
    if style is Style.JSON:
        from edgectl.output.jsonl import JsonLinesRenderer

        return JsonLinesRenderer(sys.stdout)
    if style is Style.PLAIN:
        from edgectl.output.plain import PlainRenderer

        return PlainRenderer(lambda line: print(line, flush=True), verbose=verbose)
    from edgectl.output.live import LiveRenderer

    return LiveRenderer(phases=phases, hosts=hosts, former=former, verbose=verbose)
