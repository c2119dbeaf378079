"""Raw events become ours."""

from __future__ import annotations

import json

from edgectl.output.jsonl import document
from edgectl.run.events import (
    Failure,
    HostDone,
    Noted,
    PhaseFinished,
    PhaseStarted,
    Restarted,
    Status,
    Tally,
    Waiting,
    Warned,
)
from edgectl.run.reader import HIDDEN, EventReader
from edgectl.run.redact import Redactor

from .recorded import events, raw


def failure(host: str, task: str) -> Failure:
    found = [e.failure for e in events() if isinstance(e, HostDone) and (e.host, e.task) == (host, task)]
    assert found[0] is not None
    return found[0]


def test_plays_are_phases_with_their_seconds() -> None:
    assert [e.phase for e in events() if isinstance(e, PhaseStarted)] == ["Machine", "Runtime"]
    ended = {e.phase: round(e.seconds, 1) for e in events() if isinstance(e, PhaseFinished)}
    assert ended == {"Machine": 10.6, "Runtime": 7.4}


def test_each_task_ends_once_on_each_host_with_its_status() -> None:
    done = [(e.host, e.task, e.status) for e in events() if isinstance(e, HostDone)]
    assert len(done) == len(set(done))
    assert ("nuc2", "Packages", Status.CHANGED) in done
    assert ("nuc1", "Packages", Status.OK) in done
    assert ("gone", "Packages", Status.UNREACHABLE) in done
    assert ("orin1", "Modules", Status.SKIPPED) in done
    assert ("nuc1", "Modules", Status.IGNORED) in done
    assert ("nuc2", "Restart the clock", Status.CHANGED) in done


def test_a_failed_command_says_what_it_wrote_last() -> None:
    failed = failure("nuc2", "Start containerd")
    assert failed.message == "exit code 5: unit containerd.service is masked"
    assert (failed.phase, failed.role, failed.rc) == ("Runtime", "containerd", 5)
    assert failed.stderr.splitlines()[0] == "Job failed"


def test_a_failed_loop_names_the_items_that_failed() -> None:
    assert failure("nuc1", "Modules").message == "false: exit code 1"


def test_a_hidden_result_says_that_it_is_hidden() -> None:
    assert failure("orin1", "Password").message == HIDDEN


def test_a_delegated_failure_names_the_host_it_happened_on() -> None:
    assert failure("orin1", "Peer").delegated_to == "nuc1"


def test_retries_count_the_attempts_the_author_asked_for() -> None:
    waits = [(e.attempt, e.attempts) for e in events() if isinstance(e, Waiting) and e.host == "nuc1"]
    assert waits == [(1, 5), (2, 5)]


def waiting_for(**result: object) -> str:
    data = {"host": "nuc1", "task": "Wait", "res": {"attempts": 1, "retries": 3, **result}}
    (waiting,) = EventReader(Redactor(["s3cret"])).read({"event": "runner_retry", "event_data": data})
    assert isinstance(waiting, Waiting)
    return waiting.message


def test_a_wait_says_what_the_task_said_last() -> None:
    assert waiting_for(cmd=["kubectl"], rc=1, msg="non-zero return code", stderr="E0101 x\nconnection refused\n") == (
        "exit code 1: connection refused"
    )
    assert waiting_for(msg="Timeout\nwhen waiting for 10.0.0.1:6443") == "when waiting for 10.0.0.1:6443"


def test_a_wait_shows_neither_secrets_nor_the_data_that_a_working_command_wrote() -> None:
    assert waiting_for(msg="bad password s3cret") == "bad password ********"
    assert waiting_for(censored="hidden by no_log", msg="s3") == ""
    assert waiting_for(cmd=["kubectl"], rc=0, stdout='{"kind": "Secret"}') == ""


