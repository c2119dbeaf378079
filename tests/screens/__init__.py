"""Pictures of terminals for the documentation, made of recorded events: `make screens`.

A screen is a function that prints on a console and has a line in SCREENS. The pictures are the same wherever they are
made, and a unit test sees that the committed ones are current.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console

from tests.screens.bootstrap import bootstrap, failure

DIRECTORY = Path(__file__).resolve().parents[2] / "docs" / "screens"
WIDTH = 100
# More than any screen has, so that nothing is folded for want of lines.
_HEIGHT = 60

SCREENS: Mapping[str, Callable[[Console], None]] = {
    "bootstrap": bootstrap,
    "failure": failure,
}

# Rich's picture, less its font: it would be fetched from elsewhere whenever somebody reads the page.
_FORMAT = re.sub(r"\s*@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL).replace("Fira Code, ", "")


def console() -> Console:
    """A terminal of a known size and with colours, whatever the environment says of the real one."""
    return Console(
        width=WIDTH, height=_HEIGHT, file=io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), record=True,
        force_terminal=True, color_system="truecolor", legacy_windows=False,
        highlight=False, markup=False, emoji=False, _environ={},
    )  # fmt: skip


def svg(name: str) -> str:
    """The picture of one screen."""
    terminal = console()
    SCREENS[name](terminal)
    picture = terminal.export_svg(title="edgectl", unique_id=name, code_format=_FORMAT)
    return "\n".join(line.rstrip() for line in picture.splitlines()) + "\n"
