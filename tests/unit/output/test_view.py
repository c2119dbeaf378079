"""What the live display knows, as data."""

from __future__ import annotations

import pytest

from edgectl.output.view import Mark, View
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
)
from tests.unit.run.recorded import events

GOOD = {"failures": 0, "dark": 0}


def done(time: float, host: str, status: Status = Status.OK) -> HostDone:
    failure = Failure(host, "Machine", "Packages", message="no") if status is Status.FAILED else None
    return HostDone(time, host, "Packages", "machine", "apt", status, 1.0, failure)


def view_of(*happened: Event, phases: tuple[str, ...] = ("Machine", "Runtime"), **options: object) -> View:
    view = View(phases, **options)  # type: ignore[arg-type]
    for event in happened:
        view.take(event)
    return view


def marks(view: View, host: str) -> list[Mark]:
    return [view.cell(view.hosts[host], number).mark for number in range(len(view.phases))]


def test_the_view_knows_phases_to_come_hosts_at_work_and_what_failed() -> None:
    stop = next(i for i, e in enumerate(events()) if isinstance(e, HostStarted) and e.task == "Wait for the socket")
    view = view_of(*events()[: stop + 1], phases=("Machine", "Runtime", "Verify"))
    assert [(row.name, row.mark) for row in view.phases] == [
        ("Machine", Mark.FAILED),
        ("Runtime", Mark.RUNNING),
        ("Verify", Mark.PENDING),
    ]
    assert view.phases[0].failed == {"gone"}
    assert view.phases[0].changes == 4
    assert view.hosts["nuc1"].doing == "Wait for the socket"
    assert marks(view, "nuc1") == [Mark.DONE, Mark.RUNNING, Mark.PENDING]
    assert marks(view, "gone") == [Mark.FAILED, Mark.ABSENT, Mark.ABSENT]
    assert [view.hosts[name].cells[0].changes for name in ("nuc1", "nuc2", "orin1")] == [0, 2, 2]
    for event in events()[stop + 1 :]:
        view.take(event)
    assert {name: row.mark for name, row in view.hosts.items()} == {
        "nuc1": Mark.DONE,
        "nuc2": Mark.FAILED,
        "orin1": Mark.FAILED,
        "gone": Mark.FAILED,
    }
    assert marks(view, "nuc1") == [Mark.DONE, Mark.DONE, Mark.PENDING]


def test_hosts_are_there_before_anything_happens_and_without_a_part_in_a_phase_have_no_mark_in_it() -> None:
    view = view_of(hosts=("nuc1", "hub"))
    assert marks(view, "hub") == [Mark.PENDING, Mark.PENDING]
    for event in (PhaseStarted(0, "Machine"), HostStarted(0, "nuc1", "t"), done(1, "nuc1"), PhaseFinished(2, "", 2.0)):
        view.take(event)
    assert marks(view, "hub") == [Mark.ABSENT, Mark.PENDING]


def test_a_wait_is_told_with_its_attempts_and_its_message_until_the_task_ends() -> None:
    wait = Waiting(3, "nuc1", "Packages", 2, 5, "the lock is held")
    view = view_of(PhaseStarted(0, "Machine"), HostStarted(1, "nuc1", "Packages"), wait)
    assert view.hosts["nuc1"].waiting == wait
    assert view.hosts["nuc1"].since == 1
    view.take(done(4, "nuc1"))
    assert view.hosts["nuc1"].waiting is None


def test_a_rescued_failure_counts_no_more() -> None:
    start, begin, fail = PhaseStarted(0, "Machine"), HostStarted(0, "a", "t"), done(1, "a", Status.FAILED)
    view = view_of(start, begin, fail, HostStarted(2, "a", "rescue"))
    assert marks(view, "a")[0] is Mark.RUNNING
    at_the_end = view_of(start, begin, fail, PhaseFinished(2, "Machine", 2.0), Tally(2, {"a": GOOD}))
    assert marks(at_the_end, "a")[0] is Mark.DONE
    assert at_the_end.phases[0].mark is Mark.DONE


def test_a_failure_that_something_was_tidied_up_after_stays_one() -> None:
    tidied = view_of(
        PhaseStarted(0, "Machine"), HostStarted(0, "a", "t"), done(1, "a", Status.FAILED),
        HostStarted(1, "a", "always"), done(2, "a"), PhaseFinished(2, "Machine", 2.0),
        Tally(2, {"a": {**GOOD, "failures": 1}}),
    )  # fmt: skip
    assert marks(tidied, "a")[0] is Mark.FAILED
    assert tidied.phases[0].mark is Mark.FAILED


def test_a_run_that_was_stopped_shows_who_had_not_finished() -> None:
    view = view_of(
        PhaseStarted(0, "Machine"), HostStarted(0, "a", "t"), HostStarted(0, "b", "t"), done(1, "a"),
        PhaseFinished(4, "Machine", 4.0),
    )  # fmt: skip
    view.end()
    assert (marks(view, "a")[0], marks(view, "b")[0]) == (Mark.DONE, Mark.STOPPED)
    assert view.phases[0].mark is Mark.STOPPED
    assert view.elapsed(100) == 4


def test_the_time_left_is_that_of_the_former_run_less_what_has_passed() -> None:
    view = view_of(PhaseStarted(100, "Machine"), former={"Machine": 10.0, "Runtime": 20.0})
    assert view.elapsed(104) == 4
    assert view.remaining(104) == 26
    # A phase that takes longer than before leaves the later ones their time.
    assert view.remaining(150) == 20
    view.take(PhaseFinished(103, "Machine", 3.0))
    view.take(PhaseStarted(103, "Runtime"))
    assert view.remaining(104) == 19
    assert view.remaining(500) == 0


@pytest.mark.parametrize("former", [{}, {"Machine": 10.0}])
def test_nothing_is_said_of_the_time_left_where_nothing_is_known(former: dict[str, float]) -> None:
    assert view_of(PhaseStarted(0, "Machine"), former=former).remaining(1) is None


def test_the_time_stands_still_when_the_run_has_ended() -> None:
    view = view_of(PhaseStarted(0, "Machine"), Tally(9, {"a": GOOD}), former={"Machine": 10.0, "Runtime": 20.0})
    assert view.elapsed(100) == 9
    assert view.remaining(100) is None


def test_of_many_hosts_those_in_trouble_waiting_or_at_work_keep_a_row_and_the_others_share_one() -> None:
    names = tuple(f"host{number:02d}" for number in range(30))
    view = view_of(PhaseStarted(0, "Machine"), *(HostStarted(1, name, "Packages") for name in names), hosts=names)
    for name in names:
        if name == "host03":
            view.take(done(2, name, Status.FAILED))
        elif name == "host25":
            view.take(Waiting(3, name, "Packages", 1, 5))
        elif name not in ("host12", "host28"):
            view.take(done(2, name, Status.CHANGED))
    shown, folded = view.folded(5)
    assert [row.name for row in shown] == ["host03", "host12", "host25", "host28"]
    assert len(folded) == 26
    assert view.together(folded, 0).changes == 26
    assert view.together([*folded, view.hosts["host03"]], 0).mark is Mark.FAILED
    assert [row.name for row in view.busy()] == ["host25", "host12", "host28"]
    assert view.folded(30) == (list(view.hosts.values()), [])
