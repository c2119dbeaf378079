"""The end of a run, for people: what stands now, or what failed, why, and what to do about it."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgectl.output.jsonl import SCHEMA_VERSION, as_json
from edgectl.output.words import count, duration, listing
from edgectl.run.events import Failure
from edgectl.run.result import RunResult, RunStatus

if TYPE_CHECKING:
    from edgectl.cluster.verb import Outcome
    from edgectl.cluster.verified import Proof

_INDENT = "  "
_NO_BREAK = "\N{NO-BREAK SPACE}"
_MOST_LINES = 20
_LONGEST_LINE = 400
# Verbs that can be limited to some hosts.
_LIMITED = ("bootstrap", "plan", "reset", "verify")


def lines(outcome: Outcome) -> Iterator[str]:
    """The summary of any verb's run."""
    result = outcome.result
    match result.status:
        case RunStatus.SUCCESSFUL:
            yield from _nodes(result.summary)
            yield from _changes(outcome)
            yield from _phases(result)
            yield from _left_out(outcome)
            yield from _next_steps(outcome)
        case RunStatus.CANCELED:
            yield from _canceled(outcome)
        case _:
            yield from _failed(outcome)
    yield from _notes(result)
    yield f"Log: {result.log_path}"


def document(outcome: Outcome) -> dict[str, Any]:
    """The same as one JSON document."""
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": "result",
        "verb": outcome.verb,
        "exit_code": int(outcome.exit_code),
        "left_out": dict(outcome.session.missing),
        "journal": {host: list(said) for host, said in outcome.journal.items()},
        **as_json(outcome.result),
    }


def plan_lines(outcome: Outcome) -> Iterator[str]:
    """What a run would change: by phase and task, the hosts it is the same for together, then the restarts."""
    result = outcome.result
    if not result.ok:
        yield from lines(outcome)
        return
    same: dict[str, dict[tuple[str, str], list[str]]] = {}
    for change in result.changes:
        same.setdefault(change.phase, {}).setdefault((change.task, change.diff), []).append(change.host)
    for phase, tasks in same.items():
        yield phase
        for (task, diff), hosts in tasks.items():
            yield f"{_INDENT}{listing(_in_order(outcome, hosts))}: {task}"
            yield from (_INDENT + line for line in _block(diff)) if diff else ()
        yield ""
    yield from _restarts(outcome, "Would restart")
    known = outcome.session.inventory.state.hosts
    fresh = [name for name in outcome.session.ready if name not in known]
    if fresh and result.changes:
        yield f"{listing(fresh)} never had a run: what needs packages that are not there yet can't be foretold."
    yield from _left_out(outcome)
    yield from _notes(result)
    if result.changes:
        changed = _in_order(outcome, [change.host for change in result.changes])
        yield f"{count(len(result.changes), 'change')} on {listing(changed)}. To make them: {command(outcome)}"
    else:
        yield f"Nothing would be changed on {listing(_in_order(outcome, result.hosts))}."
    yield f"Log: {result.log_path}"


def proof_lines(proof: Proof) -> Iterator[str]:
    """What a verified look says: nothing was to do, and how that is known."""
    yield from _nodes({"nodes": proof.nodes})
    yield f"Nothing to do on {listing(proof.hosts)}. The inventory is that of the last run, and {proof.evidence} things"
    yield f"that it left on the hosts were measured again and are as they were ({duration(proof.seconds)})."


