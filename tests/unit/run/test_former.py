"""The phases' times of a former run, read from its log."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from edgectl.run.events import Event, PhaseFinished, PhaseStarted, Tally
from edgectl.run.former import phase_times
from edgectl.run.log import RunLog, new_run_directory
from edgectl.run.redact import Redactor

GOOD = {"failures": 0, "dark": 0}


def run(base: Path, verb: str, seconds: Mapping[str, float], hosts: Mapping[str, Mapping[str, int]] | None) -> Path:
    """Write the log of a run as a run writes it; without hosts, of one that was stopped."""
    directory = new_run_directory(verb, base)
    events: list[Event] = []
    for phase, took in seconds.items():
        events += [PhaseStarted(0.0, phase), PhaseFinished(took, phase, took)]
    with RunLog(directory, Redactor()) as log:
        for event in [*events, *([] if hosts is None else [Tally(0.0, hosts)])]:
            log.take(event)
    return directory


def test_the_last_successful_run_of_the_verb_over_as_many_hosts_counts(tmp_path: Path) -> None:
    run(tmp_path, "bootstrap", {"Machine": 1.0}, {"a": GOOD, "b": GOOD})
    run(tmp_path, "bootstrap", {"Machine": 2.0, "Verify": 0.5}, {"a": GOOD, "b": GOOD})
    run(tmp_path, "bootstrap", {"Machine": 3.0}, {"a": GOOD})
    run(tmp_path, "bootstrap", {"Machine": 4.0}, {"a": GOOD, "b": {"failures": 1, "dark": 0}})
    run(tmp_path, "bootstrap", {"Machine": 5.0}, {"a": GOOD, "b": {"failures": 0, "dark": 1}})
    run(tmp_path, "bootstrap", {"Machine": 6.0}, None)
    run(tmp_path, "reset", {"Machine": 7.0}, {"a": GOOD, "b": GOOD})
    assert phase_times("bootstrap", 2, tmp_path) == {"Machine": 2.0, "Verify": 0.5}


def test_without_such_a_run_nothing_is_known(tmp_path: Path) -> None:
    assert phase_times("bootstrap", 2, tmp_path / "none") == {}
    run(tmp_path, "bootstrap", {"Machine": 1.0}, {"a": GOOD})
    assert phase_times("bootstrap", 2, tmp_path) == {}


def test_a_log_that_cannot_be_read_is_passed_over(tmp_path: Path) -> None:
    run(tmp_path, "bootstrap", {"Machine": 1.0}, {"a": GOOD})
    for text in ('{"kind": "tally", "hosts": {"a"', '{"kind": "tally", "hosts": 3}', '{"kind": "tally"}\n'):
        broken = run(tmp_path, "bootstrap", {"Machine": 2.0}, None) / "events.jsonl"
        broken.write_text(broken.read_text() + text)
    (new_run_directory("bootstrap", tmp_path) / "nothing").touch()
    assert phase_times("bootstrap", 1, tmp_path) == {"Machine": 1.0}
