"""The one way the library says that something went wrong: what happened, why, and how to mend it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from edgectl.exitcodes import ExitCode


class EdgectlError(Exception):
    """An error that its reader can act on.

    what: one sentence, no full stop at the end; names the file, key or host it is about.
    why:  the evidence: what was seen, or the cause. May be empty.
    fix:  what to do, best a command that can be pasted. May be empty.
    log:  a file with more, if there is one.
    """

    code: ExitCode = ExitCode.FAILED

    def __init__(self, what: str, why: str = "", fix: str = "", log: Path | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.why = why
        self.fix = fix
        self.log = log


class UsageError(EdgectlError):
    """The command line or the inventory is wrong; nothing has been touched."""

    code = ExitCode.USAGE


class UnreachableError(EdgectlError):
    """A host does not answer, or may not be trusted yet."""

    code = ExitCode.UNREACHABLE


class Interrupted(EdgectlError):
    """The user asked to stop (Ctrl-C)."""

    code = ExitCode.INTERRUPTED


class Problems(EdgectlError):
    """Several problems found at once, each shown as a line of its own."""

    def __init__(self, problems: Sequence[EdgectlError]) -> None:
        super().__init__(f"{len(problems)} problems" if len(problems) != 1 else problems[0].what)
        self.problems = list(problems)
        # What is wrong with the inventory comes first: until it is mended, the rest may look different.
        codes = {problem.code for problem in problems}
        self.code = ExitCode.USAGE if ExitCode.USAGE in codes else min(codes, default=ExitCode.FAILED)
