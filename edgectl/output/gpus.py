"""The GPUs of `edgectl verify gpu`, for people and as a document."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from edgectl.cluster.gpus import Gpus, exit_code
from edgectl.cluster.verb import Outcome
from edgectl.exitcodes import ExitCode
from edgectl.output import summary
from edgectl.output.words import count, listing

_INDENT = "  "
_WIDTH = 100
_HEADER = ("NODE", "PLATFORM", "GPU", "SLOTS", "FREE", "RAN", "ONE MORE", "CHECK", "SECONDS")


def lines(outcome: Outcome, gpus: Sequence[Gpus] | None) -> Iterator[str]:
    """A table with a line a node, and below it what is wrong and what to do."""
    if gpus is None or not (gpus or outcome.result.ok):
        yield from summary.lines(outcome)
        return
    path = shlex.quote(str(outcome.session.inventory.path))
    if gpus:
        yield from summary.table(_HEADER, [_row(one) for one in gpus])
    else:
        yield f"No GPU hosts: none of {listing(outcome.session.ready)} has a GPU that is to be used."
    yield ""
    for one in gpus:
        yield from _problems(one, path)
    for host, reason in outcome.session.missing.items():
        yield f"{host} was left out: {reason}"
    if exit_code(outcome, gpus) not in (ExitCode.OK, ExitCode.UNHEALTHY) and outcome.result.failures:
        yield from summary.lines(outcome)
    else:
        yield f"Log: {outcome.result.log_path}"


def document(outcome: Outcome, gpus: Sequence[Gpus] | None) -> dict[str, Any]:
    """The same as one JSON document; what was found is in `summary`, under `gpus`."""
    return {**summary.document(outcome), "verb": "verify gpu", "exit_code": int(exit_code(outcome, gpus))}


def _row(gpu: Gpus) -> tuple[str, ...]:
    started = gpu.extra_pending is not None
    return (
        gpu.node,
        gpu.platform,
        gpu.product or "-",
        str(gpu.allocatable) if gpu.expected is None else f"{gpu.allocatable}/{gpu.expected}",
        str(gpu.free),
        str(gpu.ran) if started else "-",
        ("Pending" if gpu.extra_pending else "not seen") if started else "-",
        _check(gpu),
        f"{gpu.seconds:.0f}",
    )


def _check(gpu: Gpus) -> str:
    if gpu.problems:
        return f"FAILED: {count(len(gpu.problems), 'problem')}, below"
    if gpu.extra_pending is None:
        return f"not run: all {gpu.allocatable} in use by {listing(list(gpu.in_use_by))}"
    if gpu.simulated:
        return "devices and library (simulated GPU)"
    return listing(list(dict.fromkeys(_computed(check) for check in gpu.checks if check.get("computed"))))


def _computed(check: Any) -> str:  # noqa: ANN401 - JSON
    what = (check.get("computation") or {}).get("what", "computed")
    return f"{what} on {check.get('name')}, {check.get('compute_capability')}, CUDA {check.get('cuda')}"


def _problems(gpu: Gpus, path: str) -> Iterator[str]:
    for problem in gpu.problems:
        yield f"{gpu.node}: {problem.what}"
        for label, text in (("seen", problem.evidence), ("fix", problem.fix.replace("INVENTORY", path))):
            for number, line in enumerate(text.splitlines()):
                first = f"{label}: " if number == 0 else " " * (len(label) + 2)
                yield from textwrap.wrap(
                    line, _WIDTH, initial_indent=_INDENT + first, subsequent_indent=_INDENT + " " * (len(label) + 2),
                    break_long_words=False, break_on_hyphens=False,
                )  # fmt: skip
    if gpu.namespace:
        kubectl = f"edgectl kubectl -i {path} --"
        yield f"{_INDENT}look: {kubectl} --namespace {gpu.namespace} describe pods"
        yield f"{_INDENT}gone with the next verification of {gpu.node}, or at once:"
        yield f"{_INDENT}  {kubectl} delete namespace/{gpu.namespace} priorityclass/{gpu.namespace}"
    if gpu.problems or gpu.namespace:
        yield ""
