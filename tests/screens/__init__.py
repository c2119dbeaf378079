"""Pictures of terminals for the documentation, made of recorded events: `make screens`.

A screen is a command and a function that prints on a console what it shows, by edgectl's own output. The pictures are
the same wherever they are made, and a unit test sees that the committed ones are current.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console

from tests.screens.runs import bootstrap, failure, plan
from tests.screens.validate import validate

DIRECTORY = Path(__file__).resolve().parents[2] / "docs" / "screens"
WIDTH = 100
# More than any screen has, so that nothing is folded for want of lines.
_HEIGHT = 60

SCREENS: Mapping[str, tuple[str, Callable[[Console], None]]] = {
    "bootstrap": ("edgectl bootstrap inventory", bootstrap),
    "failure": ("edgectl bootstrap inventory", failure),
    "plan": ("edgectl plan inventory", plan),
    "validate": ("edgectl validate inventory", validate),
}

# Rich's picture, less its font: it would be fetched from elsewhere whenever somebody reads the page. Some viewers
# (librsvg 2.54) drop spaces at the start of a text unless told not to.
_FORMAT = (
    re.sub(r"\s*@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    .replace("Fira Code, ", "")
    .replace("<svg ", '<svg xml:space="preserve" ', 1)
)


def console() -> Console:
    """A terminal of a known size and with colours, whatever the environment says of the real one."""
    return Console(
        width=WIDTH, height=_HEIGHT, file=io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), record=True,
        force_terminal=True, color_system="truecolor", legacy_windows=False,
        highlight=False, markup=False, emoji=False, _environ={},
    )  # fmt: skip


def svg(name: str) -> str:
    """The picture of one screen."""
    command, show = SCREENS[name]
    terminal = console()
    terminal.print("$", style="dim", end=" ")
    terminal.print(command, style="bold")
    show(terminal)
    terminal.print()  # Rich cuts off what hangs below the last line
    picture = terminal.export_svg(title="edgectl", unique_id=name, code_format=_FORMAT)
    return "\n".join(line.rstrip() for line in picture.splitlines()) + "\n"
