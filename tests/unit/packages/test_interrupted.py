"""An installation of edgectl's that was interrupted is finished first, and belongs to edgectl in any case."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.unit.kubeadm.conftest import plugin

packages = plugin("modules/edgectl_packages.py")
HERE_BEFORE = ["libc6"]
CONFIGURE = ["dpkg", "--force-confdef", "--force-confold", "--configure", "-a"]


class Host:
    """A module on a host whose dpkg lost its power: apt refuses until dpkg has finished."""

    check_mode = False

    def __init__(self, state: str) -> None:
        self.params: dict[str, Any] = {
            "name": ["wireguard-tools"], "record": "wireguard", "state": state, "hold": False, "lock_timeout": 0,
            "cache_max_age": 10**9,
        }  # fmt: skip
        self.broken = True
        self.installed = {"libc6", "libmnl0"}
        self.commands: list[list[str]] = []

    def run_command(self, command: list[str], **_: Any) -> tuple[int, str, str]:
        self.commands.append(command)
        if command == CONFIGURE:
            self.broken = False
        elif command[0] == "apt-get":
            if self.broken:
                return 100, "", "E: dpkg was interrupted, you must manually run 'sudo dpkg --configure -a'"
            self.installed.add("wireguard-tools")
        elif command[0] == "dpkg":
            self.installed -= set(command[2:])
        elif command[0] == "dpkg-query":
            needs = {"wireguard-tools": "libmnl0"}
            return 0, "".join(f"{n}\tinstall ok installed\t1\t{needs.get(n, '')}, \t\n" for n in self.installed), ""
        return 0, "", ""

    def fail_json(self, **said: Any) -> None:
        raise AssertionError(said["msg"])


@pytest.fixture(autouse=True)
def _record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "RECORDS", str(tmp_path))
    monkeypatch.setattr(packages, "LOCKS", ())
    monkeypatch.setattr(packages.Apt, "update_if_stale", lambda _: None)
    record = packages.read_records(str(tmp_path))["wireguard"]
    record.requested, record.begun = ["wireguard-tools"], HERE_BEFORE
    packages.write_record(str(tmp_path), record)


def test_it_is_finished_before_apt_is_asked_for_more() -> None:
    host = Host("present")
    done = packages.present(host, packages.Apt(host))
    assert host.commands[0] == CONFIGURE
    assert set(done["recorded"]) == {"wireguard-tools", "libmnl0"}


def test_what_it_brought_goes_though_no_record_names_it() -> None:
    host = Host("absent")
    host.installed.add("wireguard-tools")
    packages.absent(host, packages.Apt(host))
    assert host.commands[0] == CONFIGURE
    assert host.installed == set(HERE_BEFORE)


def test_somebody_elses_broken_installation_is_left_to_them(tmp_path: Path) -> None:
    (tmp_path / "wireguard.json").unlink()
    host = Host("present")
    with pytest.raises(AssertionError, match="an earlier installation was interrupted"):
        packages.present(host, packages.Apt(host))
    assert CONFIGURE not in host.commands
