"""Module edgectl_cdi_spec, with an nvidia-ctk that says what stands in a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.testing import patch_module_args

from tests.unit.kubeadm.conftest import plugin

MODULE = plugin("modules/edgectl_cdi_spec.py")
# The beginning of what 1.16.2 said on the lab's simulated Jetson.
SPEC = "---\ncdiVersion: 0.5.0\nkind: nvidia.com/gpu\ndevices:\n- name: all\n"


class Host:
    def __init__(self, directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.directory, self.capsys = directory, capsys
        self.path = directory / "cdi" / "nvidia.yaml"
        (directory / "bin").mkdir()

    def says(self, text: str, rc: int = 0) -> None:
        (self.directory / "spec").write_text(text)
        program = self.directory / "bin" / "nvidia-ctk"
        program.write_text(
            f'#!/bin/sh\necho "$*" >{self.directory}/asked\n[ {rc} = 0 ] && exec cat {self.directory}/spec\n'
            f"cat {self.directory}/spec >&2; exit {rc}\n"
        )
        program.chmod(0o755)

    def run(self, *, check: bool = False, **options: Any) -> dict[str, Any]:
        arguments = {"path": str(self.path), "mode": "csv", "_ansible_check_mode": check, **options}
        with patch_module_args(arguments), pytest.raises(SystemExit):
            MODULE.main()
        answer: dict[str, Any] = json.loads(self.capsys.readouterr().out)
        return answer


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Host:
    made = Host(tmp_path, capsys)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
    made.says(SPEC)
    return made


def test_the_file_says_what_nvidias_program_says_and_follows_it(host: Host) -> None:
    assert host.run()["changed"]
    assert host.path.read_text().endswith(SPEC)
    assert "--mode=csv" in (host.directory / "asked").read_text()
    assert not host.run()["changed"]
    host.says(SPEC + "- name: '0'\n")
    assert host.run()["changed"]
    assert host.path.read_text().endswith("- name: '0'\n")


def test_links_in_another_order_are_no_change(host: Host) -> None:
    links = ["      - libcuda.so.1.1::/usr/lib/libcuda.so", "      - nvidia/libcuda.so::/usr/lib/libcuda.so"]
    host.says(SPEC + "\n".join(links) + "\n")
    host.run()
    host.says(SPEC + "\n".join(reversed(links)) + "\n")
    assert not host.run()["changed"]


def test_absent_leaves_nothing_and_keeps_a_directory_that_was_there(host: Host) -> None:
    host.run()
    assert host.run(state="absent")["changed"]
    assert not host.path.parent.exists()
    assert not host.run(state="absent")["changed"]
    host.path.parent.mkdir()
    host.run()
    host.run(state="absent")
    assert list(host.path.parent.iterdir()) == []


def test_a_file_of_somebody_else_stays(host: Host) -> None:
    host.path.parent.mkdir()
    host.path.write_text(SPEC)
    for state in ("present", "absent"):
        answer = host.run(state=state)
        assert (answer["changed"], answer["ours"]) == (False, False)
    assert host.path.read_text() == SPEC


@pytest.mark.parametrize(("text", "rc"), [("level=error\nERROR_LIBRARY_NOT_FOUND\n", 1), ("", 0)])
def test_why_there_is_no_specification_is_said_and_an_old_one_stays(host: Host, text: str, rc: int) -> None:
    host.run()
    host.says(text, rc)
    message = host.run()["msg"]
    assert "nvidia_toolkit_cdi: false" in message
    assert "ERROR_LIBRARY_NOT_FOUND" in message or not text
    assert host.path.read_text().endswith(SPEC)


def test_a_dry_run_changes_nothing(host: Host) -> None:
    assert host.run(check=True)["changed"]
    assert not host.path.parent.exists()
