"""`edgectl validate` from the command line to the exit code, on every broken inventory there is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from edgectl import content
from edgectl.errors import Problems
from edgectl.inventory import load
from edgectl.inventory.validation import validate

from .conftest import Answer

Edgectl = Callable[..., Answer]
CASES = Path(__file__).parents[1] / "data" / "broken-inventories"


@pytest.fixture(autouse=True)
def _nothing_of_the_developers(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANSIBLE_VAULT_PASSWORD_FILE", "EDGECTL_INVENTORY"):
        monkeypatch.delenv(name, raising=False)


def test_a_sound_inventory_is_one_line_and_exit_code_0(edgectl: Edgectl) -> None:
    answer = edgectl("validate", content.root() / "inventory")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.endswith("inventory: 3 hosts, nothing wrong\n")


@pytest.mark.parametrize("case", sorted(path.name for path in CASES.iterdir()))
def test_a_broken_inventory_is_exit_code_2_with_every_problem_and_no_traceback(
    case: str, edgectl: Edgectl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(CASES / case)
    password = ["--vault-password-file", "vault-password"] if Path("vault-password").exists() else []
    answer = edgectl("validate", "inventory", *password)
    expected = [line for line in Path("expected.txt").read_text().splitlines() if not line.startswith("  ")]
    assert answer.code == 2
    assert answer.out == ""
    assert "Traceback" not in answer.err
    told = [line.removeprefix("error: ") for line in answer.err.splitlines() if line.startswith("error: ")]
    assert told == expected
    assert answer.err.splitlines()[0].startswith(f"inventory: {len(expected)} problem")


def test_json_names_file_line_and_option_of_each_problem(edgectl: Edgectl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(CASES / "unknown-options")
    answer = edgectl("validate", "--json")
    document = json.loads(answer.out)
    assert (answer.code, answer.err) == (2, "")
    assert (document["schema_version"], document["kind"], document["valid"]) == (1, "validation", False)
    assert document["problems"][0] == {
        "file": "inventory/group_vars/all.yml",
        "line": 1,
        "key": "cluster_pod_cird",
        "what": "there is no option cluster_pod_cird",
        "why": "variables that start with cluster_ belong to edgectl",
        "fix": "did you mean cluster_pod_cidr?",
    }


@pytest.mark.parametrize("case", ["missing-path", "vaulted-without-password", "not-an-inventory", "state-damaged"])
def test_json_is_a_document_even_when_the_inventory_cannot_be_read(
    case: str, edgectl: Edgectl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(CASES / case)
    answer = edgectl("validate", "--json", "inventory")
    assert (answer.code, answer.err) == (2, "")
    assert len(json.loads(answer.out)["problems"]) == 1


def test_json_of_a_sound_inventory_lists_its_hosts(edgectl: Edgectl) -> None:
    document = json.loads(edgectl("validate", "--json", content.root() / "inventory").out)
    assert (document["valid"], document["hosts"], document["problems"]) == (True, ["nuc1", "nuc2", "orin1"], [])


def test_schemas_of_another_edgectl_are_a_note_and_can_be_renewed(edgectl: Edgectl, inventory: Path) -> None:
    assert edgectl("schema", "--write", inventory).code == 0
    file = inventory / ".edgectl" / "vars.schema.json"
    current = file.read_text()
    file.write_text("{}\n")
    answer = edgectl("validate", inventory)
    assert (answer.code, answer.err.count("\n")) == (0, 1)
    assert answer.err.startswith("note: ")
    assert json.loads(edgectl("validate", "--json", inventory).out)["remark"] in answer.err
    assert edgectl("schema", "--write", inventory).out.endswith(f"wrote  {file}\n")
    assert file.read_text() == current
    assert edgectl("validate", inventory).err == ""


def test_schemas_are_not_written_where_no_inventory_is(edgectl: Edgectl, tmp_path: Path) -> None:
    answer = edgectl("schema", "--write", tmp_path / "typo")
    assert answer.code == 2
    assert not (tmp_path / "typo").exists()


def test_at_a_terminal_lines_break_between_words_and_a_fix_stays_whole_to_be_copied() -> None:
    terminal, of_command = os.openpty()
    command = [sys.executable, "-c", "from edgectl.cli import main; main()", "validate", "inventory"]
    environment = {**os.environ, "COLUMNS": "60", "NO_COLOR": "1"}
    subprocess.run(command, cwd=CASES / "cidr-holds-lan", stderr=of_command, env=environment, check=False)
    os.close(of_command)
    lines = os.read(terminal, 100_000).decode().splitlines()
    os.close(terminal)
    assert lines[1:4] == [
        "error: inventory/hosts.yml:6: cluster_pod_cidr 10.244.0.0/16",
        "       (the default) holds addresses of the LAN",
        "  why: nuc1 has 10.244.3.11, nuc2 has 10.244.3.12, orin1 has",
    ]
    assert lines[-1] == "  fix: move it, for example cluster_pod_cidr: 10.42.0.0/16"


def test_the_rules_are_those_that_bootstrap_applies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(CASES / "many-problems")
    with pytest.raises(Problems) as refused:
        load(Path("inventory"))
    verdict = validate(Path("inventory"))
    assert [problem.what for problem in verdict.problems] == [problem.what for problem in refused.value.problems]
