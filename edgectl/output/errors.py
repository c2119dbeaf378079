"""Errors for people: one line a problem, then the evidence and the fix."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from edgectl.errors import EdgectlError, Problems

_INDENT = " " * len("error: ")
_BOLD, _DIM, _OFF = "\033[1;31m", "\033[2m", "\033[0m"


def lines(error: EdgectlError, *, colour: bool = False, width: int | None = None) -> Iterator[str]:
    """All of an error. width: of the terminal, to break lines between words; None leaves them whole."""
    bold, dim, off = (_BOLD, _DIM, _OFF) if colour else ("", "", "")
    for problem in error.problems if isinstance(error, Problems) else [error]:
        yield f"{bold}error:{off} {_folded(problem.what, width)}"
        if problem.why:
            yield f"  {dim}why:{off} {_folded(problem.why, width)}"
        if problem.fix:
            # Never folded: it may be a command to copy.
            yield f"  {dim}fix:{off} {problem.fix}"
        if problem.log:
            yield f"  {dim}log:{off} {problem.log}"


def _folded(text: str, width: int | None) -> str:
    if width is None:
        return text
    return textwrap.fill(
        text, max(width, 40), initial_indent=_INDENT, subsequent_indent=_INDENT, break_long_words=False,
        break_on_hyphens=False,
    ).lstrip()  # fmt: skip
