"""The log of a run."""

from __future__ import annotations

import json
from pathlib import Path

from edgectl.run.log import KEPT, RunLog, new_run_directory, runs_directory
from edgectl.run.redact import Redactor

from .recorded import events


def test_the_last_runs_are_kept_and_latest_points_at_the_newest(tmp_path: Path) -> None:
    made = [new_run_directory("bootstrap", tmp_path) for _ in range(KEPT + 3)]
    left = [path for path in tmp_path.iterdir() if path.is_dir() and not path.is_symlink()]
    assert len(left) == KEPT
    assert (tmp_path / "latest").resolve() == made[-1]
    assert made[-1].stat().st_mode & 0o777 == 0o700


def test_what_others_put_there_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    for _ in range(KEPT + 1):
        new_run_directory("reset", tmp_path)
    assert (tmp_path / "notes").is_dir()


def test_the_directory_follows_xdg(tmp_path: Path) -> None:
    assert runs_directory({"XDG_STATE_HOME": str(tmp_path)}) == tmp_path / "edgectl" / "runs"


def test_both_files_are_private_and_hold_no_secret(tmp_path: Path) -> None:
    with RunLog(tmp_path, Redactor(["masked"])) as log:
        log.write("-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg\n-----END PRIVATE KEY-----\nunit is masked")
        for event in events():
            log.take(event)
    text = (tmp_path / "run.log").read_text()
    documents = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    assert "MIIEvQIBADANBg" not in text
    assert "is masked" not in text + json.dumps(documents)
    assert "nuc2: FAILED: Start containerd: exit code 5" in text
    assert {document["schema_version"] for document in documents} == {1}
    for name in ("run.log", "events.jsonl"):
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o600
