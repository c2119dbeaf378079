"""How the live display looks: at each width and height, in colour and without, in Unicode and ASCII."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence

import pytest
from rich.console import Console

from edgectl.output.live import ASCII, UNICODE, LiveRenderer, Screen, Signs
from edgectl.output.view import View
from edgectl.run.events import (
    Event,
    Failure,
    HostDone,
    HostStarted,
    PhaseFinished,
    PhaseStarted,
    Status,
    Tally,
    Waiting,
    Warned,
)
from tests.unit.run.recorded import events

PHASES = ("Preflight", "Enrol", "Machine", "Network", "Runtime", "Cluster", "Verify")
LONG = "A task whose name is much longer than what anybody should ever write down, " * 3


def draw(view: View, now: float, *, width: int = 80, height: int = 24, signs: Signs = UNICODE) -> list[str]:
    console = Console(width=width, height=height, file=io.StringIO(), color_system=None, legacy_windows=False)
    with console.capture() as captured:
        console.print(Screen(view, signs=signs, clock=lambda: now))
    return [line.rstrip() for line in captured.get().splitlines()]


def view_of(happened: Iterable[Event], hosts: Sequence[str] = (), **options: object) -> View:
    view = View(PHASES, hosts=hosts, **options)  # type: ignore[arg-type]
    for event in happened:
        view.take(event)
    return view


def half_way(hosts: Sequence[str], task: str = "Packages") -> list[Event]:
    """All hosts have done a phase; in the next the first is done, the second waits, the others are at work."""
    happened: list[Event] = [PhaseStarted(0, "Preflight"), *(HostStarted(0, host, "State") for host in hosts)]
    happened += [HostDone(1, host, "State", "", "", Status.CHANGED, 1.0) for host in hosts]
    happened += [PhaseFinished(2, "Preflight", 2.0), PhaseStarted(2, "Enrol")]
    happened += [HostStarted(3, host, task) for host in hosts]
    happened += [
        HostDone(4, hosts[0], task, "", "", Status.OK, 1.0),
        Waiting(5, hosts[1], task, 2, 9, "the lock is held by process 42"),
    ]
    return happened


def many(number: int) -> list[str]:
    return [f"edge{one:02d}" for one in range(1, number + 1)]


def test_the_display_is_a_matrix_with_what_each_busy_host_does_below_it() -> None:
    view = view_of(half_way(["nuc1", "nuc2", "orin1"]), former=dict.fromkeys(PHASES, 10.0))
    assert draw(view, 15) == [
        "15 s, about 50 s left, 3 changes",
        "       Preflight  Enrol  Machine  Network  Runtime  Cluster  Verify",
        "nuc1   +1         ⠋      ·        ·        ·        ·        ·",
        "nuc2   +1         ⠋      ·        ·        ·        ·        ·",
        "orin1  +1         ⠋      ·        ·        ·        ·        ·",
        "       2s         13s",
        "",
        "nuc2    12s  Packages, attempt 2 of 9: the lock is held by process 42",
        "orin1   12s  Packages",
    ]


def test_what_a_host_waits_for_is_below_where_there_is_no_room_for_it_beside() -> None:
    happened = [PhaseStarted(0, "Deploy"), HostStarted(0, "nuc1", "The model is there")]
    view = View(["Deploy"])
    for event in (*happened, Waiting(1, "nuc1", "The model is there", 3, 1000, "llama3.2:3b: 1.0 of 2.0 GB, 50 %")):
        view.take(event)
    assert draw(view, 70, width=72)[-1] == "nuc1   70s  The model is there: llama3.2:3b: 1.0 of 2.0 GB, 50 %"
    assert draw(view, 70, width=100)[2].endswith(" 70s  The model is there: llama3.2:3b: 1.0 of 2.0 GB, 50 %")


def test_on_a_wide_terminal_it_stands_beside_the_host() -> None:
    lines = draw(view_of(half_way(["nuc1", "nuc2", "orin1"])), 15, width=140)
    assert len(lines) == 6
    assert lines[3].startswith("nuc2   +1         ⠋      ·")
    assert lines[3].endswith(" 12s  Packages, attempt 2 of 9: the lock is held by process 42")


@pytest.mark.parametrize("signs", [UNICODE, ASCII])
@pytest.mark.parametrize("hosts", [3, 30])
@pytest.mark.parametrize(("width", "height"), [(80, 24), (140, 24), (80, 60), (140, 60), (60, 12), (40, 24)])
def test_the_display_fits_its_terminal(width: int, height: int, hosts: int, signs: Signs) -> None:
    names = [*many(hosts - 1), "a-host-with-a-very-long-name.home.arpa"]
    lines = draw(view_of(half_way(names, LONG)), 15, width=width, height=height, signs=signs)
    assert all(len(line) <= width for line in lines)
    # The last line is the cursor's.
    assert len(lines) < height
    assert width < 60 or any("attempt 2 of 9" in line for line in lines)


def test_of_30_hosts_on_24_lines_the_waiting_one_is_seen_and_none_is_forgotten() -> None:
    lines = draw(view_of(half_way(many(30))), 15)
    rows = [line for line in lines[2:] if line.startswith("edge") and "+1" in line]
    (rest,) = (line for line in lines if " more " in line and "+" in line)
    assert len(rows) + int(rest.split()[0]) == 30
    assert rest.split()[2] == f"+{30 - len(rows)}"
    below = lines[lines.index("") + 1 :]
    assert below[0].startswith("edge02")
    assert len(below) - 1 + int(below[-1].split()[0]) == 29


def test_a_terminal_without_unicode_gets_ascii_only_even_from_what_hosts_say() -> None:
    happened = [*half_way(["nuc1", "nuc2", "nuc3"], "Größe " + LONG), Waiting(6, "nuc2", "Größe", 3, 9, "…läuft")]
    lines = draw(view_of(happened), 15, signs=ASCII)
    assert "".join(lines).isascii()
    assert any("Gr??e A task" in line and line.endswith("...") for line in lines)
    assert any("attempt 3 of 9: ?l?uft" in line for line in lines)


def test_control_characters_of_a_message_do_not_break_the_picture() -> None:
    happened = [*half_way(["nuc1", "nuc2"]), Waiting(6, "nuc2", "Packages", 3, 9, "\x1b[31mred\x1b[0m\ttab\nline")]
    assert any(line.endswith("attempt 3 of 9: red tab line") for line in draw(view_of(happened), 15))


def test_a_failed_host_is_marked_where_it_failed_and_named_by_its_task() -> None:
    failure = Failure("nuc2", "Enrol", "Packages", message="no")
    failed = HostDone(6, "nuc2", "Packages", "", "", Status.FAILED, 1.0, failure)
    lines = draw(view_of([*half_way(["nuc1", "nuc2", "orin1"]), failed]), 15, width=140)
    assert lines[0] == "15 s, 3 changes, 1 host failed"
    assert lines[3].split() == ["nuc2", "+1", "✗", "failed:", "Packages"]


def test_nothing_is_said_of_the_time_left_when_there_is_none() -> None:
    view = view_of(half_way(["nuc1", "nuc2"]), former=dict.fromkeys(PHASES, 0.0))
    assert draw(view, 15)[0] == "15 s, 2 changes"


def test_recorded_events_leave_a_whole_picture_behind() -> None:
    view = View(["Machine", "Runtime"])
    for event in events():
        view.take(event)
    view.end()
    assert draw(view, events()[-1].time + 1000) == [
        "18 s, 4 changes, 3 hosts failed",
        "       Machine  Runtime",
        "nuc1   ✓        ✓",
        "nuc2   +2       ✗        failed: Start containerd",
        "orin1  +2       ✗        failed: Peer",
        "gone   ✗                 failed: Packages",
        "       11s      7s",
    ]


def played(console: Console, happened: Iterable[Event]) -> str:
    with LiveRenderer(console=console, phases=PHASES, clock=lambda: 0.0) as renderer:
        for event in happened:
            renderer.take(event)
    written = console.file
    assert isinstance(written, io.StringIO)
    return written.getvalue()


def test_no_color_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    written = played(Console(width=80, file=io.StringIO(), force_terminal=True), events())
    assert "nuc2: Start containerd: exit code 5" in written
    for colour in ("\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[1;31m", "\x1b[36m"):
        assert colour not in written


def test_a_terminal_with_colours_gets_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    written = played(Console(width=80, file=io.StringIO(), force_terminal=True, color_system="standard"), events())
    assert "\x1b[1;31m✗" in written


def test_failures_and_warnings_are_written_once_above_the_display_as_they_are() -> None:
    failure = Failure("nuc2", "Enrol", "Packages", message="no such :key: [red]\nmore of it")
    happened = [
        *half_way(["nuc1", "nuc2"]),
        Warned(6, "warning", "[WARNING]: old Python"),
        HostDone(6, "nuc2", "Packages", "", "", Status.FAILED, 1.0, failure),
        Tally(7, {"nuc1": {"failures": 0, "dark": 0}, "nuc2": {"failures": 1, "dark": 0}}),
    ]
    written = played(Console(width=80, file=io.StringIO(), force_terminal=True), happened)
    assert written.count("nuc2: Packages: no such :key: [red]") == 1
    assert written.count("[WARNING]: old Python") == 1
    assert "more of it" not in written


def test_a_message_that_the_terminal_cannot_write_does_not_end_the_run() -> None:
    terminal = io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors="strict")
    console = Console(width=80, file=terminal, force_terminal=True)
    failure = Failure("nuc2", "Enrol", "Größe", message="läuft nicht …")
    with LiveRenderer(console=console, phases=PHASES, hosts=("nuc1", "nuc2")) as renderer:
        for event in [*half_way(["nuc1", "nuc2"]), HostDone(6, "nuc2", "Größe", "", "", Status.FAILED, 1.0, failure)]:
            renderer.take(event)
        renderer.note("…")
    terminal.seek(0)
    assert "nuc2: Gr??e: l?uft nicht ?" in terminal.read()
