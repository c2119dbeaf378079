"""How the library tells of long work: named phases, and lines in between; who shows them is not its business."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Protocol


class Progress(Protocol):
    """What a listener offers."""

    def phase(self, name: str) -> AbstractContextManager[object]:
        """A named piece of work; leaving the context ends it."""

    def line(self, text: str) -> None:
        """One thing worth knowing."""


class Silent:
    """Nobody listens."""

    def phase(self, name: str) -> AbstractContextManager[object]:
        """Nothing is shown."""
        return nullcontext()

    def line(self, text: str) -> None:
        """Nothing is shown."""
