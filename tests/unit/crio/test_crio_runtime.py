"""Module edgectl_crio_runtime. Debian 12 has no CRI-O: its files are here as its own packages write them, and `crio` is
a program that only accepts or refuses."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.testing import patch_module_args

from tests.unit.kubeadm.conftest import plugin

MODULE = plugin("modules/edgectl_crio_runtime.py")
BINARY = "/usr/bin/nvidia-container-runtime"

# /etc/crio/crio.conf.d/10-crio.conf of the packages that cri-o.io publishes.
PACKAGED = """\
[crio.image]
signature_policy = "/etc/crio/policy.json"

[crio.runtime]
default_runtime = "crun"

[crio.runtime.runtimes.crun]
runtime_path = "/usr/libexec/crio/crun"
runtime_root = "/run/crun"
monitor_path = "/usr/libexec/crio/conmon"
allowed_annotations = [
    "io.containers.trace-syscall",
]

[crio.runtime.runtimes.runc]
runtime_path = "/usr/libexec/crio/runc"
runtime_root = "/run/runc"
monitor_path = "/usr/libexec/crio/conmon"
"""


class Crio:
    """A host with CRI-O's files."""

    def __init__(self, directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys, self.programs = capsys, directory / "bin"
        self.main = directory / "crio.conf"
        self.directory = directory / "crio.conf.d"
        self.drop_in = self.directory / "99-edgectl-nvidia.conf"
        self.programs.mkdir()

    def has(self, name: str, text: str) -> None:
        self.directory.mkdir(exist_ok=True)
        (self.directory / name).write_text(text)

    def judges(self, script: str) -> None:
        program = self.programs / "crio"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)

    def run(self, *, check: bool = False, **options: Any) -> dict[str, Any]:
        arguments = {
            "binary": BINARY,
            "path": str(self.main),
            "drop_in": str(self.drop_in),
            "_ansible_check_mode": check,
            **options,
        }
        with patch_module_args(arguments), pytest.raises(SystemExit):
            MODULE.main()
        answer: dict[str, Any] = json.loads(self.capsys.readouterr().out)
        return answer

    @property
    def written(self) -> Any:
        return tomllib.loads(self.drop_in.read_text())["crio"]["runtime"]


@pytest.fixture
def crio(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Crio:
    host = Crio(tmp_path, capsys)
    monkeypatch.setenv("PATH", str(host.programs), prepend=":")
    return host


def test_the_runtime_has_the_options_of_the_default_one_and_another_program(crio: Crio) -> None:
    crio.has("10-crio.conf", PACKAGED)
    answer = crio.run()
    assert (answer["changed"], answer["files"]) == (True, [str(crio.drop_in)])
    assert crio.written == {
        "runtimes": {
            "nvidia": {
                "runtime_path": BINARY,
                "runtime_type": "oci",
                "runtime_root": "/run/crun",
                "monitor_path": "/usr/libexec/crio/conmon",
                "allowed_annotations": ["io.containers.trace-syscall"],
            }
        }
    }
    assert not crio.run()["changed"]


def test_without_a_default_in_any_file_it_is_made_after_runc(crio: Crio) -> None:
    crio.main.write_text(PACKAGED.replace('default_runtime = "crun"', ""))
    crio.run()
    assert crio.written["runtimes"]["nvidia"]["runtime_root"] == "/run/runc"


def test_without_any_file_crios_own_defaults_hold(crio: Crio) -> None:
    crio.run()
    assert crio.written == {"runtimes": {"nvidia": {"runtime_path": BINARY, "runtime_type": "oci"}}}


def test_a_later_file_replaces_a_runtime_whole(crio: Crio) -> None:
    crio.has("10-crio.conf", PACKAGED)
    crio.has("20-mine.conf", '[crio.runtime.runtimes.crun]\nruntime_path = "/usr/bin/crun"\n')
    crio.run()
    assert crio.written["runtimes"]["nvidia"] == {"runtime_path": BINARY, "runtime_type": "oci"}


def test_it_is_the_default_only_where_that_is_asked_for(crio: Crio) -> None:
    crio.has("10-crio.conf", PACKAGED)
    crio.run(default=True)
    assert crio.written["default_runtime"] == "nvidia"
    crio.run()
    assert "default_runtime" not in crio.written


def test_a_default_that_a_later_file_sets_back_is_told(crio: Crio) -> None:
    crio.has("99-zzz.conf", '[crio.runtime]\ndefault_runtime = "crun"\n')
    assert "another default_runtime" in crio.run(default=True)["msg"]
    assert not crio.drop_in.exists()


def test_a_runtime_of_somebody_else_is_kept_where_it_is_the_same_program(crio: Crio) -> None:
    crio.has("99-nvidia.conf", f'[crio.runtime.runtimes.nvidia]\nruntime_path = "{BINARY}"\n')
    answer = crio.run()
    assert (answer["changed"], answer["adopted"], answer["files"]) == (False, True, [])
    crio.has("99-nvidia.conf", '[crio.runtime.runtimes.nvidia]\nruntime_path = "/opt/other"\n')
    assert "/opt/other" in crio.run()["msg"]
    assert not crio.drop_in.exists()


def test_crio_judges_all_of_its_files_before_one_is_written(crio: Crio) -> None:
    crio.main.write_text("")
    crio.has("10-crio.conf", PACKAGED)
    crio.judges(
        f'[ "$1 $2 $3 $5" = "--config {crio.main} --config-dir config" ] && [ -e "$4/10-crio.conf" ] || exit 3\n'
        'grep -q nvidia "$4/99-edgectl-nvidia.conf" && { echo "level=fatal msg=bad" >&2; exit 1; }'
    )
    assert "level=fatal msg=bad" in crio.run()["msg"]
    assert not crio.drop_in.exists()
    crio.judges("exit 0")
    assert crio.run()["changed"]


def test_absent_leaves_nothing(crio: Crio) -> None:
    crio.run()
    assert crio.run(state="absent", check=True)["changed"]
    assert crio.drop_in.exists()
    assert crio.run(state="absent")["changed"]
    assert not crio.directory.exists(), "made for it"
    assert not crio.run(state="absent")["changed"]
    crio.directory.mkdir()
    crio.run()
    crio.run(state="absent")
    assert crio.directory.exists(), "was there before"


def test_a_dry_run_changes_nothing(crio: Crio) -> None:
    assert crio.run(check=True)["changed"]
    assert not crio.directory.exists()
