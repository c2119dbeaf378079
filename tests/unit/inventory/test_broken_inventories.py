"""Each broken inventory in the test data is refused with exactly the words of its expected.txt.

A new case is a new directory: `inventory` (a directory, a file, or missing, as a user would give it), `expected.txt`,
and `vault-password` where the user gives one. After a change of words: EDGECTL_WRITE_EXPECTED=1 pytest
tests/unit/inventory, then read the diff.
"""

import os
from pathlib import Path

import pytest

from edgectl import content
from edgectl.errors import EdgectlError, Problems
from edgectl.exitcodes import ExitCode
from edgectl.inventory import Vault, load

CASES = Path(__file__).parents[1] / "data" / "broken-inventories"


def as_text(error: EdgectlError) -> str:
    lines = []
    for problem in error.problems if isinstance(error, Problems) else [error]:
        lines.append(problem.what)
        lines += [f"  {label}: {text}" for label, text in (("why", problem.why), ("fix", problem.fix)) if text]
    return "\n".join(lines).replace(str(content.root()), "<edgectl>") + "\n"


@pytest.mark.parametrize("case", sorted(path.name for path in CASES.iterdir()))
def test_a_broken_inventory_is_refused_with_every_problem_its_place_and_its_fix(case, monkeypatch):
    monkeypatch.delenv("ANSIBLE_VAULT_PASSWORD_FILE", raising=False)
    monkeypatch.chdir(CASES / case)
    password = Path("vault-password")
    with pytest.raises(EdgectlError) as refused:
        load(Path("inventory"), vault=Vault(password_file=password) if password.exists() else None)
    assert refused.value.code == ExitCode.USAGE
    expected = CASES / case / "expected.txt"
    if os.environ.get("EDGECTL_WRITE_EXPECTED"):
        expected.write_text(as_text(refused.value))
    assert as_text(refused.value) == expected.read_text()


def test_there_is_an_example_of_every_kind_of_mistake():
    assert len(list(CASES.iterdir())) >= 65


def test_every_message_is_one_line_and_free_of_tracebacks():
    for case in CASES.iterdir():
        text = (case / "expected.txt").read_text()
        assert text.strip()
        assert "Traceback" not in text
        assert all(len(line) < 260 for line in text.splitlines())