def proof_document(proof: Proof) -> dict[str, Any]:
    """The same as one JSON document."""
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": "result",
        "verb": "bootstrap",
        "exit_code": 0,
        "verified": True,
        **as_json(proof),
    }


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Columns padded to their widest cell, two spaces between them."""
    widths = [max(len(row[column]) for row in (header, *rows)) for column in range(len(header))]
    for row in (header, *rows):
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield (_INDENT + "  ".join(cells)).rstrip()


def _nodes(summary: Mapping[str, Any]) -> Iterator[str]:
    nodes = summary.get("nodes") or []
    if not nodes:
        return
    yield "Nodes"
    rows = [
        (
            str(node.get("name", "")),
            ", ".join(node.get("roles") or []) or "worker",
            "Ready" if node.get("ready") else "NOT READY",
            str(node.get("internal_ip") or ""),
            str(node.get("version") or ""),
            str(node.get("platform") or ""),
            str(node.get("os") or "").partition(" (")[0],  # A code name would not fit into 80 columns.
        )
        for node in nodes
    ]
    yield from table(("NAME", "ROLE", "STATUS", "ADDRESS", "VERSION", "PLATFORM", "OS"), rows)
    yield ""


def _changes(outcome: Outcome) -> Iterator[str]:
    hosts = _in_order(outcome, outcome.result.hosts)
    changed: dict[str, list[str]] = {}
    for change in outcome.result.changes:
        changed.setdefault(change.host, []).append(change.phase)
    if not changed:
        yield f"Nothing had to be changed on {listing(hosts)}." if hosts else "Nothing had to be changed."
        yield ""
        return
    yield "Changed"
    rows = []
    for host in hosts or list(changed):
        phases = changed.get(host, [])
        names = ", ".join(f"{phase} {phases.count(phase)}" for phase in dict.fromkeys(phases))
        rows.append((host, count(len(phases), "change") if phases else "nothing", names))
    width = max(len(row[0]) for row in rows)
    for host, number, names in rows:
        yield f"{_INDENT}{host:<{width}}  {number}" + (f": {names}" if names else "")
    yield from _restarts(outcome, _INDENT + "restarted")
    yield ""


def _restarts(outcome: Outcome, words: str) -> Iterator[str]:
    for unit, hosts in outcome.result.restarts.items():
        yield f"{words} {unit.removesuffix('.service')} on {listing(_in_order(outcome, hosts))}"


def _in_order(outcome: Outcome, hosts: Collection[str]) -> list[str]:
    """The hosts in the order of the inventory, not in that in which they were ready."""
    return [name for name in outcome.session.selected if name in hosts]


def _phases(result: RunResult) -> Iterator[str]:
    if not result.phases:
        return
    # A line may end between two phases, not within "3 min 26 s".
    phases = ", ".join(f"{phase.name} {duration(phase.seconds)}".replace(" ", _NO_BREAK) for phase in result.phases)
    for line in textwrap.wrap(f"{duration(result.seconds)} in all: {phases}", 100, subsequent_indent=_INDENT):
        yield line.replace(_NO_BREAK, " ")
    yield ""


def _notes(result: RunResult) -> Iterator[str]:
    for text, hosts in result.notes.items():
        note = f"note on {listing(hosts)}: {text}"
        yield from textwrap.wrap(note, 100, subsequent_indent=_INDENT, break_on_hyphens=False, break_long_words=False)
    if result.notes:
        yield ""


def _left_out(outcome: Outcome) -> Iterator[str]:
    for host, reason in outcome.session.missing.items():
        yield f"{host} was left out: {reason}"
        yield f"{_INDENT}when it is back: {command(outcome, limit=host)}"
    if outcome.session.missing:
        yield ""


def _next_steps(outcome: Outcome) -> Iterator[str]:
    if outcome.verb == "bootstrap":
        path = shlex.quote(str(outcome.session.inventory.path))
        yield "Next"
        yield f"{_INDENT}edgectl kubectl -i {path} -- get pods -A"
        yield ""


def _canceled(outcome: Outcome) -> Iterator[str]:
    busy = outcome.result.busy
    yield "Stopped before the end."
    if busy:
        yield "These hosts may still be finishing what they were doing:"
        for host, task in busy.items():
            yield f"{_INDENT}{host}: {task}"
    yield f"Every step can be repeated. To go on: {command(outcome)}"
    yield ""


def _failed(outcome: Outcome) -> Iterator[str]:
    result = outcome.result
    if not result.failures:
        yield "The run failed before any host did anything:"
        yield from (f"{_INDENT}{line}" for text in result.output[-5:] for line in text.splitlines())
        yield ""
        return
    findings = [finding for failure in result.failures for finding in failure.findings]
    if findings:
        yield from _findings(findings)
    for failure in result.failures:
        if not failure.findings:
            yield from _failure(failure, outcome)
    yield from _left_out(outcome)
    yield from _how_to_go_on(outcome, preflight_only=all(failure.findings for failure in result.failures))


def _findings(findings: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    errors = [finding for finding in findings if finding.get("severity") != "warning"]
    yield f"{count(len(errors), 'problem')} found before anything was changed:"
    yield ""
    for finding in findings:
        mark = "warning" if finding.get("severity") == "warning" else "error"
        yield f"{_INDENT}{finding.get('host', '')}: {mark}: {finding.get('what', '')}"
        for key, label in (("evidence", "seen"), ("fix", "fix")):
            if finding.get(key):
                yield f"{_INDENT * 2}{label}: {finding[key]}"
    yield ""


def _failure(failure: Failure, outcome: Outcome) -> Iterator[str]:
    if failure.unreachable:
        yield f"{failure.host} could not be reached any more in phase {failure.phase}"
        yield from _block(failure.message)
        yield ""
        return
    place = f" (working on {failure.delegated_to})" if failure.delegated_to else ""
    yield f"{failure.host} failed in phase {failure.phase}{place}: {failure.task}"
    # The roles don't know what the inventory's directory is called here.
    yield from _block(failure.message.replace("INVENTORY", shlex.quote(str(outcome.session.inventory.path))))
    if failure.stderr and failure.stderr.splitlines()[-1].strip() not in failure.message:
        yield from _block("\n".join(failure.stderr.splitlines()[-5:]))
    host = failure.host if failure.host in outcome.journal else failure.delegated_to
    if said := outcome.journal.get(host):
        yield f"{_INDENT}what {host}'s journal says:"
        yield from (_INDENT + line for line in _block("\n".join(said)))
    yield ""


def _block(text: str) -> Iterator[str]:
    """Text of a module or a journal, cut where it would bury the rest; the log has all of it."""
    lines = text.strip().splitlines()
    for line in lines[:_MOST_LINES]:
        yield _INDENT + (line if len(line) <= _LONGEST_LINE else line[:_LONGEST_LINE] + " ...")
    if len(lines) > _MOST_LINES:
        yield f"{_INDENT}... {len(lines) - _MOST_LINES} more lines in the log"


def _how_to_go_on(outcome: Outcome, *, preflight_only: bool) -> Iterator[str]:
    failed = list(dict.fromkeys(failure.host for failure in outcome.result.failures))
    control_plane = {host.name for host in outcome.session.inventory.control_plane}
    others = [host for host in outcome.session.ready if host not in failed]
    if preflight_only or control_plane & set(failed) or not others:
        yield f"When it is mended, run again: {command(outcome)}"
    else:
        yield f"{listing(others)} went on without {listing(failed)}."
        yield f"When it is mended: {command(outcome, limit=','.join(failed))}"
    yield ""


def command(outcome: Outcome, limit: str = "") -> str:
    """The command line that repeats this verb, or makes up for it."""
    verb = shlex.split(outcome.repeat or outcome.verb)
    words: list[str] = []
    everybody = len(outcome.session.selected) == len(outcome.session.inventory.hosts)
    if verb[0] in _LIMITED and (limit or not everybody):
        words += ["--limit", limit or ",".join(outcome.session.selected)]
    for argument in outcome.arguments:
        words += ["-e", argument]
    return repeated(verb, outcome.session.inventory.path, words)


def repeated(words: Sequence[str], inventory: Path, more: Sequence[str] = ()) -> str:
    """A command line of a verb's words, the inventory and further options; what follows `--` stays the last."""
    end = list(words).index("--") if "--" in words else len(words)
    return shlex.join(["edgectl", *words[:end], str(inventory), *more, *words[end:]])
