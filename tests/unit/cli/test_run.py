"""`edgectl run`: what is refused before anything runs, what the playbook is given, and what is told afterwards."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from .conftest import Answer
from .test_deploy import PLAN, play

Edgectl = Callable[..., Answer]
Write = Callable[[str], None]
JOB = {**PLAN, "name": "debian", "title": "debian", "kind": "job", "gpu": False, "volumes": False, "parameters": {},
       "memory_mib": {"runtime": 1024, "model": 0, "cache": 0}, "request_mib": 1024}  # fmt: skip
ENDED = {"pod": "debian-1", "address": "", "port": 0, "exit_code": 0, "log": "one\ntwo\x1b[31m"}


def told(**changes: Any) -> dict[str, Any]:
    return {"workload": {"plan": JOB, "ready": ENDED, "answer": {}, **changes}}


def test_a_jobs_end_and_its_last_lines_are_told(edgectl: Edgectl, inventory: Path, playbook: Write) -> None:
    playbook(play(told()))
    answer = edgectl("run", "debian:12", "-i", inventory, "--job", "--cpu", "--plain", "--", "echo", "two")
    assert answer.code == 0, answer.err
    assert "debian ran on orin1, jetson (simulated)" in answer.out
    assert "  ended   with exit code 0" in answer.out
    assert "    one\n    two [31m\n" in answer.out
    assert f"edgectl kubectl -i {inventory} -- -n workloads logs job/debian" in answer.out
    assert f"edgectl undeploy debian {inventory}" in answer.out


def test_what_is_asked_for_reaches_the_playbook_as_a_file(
    edgectl: Edgectl, inventory: Path, playbook: Write, tmp_path: Path
) -> None:
    copy = {"src": "{{ workload_file }}", "dest": str(tmp_path / "entry.yml")}
    task = {"name": "Entry", "ansible.builtin.copy": copy, "run_once": True}
    playbook(yaml.safe_dump([{"name": "Deploy", "hosts": "cluster", "gather_facts": False, "tasks": [task]}]))
    words = ("--schedule", "0 3 * * *", "--env", "A=b", "--volume", "data:/data", "--memory", "2Gi", "--gpu", "2")
    answer = edgectl("run", "dustynv/ros:humble", "-i", inventory, *words, "--plain", "--", "ros2", "topic", "list")
    assert answer.code == 0, answer.err
    entry = yaml.safe_load((tmp_path / "entry.yml").read_text())
    assert (entry["kind"], entry["schedule"]) == ("cronjob", "0 3 * * *")
    assert entry["images"][0]["tag_prefix"] == "humble"
    assert entry["args"] == ["ros2", "topic", "list"]
    assert (entry["needs"]["gpus"], entry["needs"]["memory_mib"]) == (2, 2048)


def test_a_failure_is_told_with_the_command_that_repeats_it(edgectl: Edgectl, inventory: Path, playbook: Write) -> None:
    playbook(play({}, failing="debian ended with exit code 3"))
    answer = edgectl("run", "debian:12", "-i", inventory, "--job", "--plain", "--", "false", "-x")
    assert answer.code == 1
    assert "debian ended with exit code 3" in answer.out
    assert f"edgectl run debian:12 --job -i {inventory} -- false -x" in answer.out


@pytest.mark.parametrize(
    ("words", "what", "fix"),
    [
        (("Debian",), "Debian: that is no image's name", "dustynv/pytorch"),
        (("debian:12", "--job", "--port", "80"), "--job and --port", "leave one out"),
        (("debian:12", "--rm"), "--rm", "undeploy"),
        (("debian:12", "-it"), "-it: there is no terminal", "--job"),
        (("debian:12", "--env", "A"), "--env A", "KEY=VALUE"),
        (("debian:12", "--name", "ollama"), "the catalogue has a workload of this name", "edgectl deploy ollama"),
        (("debian:12", "--node", "orin2"), "has no such host", "did you mean orin1?"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_runs(
    edgectl: Edgectl, inventory: Path, playbook: Write, words: tuple[str, ...], what: str, fix: str
) -> None:
    playbook(play({}, failing="this must not run"))
    answer = edgectl("run", "-i", inventory, *words)
    assert answer.code == 2
    assert what in answer.err
    assert fix in answer.err


def test_what_run_made_is_undeployed_by_its_name(edgectl: Edgectl, inventory: Path, playbook: Write) -> None:
    playbook(play({"removed": ["job/debian"]}))
    assert "debian: removed job/debian" in edgectl("undeploy", "debian", inventory, "--plain").out
    playbook(play({"removed": []}))
    assert "olama was not there. Did you mean ollama?" in edgectl("undeploy", "olama", inventory, "--plain").out
    assert edgectl("undeploy", "--", "a_b", inventory).code == 2
