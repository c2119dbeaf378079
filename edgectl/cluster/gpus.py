"""What the verification of GPUs found, and what that means for the exit code of `edgectl verify gpu`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from edgectl.cluster.verb import Outcome
from edgectl.exitcodes import ExitCode
from edgectl.run.result import RunResult, RunStatus

# Names the playbook too.
VERB = "verify_gpu"


@dataclass(frozen=True)
class Problem:
    """What is wrong with a node's GPU. `evidence` may have several lines."""

    what: str
    evidence: str = ""
    fix: str = ""


@dataclass(frozen=True)
class Gpus:
    """What module edgectl_gpu_verify answered about one node.

    expected: how many slots there should be, None where nobody can know. free: those that nobody else held.
    in_use_by: pods of others (`namespace/name`) -> slots. ran: pods whose check went well. extra_pending: whether one
    pod more had to wait, None where none was started. namespace: where what was kept as evidence is.
    """

    node: str
    platform: str
    product: str
    expected: int | None
    allocatable: int
    free: int
    ran: int
    seconds: float
    extra_pending: bool | None = None
    simulated: bool = False
    in_use_by: Mapping[str, int] = field(default_factory=dict)
    checks: Sequence[Mapping[str, Any]] = ()
    problems: tuple[Problem, ...] = ()
    namespace: str = ""

    @classmethod
    def from_module(cls, answer: Mapping[str, Any]) -> Gpus:
        """From the module's answer, whose other keys are for people without the command line."""
        known = {key: value for key, value in answer.items() if key in cls.__dataclass_fields__}
        return cls(**{**known, "problems": tuple(map(_problem, answer["problems"]))})


def _problem(said: Mapping[str, Any]) -> Problem:
    return Problem(*(str(said.get(key) or "") for key in ("what", "evidence", "fix")))


def found(result: RunResult) -> list[Gpus] | None:
    """What was found, node by node; None where the run did not get so far."""
    answers = result.summary.get("gpus")
    return None if answers is None else [Gpus.from_module(answer) for answer in answers]


def exit_code(outcome: Outcome, gpus: Sequence[Gpus] | None) -> ExitCode:
    """Unhealthy where all that failed is GPUs; any other failure keeps its own code."""
    unhealthy = {one.node for one in gpus or () if one.problems}
    failed = {failure.host for failure in outcome.result.failures}
    if unhealthy and failed <= unhealthy and outcome.result.status is RunStatus.FAILED:
        return ExitCode.UNHEALTHY
    return outcome.exit_code
