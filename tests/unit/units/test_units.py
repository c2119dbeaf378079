"""Module edgectl_units: several systemd units in one task, with a systemctl that only remembers what it was told."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.testing import patch_module_args

from tests.unit.kubeadm.conftest import plugin

SYSTEMCTL = """#!/bin/sh
# The properties of unit NAME stand in the file NAME.
cd "$(dirname "$0")" || exit
if [ "$1" != show ]; then
  echo "$*" >> said
  [ ! -e "fails-$1" ] || { echo "Job for $2 failed." >&2; exit 1; }
  [ "$1" != daemon-reload ] || sed -i s/NeedDaemonReload=yes/NeedDaemonReload=no/ *.service
  exit 0
fi
shift 4
for unit; do
  if [ -e "$unit" ]; then cat "$unit"; else
    printf '%s\\n' LoadState=not-found ActiveState=inactive UnitFileState= NeedDaemonReload=no
  fi
  echo
done
"""


class Host:
    """Units by their files, and what systemctl was told."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        program = directory / "systemctl"
        program.write_text(SYSTEMCTL)
        program.chmod(0o755)

    def unit(self, name: str, active: str, *, enabled: bool = True, started: float = 0.0, stale: bool = False) -> None:
        """started: seconds from now."""
        microseconds = int((time.monotonic() + started) * 1e6)
        properties = {
            "LoadState": "loaded",
            "ActiveState": active,
            "UnitFileState": "enabled" if enabled else "disabled",
            "NeedDaemonReload": "yes" if stale else "no",
            "ExecMainStartTimestampMonotonic": microseconds,
            "ActiveEnterTimestampMonotonic": microseconds,
        }
        (self.directory / name).write_text("".join(f"{key}={value}\n" for key, value in properties.items()))

    @property
    def said(self) -> list[str]:
        said = self.directory / "said"
        return said.read_text().splitlines() if said.exists() else []


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return Host(tmp_path)


@pytest.fixture
def settle(capsys: pytest.CaptureFixture[str]) -> Callable[..., dict[str, Any]]:
    """Runs the module over some units; gives what it answered."""
    module = plugin("modules/edgectl_units.py")

    def run(*units: dict[str, object], check: bool = False, **options: object) -> dict[str, Any]:
        arguments = {"units": list(units), "_ansible_check_mode": check, **options}
        with patch_module_args(arguments), pytest.raises(SystemExit):
            module.main()
        answer: dict[str, Any] = json.loads(capsys.readouterr().out)
        return answer

    return run


Settle = Callable[..., dict[str, Any]]
RUNNING = {"name": "a.service", "state": "started", "enabled": True}


def test_units_are_enabled_and_started_in_their_order(host: Host, settle: Settle) -> None:
    host.unit("a.service", "inactive", enabled=False)
    host.unit("b.service", "failed")
    answer = settle(RUNNING, {**RUNNING, "name": "b.service"})
    assert host.said == ["enable a.service", "start a.service", "start b.service"]
    assert answer["changed"]
    assert answer["done"] == {"enabled": ["a.service"], "started": ["a.service", "b.service"]}


def test_what_is_as_it_should_be_is_left_alone(host: Host, settle: Settle) -> None:
    host.unit("a.service", "active")
    host.unit("b.service", "inactive", enabled=False)
    assert not settle(RUNNING, {"name": "b.service", "state": "stopped", "enabled": False})["changed"]
    assert host.said == []


def test_a_unit_older_than_what_it_reads_is_restarted_and_a_younger_one_is_not(host: Host, settle: Settle) -> None:
    configuration = host.directory / "config.toml"
    configuration.touch()
    host.unit("a.service", "active", started=-60)
    host.unit("b.service", "active", started=60)
    after = {"after": [str(configuration)]}
    answer = settle({**RUNNING, **after}, {**RUNNING, "name": "b.service", **after})
    assert host.said == ["restart a.service"]
    assert answer["done"] == {"restarted": ["a.service"]}


def test_a_unit_without_what_it_makes_is_restarted(host: Host, settle: Settle) -> None:
    host.unit("a.service", "active")
    settle({**RUNNING, "makes": str(host.directory / "wg0")})
    assert host.said == ["restart a.service"]


def test_a_reload_is_for_a_unit_that_ran_before(host: Host, settle: Settle) -> None:
    host.unit("a.service", "active")
    host.unit("b.service", "inactive")
    settle({**RUNNING, "reload": True}, {**RUNNING, "name": "b.service", "reload": True})
    assert host.said == ["reload a.service", "start b.service"]


def test_systemd_reads_changed_unit_files_again_before_anything_is_started(host: Host, settle: Settle) -> None:
    host.unit("a.service", "inactive", stale=True)
    settle(RUNNING)
    assert host.said == ["daemon-reload", "start a.service"]


def test_a_dry_run_tells_and_does_nothing(host: Host, settle: Settle) -> None:
    host.unit("a.service", "active")
    host.unit("b.service", "active")
    answer = settle(
        {**RUNNING, "changed": True},
        {"name": "b.service", "state": "stopped", "enabled": False},
        {**RUNNING, "name": "not-installed-yet.service"},
        check=True,
    )
    assert answer["done"] == {
        "restarted": ["a.service"],
        "stopped": ["b.service"],
        "disabled": ["b.service"],
        "enabled": ["not-installed-yet.service"],
        "started": ["not-installed-yet.service"],
    }
    assert host.said == []


def test_a_unit_that_is_not_there_is_an_error_unless_it_may_be_missing(host: Host, settle: Settle) -> None:
    gone = {"name": "gone.service", "state": "stopped", "enabled": False}
    assert not settle({**gone, "optional": True})["changed"]
    assert host.said == []
    answer = settle(gone)
    assert answer["failed"]
    assert answer["msg"] == "there is no unit gone.service"


def test_a_dry_run_has_not_made_the_unit_that_it_would_enable(host: Host, settle: Settle) -> None:
    answer = settle({"name": "not-made-yet.service", "enabled": True}, check=True)
    assert answer["done"] == {"enabled": ["not-made-yet.service"]}
    assert host.said == []


def test_a_unit_that_does_not_start_ends_the_task_with_systemds_words(host: Host, settle: Settle) -> None:
    host.unit("a.service", "inactive", enabled=False)
    (host.directory / "fails-start").touch()
    answer = settle(RUNNING)
    assert answer["failed"]
    assert answer["msg"] == "cannot start a.service: Job for a.service failed."
    assert answer["changed"]
