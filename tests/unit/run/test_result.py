"""What came of a run."""

from __future__ import annotations

from pathlib import Path

from edgectl.run.events import HostStarted, Tally
from edgectl.run.result import Gatherer, RunResult, RunStatus

from .recorded import events


def gather(
    *, rc: int = 2, canceled: bool = False, without: tuple[type, ...] = (), up_to: int | None = None
) -> RunResult:
    gatherer = Gatherer()
    for event in events()[:up_to]:
        if not isinstance(event, without):
            gatherer.take(event)
    return gatherer.result(run_id="x", rc=rc, canceled=canceled, started=0, seconds=1, log=Path("log"))


def test_rescued_and_ignored_failures_are_not_failures() -> None:
    result = gather()
    assert [(f.host, f.task) for f in result.failures] == [
        ("nuc2", "Start containerd"),
        ("orin1", "Peer"),
        ("gone", "Packages"),
    ]
    assert {(f.host, f.task) for f in result.ignored} == {
        ("orin1", "Password"),
        ("nuc1", "Modules"),
        ("nuc1", "First try"),
    }


def test_changes_are_counted_once_and_belong_to_a_phase() -> None:
    changes = [(c.host, c.phase, c.task) for c in gather().changes]
    assert sorted(changes) == [
        ("nuc2", "Machine", "Packages"),
        ("nuc2", "Machine", "Restart the clock"),
        ("orin1", "Machine", "Packages"),
        ("orin1", "Machine", "Restart the clock"),
    ]


def test_the_summary_of_the_last_phase_is_at_hand() -> None:
    assert gather().summary == {"nodes": [{"name": "nuc1", "ready": True}]}


def test_a_failure_weighs_more_than_a_host_that_was_lost() -> None:
    result = gather(rc=4)
    assert result.status is RunStatus.FAILED
    assert result.unreachable == ("gone",)


def test_an_unreadable_playbook_is_a_failed_run_though_ansible_says_4() -> None:
    result = Gatherer().result(run_id="x", rc=4, canceled=False, started=0, seconds=1, log=Path("log"))
    assert result.status is RunStatus.FAILED


def test_a_canceled_run_names_the_hosts_that_may_be_busy() -> None:
    index = next(i for i, e in enumerate(events()) if isinstance(e, HostStarted) and e.task == "Wait for the socket")
    result = gather(canceled=True, without=(Tally,), up_to=index + 1)
    assert result.status is RunStatus.CANCELED
    assert result.busy == {"nuc1": "Wait for the socket"}
