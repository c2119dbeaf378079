"""Something wrong at a place of the inventory: an error that knows its file, its line and its option."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from edgectl.errors import UsageError


@dataclass(frozen=True)
class Place:
    """A spot in a file; prints as `inventory/hosts.yml:12`."""

    file: Path
    line: int | None = None

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else str(self.file)


Where: TypeAlias = Place | Path | str
"""A place, or a file or directory of which no line can be told."""


class Problem(UsageError):
    """One thing wrong with an inventory; `what` is the place, a colon and the message. key: the option it is about."""

    def __init__(self, where: Where, message: str, why: str = "", fix: str = "", *, key: str = "") -> None:
        super().__init__(f"{where}: {message}", why, fix)
        self.place = where if isinstance(where, Place) else Place(Path(where))
        self.message = message
        self.key = key
