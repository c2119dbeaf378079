"""The verdict on an inventory: one line when nothing is wrong, or one JSON document."""

from __future__ import annotations

from typing import Any

from edgectl.errors import EdgectlError
from edgectl.inventory.problem import Problem
from edgectl.inventory.validation import Verdict
from edgectl.output.jsonl import SCHEMA_VERSION
from edgectl.output.words import count


def line(verdict: Verdict) -> str:
    """`inventory: 3 hosts, nothing wrong`, or how many problems follow."""
    if verdict.problems:
        return f"{verdict.inventory}: {count(len(verdict.problems), 'problem')}, and no host was touched"
    return f"{verdict.inventory}: {count(len(verdict.hosts), 'host')}, nothing wrong"


def document(verdict: Verdict) -> dict[str, Any]:
    """The same as one JSON document; null where there is nothing to say."""
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": "validation",
        "inventory": str(verdict.inventory),
        "valid": not verdict.problems,
        "hosts": list(verdict.hosts),
        "remark": verdict.remark or None,
        "problems": [_problem(problem) for problem in verdict.problems],
    }


def _problem(problem: EdgectlError) -> dict[str, Any]:
    located = problem if isinstance(problem, Problem) else None
    return {
        "file": str(located.place.file) if located else None,
        "line": located.place.line if located else None,
        "key": (located.key or None) if located else None,
        "what": located.message if located else problem.what,
        "why": problem.why,
        "fix": problem.fix,
    }
