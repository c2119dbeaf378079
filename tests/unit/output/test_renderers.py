"""The three renderers of the same recorded events."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from edgectl.output.jsonl import JsonLinesRenderer
from edgectl.output.live import LiveRenderer, Screen
from edgectl.output.plain import PlainRenderer
from edgectl.output.renderer import Style, choose_style
from edgectl.output.view import Mark, View
from edgectl.run.events import HostStarted
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


def test_the_view_knows_phases_to_come_hosts_at_work_and_what_failed() -> None:
    view = View(["Machine", "Runtime", "Verify"])
    stop = next(i for i, e in enumerate(events()) if isinstance(e, HostStarted) and e.task == "Wait for the socket")
    for event in events()[: stop + 1]:
        view.take(event)
    assert [(row.name, row.mark) for row in view.phases] == [
        ("Machine", Mark.FAILED),
        ("Runtime", Mark.RUNNING),
        ("Verify", Mark.PENDING),
    ]
    assert view.phases[0].failed == {"gone"}
    assert view.phases[0].changes == 4
    assert view.hosts["nuc1"].doing == "Wait for the socket"
    for event in events()[stop + 1 :]:
        view.take(event)
    assert {name: row.mark for name, row in view.hosts.items()} == {
        "nuc1": Mark.DONE,
        "nuc2": Mark.FAILED,
        "orin1": Mark.FAILED,
        "gone": Mark.FAILED,
    }


@pytest.mark.parametrize("width", [80, 140])
def test_the_live_display_fits_its_terminal(width: int) -> None:
    view = View(["Machine", "Runtime", "Verify"])
    for event in events()[:60]:
        view.take(event)
    console = Console(width=width, file=io.StringIO(), force_terminal=True, color_system=None, legacy_windows=False)
    for row in view.hosts.values():
        row.doing = "A task whose name is much longer than what anybody should ever write down " * 3
    with console.capture() as captured:
        console.print(Screen(view, now=events()[59].time))
    lines = captured.get().splitlines()
    assert len(lines) == 3 + 1 + 4
    assert all(len(line) <= width for line in lines)
    assert "Verify" in captured.get()


def test_a_terminal_without_unicode_gets_plain_signs() -> None:
    view = View(["Machine"])
    for event in events():
        view.take(event)
    console = Console(width=80, file=io.StringIO(), color_system=None)
    with console.capture() as captured:
        console.print(Screen(view, unicode=False, now=0))
    assert captured.get().isascii()


def test_no_color_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    console = Console(width=80, file=io.StringIO(), force_terminal=True, highlight=False)
    with LiveRenderer(console=console) as renderer:
        for event in events():
            renderer.take(event)
    written = console.file.getvalue()  # type: ignore[attr-defined]
    assert "nuc2: Start containerd: exit code 5" in written
    for colour in ("\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[1;31m", "\x1b[36m"):
        assert colour not in written


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
