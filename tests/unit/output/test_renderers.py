"""The three renderers of the same recorded events."""

from __future__ import annotations

import io
import json

import pytest

from edgectl.output.jsonl import JsonLinesRenderer
from edgectl.output.plain import PlainRenderer
from edgectl.output.renderer import Style, choose_style
from edgectl.run.events import Waiting
from tests.unit.run.recorded import events


def plain(*, verbose: bool = False) -> list[str]:
    lines: list[str] = []
    renderer = PlainRenderer(lines.append, verbose=verbose)
    for event in events():
        renderer.take(event)
    return lines


def test_plain_has_a_line_for_each_change_wait_and_failure_and_none_for_the_rest() -> None:
    lines = plain()
    assert lines[0] == "Machine"
    assert "  nuc2: changed: Packages" in lines
    assert "  nuc1: waiting: Wait for the socket (attempt 1 of 5): exit code 1" in lines
    assert "  nuc2: FAILED: Start containerd: exit code 5: unit containerd.service is masked" in lines
    assert not any("nuc1: ok" in line for line in lines)
    assert sum("waiting" in line and "nuc1" in line for line in lines) == 1


def test_plain_tells_what_is_waited_for_anew_when_it_is_another_thing_and_not_how_far_it_is() -> None:
    lines: list[str] = []
    renderer = PlainRenderer(lines.append)
    for attempt, said in enumerate(("pod-1: Pulling", "pod-1: Pulling", "1.5 of 9 GB", "3 of 9 GB", "pod-1 runs")):
        renderer.take(Waiting(0, "nuc1", "Ready", attempt, 9, said))
    assert [line.partition("): ")[2] for line in lines] == ["pod-1: Pulling", "1.5 of 9 GB", "pod-1 runs"]


def test_plain_and_verbose_counts_every_attempt_and_every_task() -> None:
    lines = plain(verbose=True)
    assert sum("waiting" in line and "nuc1" in line for line in lines) == 2
    assert any(line.startswith("  nuc1: ok: Packages (") for line in lines)


def test_json_is_one_document_a_line_with_a_version() -> None:
    stream = io.StringIO()
    renderer = JsonLinesRenderer(stream)
    with renderer:
        for event in events():
            renderer.take(event)
        renderer.note("hello")
    documents = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert {document["schema_version"] for document in documents} == {1}
    failed = next(d for d in documents if d["kind"] == "host_done" and d["status"] == "failed")
    assert set(failed) >= {"time", "host", "task", "role", "action", "seconds", "failure"}
    assert documents[-1] == {"schema_version": 1, "kind": "note", "text": "hello"}


@pytest.mark.parametrize(
    ("options", "style"),
    [
        ({"json": True, "plain": True, "terminal": True}, Style.JSON),
        ({"json": False, "plain": True, "terminal": True}, Style.PLAIN),
        ({"json": False, "plain": False, "terminal": True}, Style.LIVE),
        ({"json": False, "plain": False, "terminal": False}, Style.PLAIN),
    ],
)
def test_the_style_follows_the_options_and_the_terminal(options: dict[str, bool], style: Style) -> None:
    assert choose_style(**options) is style


def test_a_terminal_that_cannot_be_drawn_on_gets_plain_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm-256color")
    assert choose_style(json=False, plain=False) is Style.LIVE
    monkeypatch.setenv("TERM", "dumb")
    assert choose_style(json=False, plain=False) is Style.PLAIN
