"""ansible-runner's raw events in, ours out. Classifies by the data's keys, never by Ansible's wording."""

from __future__ import annotations

import difflib
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from edgectl.run.events import (
    Event,
    Failure,
    HostDone,
    HostStarted,
    Noted,
    PhaseFinished,
    PhaseStarted,
    Restarted,
    Status,
    Tally,
    TaskStarted,
    Waiting,
    Warned,
)

# Where a result carries data for the CLI; everything else in it may hold what nobody wants in a log.
SUMMARY_KEY = "edgectl_summary"
HIDDEN = "its output is hidden, since it may hold a secret (no_log)"

_HAPPENING = ("playbook_on_task_start", "playbook_on_handler_task_start", "runner_")
_TALLY = ("ok", "changed", "failures", "dark", "skipped", "rescued", "ignored")
_STDERR_LINES = 20
# In the path of every file that Ansible makes on this machine (ansible/config/manager.py, 2.19).
_TEMPORARY = "/ansible-local-"


class EventReader:
    """Keeps what one raw event does not tell: the phase, and the items of a loop that failed.

    A phase begins with the first thing that happens in it: one without hosts never does.

    redact: applied to all text that comes from a host, so that no renderer needs to think of it.
    """

    def __init__(self, redact: Callable[[str], str] = str) -> None:
        self._redact = redact
        self._announced: tuple[str, float] | None = None
        self._phase = ""
        self._phase_started = 0.0
        self._failed_items: dict[tuple[str, str], list[str]] = {}

    def read(self, raw: Mapping[str, Any]) -> Iterator[Event]:
        """The events that one raw event means: none, one, or two where a phase gives way to the next."""
        kind = str(raw.get("event", ""))
        data: Mapping[str, Any] = raw.get("event_data") or {}
        now = _timestamp(raw.get("created"))
        if kind.startswith(_HAPPENING):
            yield from self._open_phase()
        match kind:
            case "playbook_on_play_start":
                yield from self._close_phase(now)
                self._announced = str(data.get("name") or data.get("play") or "play"), now
            case "playbook_on_task_start" | "playbook_on_handler_task_start":
                handler = bool(data.get("is_conditional")) or kind == "playbook_on_handler_task_start"
                yield TaskStarted(now, _task(data), str(data.get("role", "")), handler)
            case "runner_on_start":
                yield HostStarted(now, str(data.get("host", "")), _task(data))
            case "runner_retry":
                result = data.get("res") or {}
                attempt, attempts = int(result.get("attempts", 0)), int(result.get("retries", 0))
                # Ansible counts the first try apart: `retries: 3` is shown as 4 by the callback.
                said = self._redact(_said_when_retried(result))
                yield Waiting(now, str(data.get("host", "")), _task(data), attempt, max(attempts - 1, attempt), said)
            case "runner_item_on_failed":
                self._failed_items.setdefault(_place(data), []).append(_item(data))
            case "runner_on_ok" | "runner_on_skipped" | "runner_on_failed" | "runner_on_unreachable":
                done = self._done(kind, data, now)
                yield done
                if note := _note(data, done.status):
                    yield Noted(now, done.host, self._redact(note))
                for warning in _warned(data, done.status):
                    yield Warned(now, "warning", self._redact(warning))
                for unit in _restarted(data):
                    yield Restarted(now, done.host, unit)
            case "playbook_on_stats":
                yield from self._close_phase(now)
                yield Tally(now, _tally(data))
            case "warning" | "deprecated" | "error" | "verbose":
                if text := str(raw.get("stdout", "")).strip():
                    yield Warned(now, kind, self._redact(text))

    def finish(self) -> Iterator[Event]:
        """Close the phase that was running when the run was stopped."""
        yield from self._close_phase(time.time())

    def _open_phase(self) -> Iterator[Event]:
        if self._announced:
            (self._phase, self._phase_started), self._announced = self._announced, None
            yield PhaseStarted(self._phase_started, self._phase)

    def _close_phase(self, now: float) -> Iterator[Event]:
        if self._phase:
            yield PhaseFinished(now, self._phase, max(0.0, now - self._phase_started))
            self._phase = ""

    def _done(self, kind: str, data: Mapping[str, Any], now: float) -> HostDone:
        raw_result = data.get("res")
        result: Mapping[str, Any] = raw_result if isinstance(raw_result, Mapping) else {}
        status = _status(kind, data, result)
        items = tuple(self._failed_items.pop(_place(data), ()))
        failure = None
        if status in (Status.FAILED, Status.IGNORED, Status.UNREACHABLE):
            failure = self._failure(data, result, items, status)
        return HostDone(
            now,
            host=str(data.get("host", "")),
            task=_task(data),
            role=str(data.get("role", "")),
            action=_action(data),
            status=status,
            seconds=float(data.get("duration") or 0.0),
            failure=failure,
            diff=self._redact(_diff(result)),
            result=_kept(result),
        )

    def _failure(
        self, data: Mapping[str, Any], result: Mapping[str, Any], items: tuple[str, ...], status: Status
    ) -> Failure:
        rc = result.get("rc")
        stderr = str(result.get("stderr") or result.get("module_stderr") or "")
        findings = result.get("findings")
        delegated = result.get("_ansible_delegated_vars")
        host = str(data.get("host", ""))
        return Failure(
            host=host,
            phase=self._phase,
            task=_task(data),
            role=str(data.get("role", "")),
            action=_action(data),
            message=self._redact("; ".join(items) if items and "results" in result else _message(result)),
            rc=rc if isinstance(rc, int) else None,
            stderr=self._redact("\n".join(stderr.strip().splitlines()[-_STDERR_LINES:])),
            items=tuple(map(self._redact, items)),
            findings=tuple(f for f in findings if isinstance(f, Mapping)) if isinstance(findings, list) else (),
            delegated_to=_delegate(delegated, host),
            unreachable=status is Status.UNREACHABLE,
        )


