"""Plays of a test's own, run by the real ansible-playbook with edgectl's settings in a process of its own.

A module on a "host" costs more than all the rest of a small play, as its Python is compiled anew for every host and
task. So a test has values told by `say` wherever it would be enough to know what the host's variables come to.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import yaml

from edgectl import content


def run(
    inventory: Path | str, plays: list[dict[str, Any]], *options: str, **env: str
) -> subprocess.CompletedProcess[str]:
    """Run plays; results of tasks are printed as JSON."""
    ours = {**content.ansible_environment(), "ANSIBLE_NOCOLOR": "1", "ANSIBLE_CALLBACK_RESULT_FORMAT": "json"}
    # In a directory of its own: Ansible reads roles, plugins and variables that lie beside a playbook.
    with tempfile.TemporaryDirectory() as directory:
        playbook = Path(directory) / "playbook.yml"
        playbook.write_text(yaml.safe_dump(plays, sort_keys=False))
        return subprocess.run(
            [sys.executable, "-m", "ansible", "playbook", "-i", str(inventory), *options, str(playbook)],
            env={**os.environ, **ours, **env},
            capture_output=True,
            text=True,
            check=False,
        )


def output(inventory: Path | str, plays: list[dict[str, Any]], *options: str, **env: str) -> str:
    """What plays print that must succeed."""
    done = run(inventory, plays, *options, **env)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def say(expression: str) -> dict[str, Any]:
    """A task that tells what an expression comes to on every host."""
    return {"ansible.builtin.debug": {"msg": f"{{{{ {expression} | to_json }}}}"}}


def said(inventory: Path | str, plays: list[dict[str, Any]], *options: str, **env: str) -> list[Any]:
    """What the `say` tasks of plays told, in their order."""
    lines = output(inventory, plays, *options, **env).splitlines()
    texts = [line.partition('"msg": ')[2] for line in lines if line.strip().startswith('"msg": ')]
    return [json.loads(json.loads(text)) for text in texts]