def test_restarted_units_are_named() -> None:
    done = {"restarted": ["containerd.service"], "enabled": ["kubelet.service"]}
    data = {"host": "orin1", "task": "Running", "task_action": "edgectl_units", "res": {"changed": True, "done": done}}
    read = EventReader().read({"event": "runner_on_ok", "event_data": data})
    assert [(e.host, e.unit) for e in read if isinstance(e, Restarted)] == [("orin1", "containerd.service")]


def test_the_tally_covers_every_host() -> None:
    tally = next(e for e in events() if isinstance(e, Tally))
    assert tally.hosts["gone"]["dark"] == 1
    assert tally.hosts["nuc1"]["rescued"] == 1


def test_nothing_of_a_modules_result_travels_on_but_what_is_meant_for_the_cli() -> None:
    text = json.dumps([document(event) for event in events()])
    assert "module_args" not in text
    assert "module_args" in json.dumps(raw())
    kept = [e.result for e in events() if isinstance(e, HostDone) and e.result]
    assert kept
    assert all(result == {"edgectl_summary": {"nodes": [{"name": "nuc1", "ready": True}]}} for result in kept)


def test_warnings_of_preflight_that_stop_nobody_are_told() -> None:
    finding = {"host": "nuc1", "what": "swap stays on", "evidence": "zram0", "fix": "none", "severity": "warning"}
    data = {"host": "nuc1", "task": "Every problem", "res": {"findings": [finding]}}
    told = EventReader().read({"event": "runner_on_ok", "event_data": data})
    [warned] = [event for event in told if isinstance(event, Warned)]
    assert (warned.level, warned.text) == ("warning", "warning: nuc1: swap stays on\n    seen: zram0\n    fix: none")


def test_findings_of_preflight_are_kept() -> None:
    findings = [{"host": "nuc1", "what": "no time", "severity": "error"}]
    data = {"host": "nuc1", "task": "Every problem", "res": {"failed": True, "msg": "1 problem", "findings": findings}}
    (done,) = EventReader().read({"event": "runner_on_failed", "event_data": data})
    assert isinstance(done, HostDone)
    assert done.failure is not None
    assert list(done.failure.findings) == findings


def test_what_a_role_tells_by_debug_is_a_note_and_what_it_shows_of_a_variable_is_none() -> None:
    data = {"host": "nuc2", "task": "Say it", "resolved_action": "ansible.builtin.debug", "res": {"msg": " silent "}}
    told = list(EventReader().read({"event": "runner_on_ok", "event_data": data}))
    assert [(e.host, e.text) for e in told if isinstance(e, Noted)] == [("nuc2", "silent")]
    for event, other in (("runner_on_ok", {"res": {"edgectl_summary": {}}}), ("runner_on_skipped", {})):
        said = EventReader().read({"event": event, "event_data": data | other})
        assert not [e for e in said if isinstance(e, Noted)]


def test_a_run_that_was_stopped_closes_its_phase() -> None:
    reader = EventReader()
    for event in raw()[1:3]:
        list(reader.read(event))
    assert [type(event) for event in reader.finish()] == [PhaseFinished]


def test_a_phase_without_hosts_never_begins() -> None:
    reader, seen = EventReader(), []
    for event in ("playbook_on_play_start", "playbook_on_no_hosts_matched", "playbook_on_stats"):
        seen += list(reader.read({"event": event, "event_data": {"name": "Driver"}}))
    assert [type(event) for event in seen] == [Tally]


def test_events_nobody_knows_and_empty_ones_mean_nothing() -> None:
    reader = EventReader()
    assert list(reader.read({"event": "playbook_on_import"})) == []
    assert list(reader.read({"event": "verbose", "stdout": "  "})) == []
    assert list(reader.read({})) == []


def test_a_secret_in_a_message_is_masked_before_anybody_shows_it() -> None:
    data = {"host": "a", "task": "t", "res": {"failed": True, "msg": "got s3cret", "stderr": "s3cret"}}
    (done,) = EventReader(Redactor(["s3cret"])).read({"event": "runner_on_failed", "event_data": data})
    assert "s3cret" not in json.dumps(document(done))
