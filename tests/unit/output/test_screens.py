"""The pictures of terminals in the documentation."""

from __future__ import annotations

import pytest

from tests.screens import DIRECTORY, SCREENS, svg


@pytest.mark.parametrize("name", SCREENS)
def test_a_picture_shows_what_edgectl_shows_today(name: str) -> None:
    committed = (DIRECTORY / f"{name}.svg").read_text(encoding="utf-8")
    assert committed == svg(name), "make screens"


def test_every_picture_can_be_made_again() -> None:
    assert {file.stem for file in DIRECTORY.glob("*.svg")} == set(SCREENS)


@pytest.mark.parametrize("name", SCREENS)
def test_a_picture_is_the_same_without_colours_and_on_a_small_terminal(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = svg(name)
    for variable, value in (
        ("NO_COLOR", "1"),
        ("COLUMNS", "40"),
        ("LINES", "10"),
        ("TERM", "dumb"),
        ("TZ", "Asia/Tokyo"),
    ):
        monkeypatch.setenv(variable, value)
    assert svg(name) == before


@pytest.mark.parametrize("name", SCREENS)
def test_a_picture_fetches_nothing_from_elsewhere(name: str) -> None:
    assert "url(http" not in svg(name)
