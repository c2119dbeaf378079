"""What README and docs/ show and link exists, and every command in them is one that edgectl takes."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import typer
from typer.core import TyperGroup

from edgectl.cli import app
from tests.screens import SCREENS

ROOT = Path(__file__).resolve().parents[3]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
# Of a line of a code block: the command up to a comment, which stands after two spaces.
_COMMAND = re.compile(r"^ {4}(edgectl (?:\S+ ?)+?)(?= {2}|\s*$|;)", re.MULTILINE)


def commands() -> list[str]:
    return [line.strip() for page in PAGES for line in _COMMAND.findall(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_and_picture_is_there(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_every_screen_is_shown_to_somebody() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert [name for name in SCREENS if f"screens/{name}.svg)" not in text] == []


@pytest.mark.parametrize("line", sorted(set(commands())))
def test_every_command_of_the_documentation_can_be_typed(line: str) -> None:
    command = typer.main.get_command(app)
    _, *words = shlex.split(line)
    while isinstance(command, TyperGroup):
        _, found, words = command.resolve_command(command.context_class(command), words)
        assert found is not None
        command = found
    command.make_context(command.name, words)


def test_the_commands_are_found() -> None:
    assert "edgectl bootstrap my-lab --limit orin2" in commands()