def _status(kind: str, data: Mapping[str, Any], result: Mapping[str, Any]) -> Status:
    if kind == "runner_on_skipped":
        return Status.SKIPPED
    if kind == "runner_on_unreachable":
        return Status.UNREACHABLE
    if kind == "runner_on_failed":
        return Status.IGNORED if data.get("ignore_errors") else Status.FAILED
    return Status.CHANGED if result.get("changed") else Status.OK


def _message(result: Mapping[str, Any]) -> str:
    if "censored" in result:
        return HIDDEN
    if "cmd" in result and isinstance(result.get("rc"), int) and result["rc"] != 0:
        said = str(result.get("stderr") or result.get("stdout") or "").strip()
        return f"exit code {result['rc']}" + (f": {said.splitlines()[-1].strip()}" if said else "")
    if "attempts" in result and not result.get("msg") and not result.get("rc"):
        return f"still not so after {result['attempts']} attempts"
    for key in ("msg", "reason", "stderr", "module_stderr", "stdout"):
        value = result.get(key)
        if isinstance(value, list):
            value = "\n".join(map(str, value))
        if value:
            return str(value).strip()
    return "it gave no message"


def _diff(result: Mapping[str, Any]) -> str:
    """A module's diffs as one text; those of a loop's items, one after the other."""
    items = result.get("results")
    results = [result, *(items if isinstance(items, list) else [])]
    found = [one.get("diff") for one in results if isinstance(one, Mapping)]
    diffs = [diff for entry in found for diff in (entry if isinstance(entry, list) else [entry])]
    return "\n".join(filter(None, (_one_diff(diff) for diff in diffs if isinstance(diff, Mapping))))


