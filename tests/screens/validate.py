"""`edgectl validate` on an inventory with six mistakes."""

from __future__ import annotations

from contextlib import chdir
from pathlib import Path

from rich.console import Console
from rich.text import Text

from edgectl.errors import Problems
from edgectl.inventory import validation
from edgectl.output import errors
from edgectl.output import validation as output
from tests.screens.recorded import DATA


def validate(console: Console) -> None:
    """One of each: a name, an address, a misspelt variable, a misspelt option, a version, a network."""
    with chdir(DATA):
        verdict = validation.validate(Path("inventory"))
    console.print(output.line(verdict))
    for line in errors.lines(Problems(verdict.problems), colour=True, width=console.width):
        console.print(Text.from_ansi(line))
