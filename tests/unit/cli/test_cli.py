"""The command line as a whole."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from edgectl import cli
from edgectl.errors import EdgectlError, Interrupted, Problems, UnreachableError, UsageError
from edgectl.exitcodes import ExitCode

from .conftest import Answer

# Each costs from 30 ms to half a second, which `edgectl --help` must not.
HEAVY = ("ansible", "ansible_runner", "paramiko", "pydantic", "rich", "jinja2", "yaml")


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from edgectl.cli import app; app(['--help'], standalone_mode=False);"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    written = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert written.startswith("Usage:")
    assert written.splitlines()[-1] == "[]"


def test_a_bootstrap_that_finds_nothing_to_do_imports_no_more_than_it_needs() -> None:
    code = (
        "import sys, edgectl.commands.bootstrap, edgectl.cluster.verified, edgectl.commands.proof, edgectl.ssh.probe;"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    written = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert written == "[]\n"


def test_help_says_of_each_command_in_a_whole_sentence_what_it_does(edgectl: Callable[..., Answer]) -> None:
    for words in ((), ("lab",)):
        _, commands = edgectl(*words, "--help").out.split("Commands:\n")
        assert commands
        assert "..." not in commands


def test_every_error_leaves_with_its_code_and_without_a_traceback(
    edgectl: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch, inventory: Path
) -> None:
    problems = Problems([UsageError("first", "because", "do this"), UsageError("second")])
    monkeypatch.setattr(cli, "app", lambda: (_ for _ in ()).throw(problems))
    answer = edgectl("anything")
    assert answer.code == 2
    assert answer.err == "error: first\n  why: because\n  fix: do this\nerror: second\n"


@pytest.mark.parametrize(
    ("problems", "code"),
    [
        ([UnreachableError("a"), UnreachableError("b")], ExitCode.UNREACHABLE),
        ([UnreachableError("a"), UsageError("b")], ExitCode.USAGE),
        ([EdgectlError("a")], ExitCode.FAILED),
    ],
)
def test_several_problems_have_the_code_of_the_one_to_mend_first(problems: list[EdgectlError], code: ExitCode) -> None:
    assert Problems(problems).code is code


def test_giving_up_at_a_question_is_an_interrupt(
    edgectl: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli, "app", lambda: (_ for _ in ()).throw(Interrupted("no password given")))
    assert edgectl("bootstrap").code == 130


def test_what_the_locale_cannot_write_is_no_reason_to_fail() -> None:
    code = "from edgectl import cli; cli.app = lambda: print('läuft …'); cli.main()"
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    answer = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert (answer.stdout, answer.stderr) == ("l?uft ?\n", "")


def test_an_unknown_command_is_a_usage_error(edgectl: Callable[..., Answer]) -> None:
    assert edgectl("bootstrapp").code == 2