def _one_diff(diff: Mapping[str, Any]) -> str:
    if diff.get("prepared"):
        return str(diff["prepared"]).strip()
    before, after = _diff_lines(diff.get("before")), _diff_lines(diff.get("after"))
    if before == after:
        return ""
    lines = [
        line for line in difflib.unified_diff(before, after, lineterm="", n=1) if not line.startswith(("---", "+++"))
    ]
    return "\n".join(filter(None, [_diff_name(diff), *lines]))


def _diff_name(diff: Mapping[str, Any]) -> str:
    """The file on the host; of one that is not there yet, Ansible may know no more than the template's name."""
    name = str(diff.get("before_header") or diff.get("after_header") or "")
    return Path(name).name if _TEMPORARY in name else name


def _diff_lines(side: object) -> list[str]:
    """Modules give text, or a mapping of what they look at (`{"mode": "0644", "path": ...}`)."""
    if isinstance(side, Mapping):
        return [f"{key}: {side[key]}" for key in sorted(side)]
    return str(side or "").splitlines()


def _said_when_retried(result: Mapping[str, Any]) -> str:
    # What a command that worked wrote is data (a whole object of the API, say) and tells nobody why we wait.
    if "censored" in result or not (result.get("msg") or result.get("rc")):
        return ""
    return _message(result).splitlines()[-1].strip()


def _note(data: Mapping[str, Any], status: Status) -> str:
    if status is not Status.OK or _action(data).rpartition(".")[2] != "debug":
        return ""
    message = (data.get("res") or {}).get("msg")
    return message.strip() if isinstance(message, str) else ""


def _warned(data: Mapping[str, Any], status: Status) -> list[str]:
    """Warnings of preflight. Ansible prints those of a result inside of its event, and no event of their own comes."""
    findings = (data.get("res") or {}).get("findings")
    if status is not Status.OK or not isinstance(findings, list):
        return []
    return ["warning: {host}: {what}\n    seen: {evidence}\n    fix: {fix}".format_map(one) for one in findings]


def _restarted(data: Mapping[str, Any]) -> list[str]:
    """Units that module edgectl_units restarted, or would restart."""
    done = (data.get("res") or {}).get("done") if _action(data) == "edgectl_units" else None
    return [str(unit) for unit in done.get("restarted", [])] if isinstance(done, Mapping) else []


def _item(data: Mapping[str, Any]) -> str:
    result = data.get("res") or {}
    label = result.get("_ansible_item_label", result.get("item", ""))
    return f"{label}: {_message(result)}"


def _delegate(delegated: object, host: str) -> str:
    if not isinstance(delegated, Mapping):
        return ""
    name = str(delegated.get("ansible_delegated_host") or delegated.get("ansible_host") or "")
    return "" if name == host else name


def _kept(result: Mapping[str, Any]) -> Mapping[str, Any]:
    """Only what the CLI itself asks for, so that no secret in a module's result travels on."""
    facts = result.get("ansible_facts")
    for holder in (result, facts if isinstance(facts, Mapping) else {}, result.get("msg")):
        if isinstance(holder, Mapping) and SUMMARY_KEY in holder:
            return {SUMMARY_KEY: holder[SUMMARY_KEY]}
    return {}


def _tally(data: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    hosts: dict[str, dict[str, int]] = {}
    for key in _TALLY:
        for host, count in (data.get(key) or {}).items():
            hosts.setdefault(str(host), dict.fromkeys(_TALLY, 0))[key] = int(count)
    return hosts


def _task(data: Mapping[str, Any]) -> str:
    # `name` has the role in front ("wireguard : Keep the key"), which we show apart.
    return str(data.get("task") or data.get("name") or "")


def _action(data: Mapping[str, Any]) -> str:
    return str(data.get("resolved_action") or data.get("task_action") or "")


def _place(data: Mapping[str, Any]) -> tuple[str, str]:
    return str(data.get("host", "")), str(data.get("task_uuid", ""))


def _timestamp(created: object) -> float:
    if isinstance(created, str):
        try:
            moment = datetime.fromisoformat(created)
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        except ValueError:
            pass
    return time.time()
