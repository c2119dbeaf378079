"""What molecule's comparison of the file system accepts, and what it refuses."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from types import ModuleType
from typing import Any

import ansible.module_utils
import pytest
import yaml

from edgectl import content

MOLECULE = Path(__file__).parents[2] / "molecule"
SCENARIOS = sorted(path.parent for path in MOLECULE.glob("*/molecule.yml"))
FILE, OTHER_FILE = ["file", "0644", "0:0", "one"], ["file", "0644", "0:0", "two"]
DIRECTORY = ["directory", "0755", "0:0", ""]


def link(target: str) -> list[str]:
    return ["link", "0777", "0:0", target]


@pytest.fixture(scope="module")
def stock() -> ModuleType:
    ansible.module_utils.__path__.append(str(content.root() / "plugins" / "module_utils"))
    spec = importlib.util.spec_from_file_location("edgectl_stock", MOLECULE / "library" / "edgectl_stock.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def packages(stock: ModuleType, *lines: str) -> Any:
    """`name version depends provides`, a blank for nothing."""
    return stock.parse_status(
        "\n".join("{}\tinstall ok installed\t{}\t{}\t{}".format(*line.split(" ")) for line in lines)
    )


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        (None, FILE, "/etc/x: added"),
        (FILE, None, "/etc/x: removed"),
        (FILE, OTHER_FILE, "/etc/x: changed: content"),
        (FILE, ["file", "0600", "1000:0", "one"], "/etc/x: changed: mode, owner"),
        (FILE, link("/etc/y"), "/etc/x: changed: type, mode, content"),
        (None, DIRECTORY, "/etc/x: added"),
        (DIRECTORY, ["directory", "0777", "0:0", ""], "/etc/x: changed: mode"),
    ],
)
def test_whatever_differs_is_named(stock: ModuleType, before: Any, after: Any, line: str) -> None:
    was, is_now = ({} if look is None else {"/etc/x": look} for look in (before, after))
    assert stock.unaccounted(was, is_now, [], set(), {}) == [line]
    assert stock.unaccounted(was, was, [], set(), {}) == []


@pytest.mark.parametrize(
    ("path", "after", "item", "of_something_else"),
    [
        ("/etc/x", FILE, {"file": "/etc/x"}, {"file": "/etc/xy"}),
        ("/opt/cni/bin/x", link("/usr/lib/cni/x"), {"file": "/opt/cni/bin/x"}, {"file": "/usr/lib/cni/x"}),
        ("/etc/hosts", FILE, {"line": "a", "in": "/etc/hosts"}, {"line": "/etc/hosts", "in": "/etc/x"}),
        ("/etc/d/below/x", FILE, {"directory": "/etc/d"}, {"file": "/etc/d"}),
        ("/etc/d/x", None, {"directory": "/etc/d"}, {"directory": "/etc/dd"}),
        (
            "/etc/systemd/system/multi-user.target.wants/wg-quick@wg0.service",
            link("/lib/systemd/system/wg-quick@.service"),
            {"unit": "wg-quick@wg0.service"},
            {"unit": "wg-quick@wg1.service"},
        ),
        (
            "/etc/systemd/system/multi-user.target.wants/zramswap.service",
            None,
            {"disabled": "zramswap.service"},
            {"disabled": "zram.service"},
        ),
        ("/etc/systemd/system/x.service", FILE, {"file": "/etc/systemd/system/x.service"}, {"unit": "x.service"}),
        ("/etc/ufw/user6.rules", FILE, {"ufw": "allow 22/tcp"}, {"rules": "ufw"}),
    ],
)
def test_evidence_accounts_for_what_it_measures(
    stock: ModuleType, path: str, after: Any, item: dict[str, str], of_something_else: dict[str, str]
) -> None:
    """And for nothing else: the same change is refused when the evidence is of something else."""
    was = {path: OTHER_FILE}
    is_now = {} if after is None else {path: after}
    assert stock.unaccounted(was, is_now, [of_something_else, item], set(), {}) == []
    (line,) = stock.unaccounted(was, is_now, [of_something_else], set(), {})
    assert line.startswith(f"{path}: ")


def test_evidence_of_a_file_does_not_account_for_its_removal(stock: ModuleType) -> None:
    assert stock.unaccounted({"/etc/x": FILE}, {}, [{"file": "/etc/x"}], set(), {}) == ["/etc/x: removed"]


def test_a_configuration_that_a_unit_only_has_to_follow_is_not_accounted_for(stock: ModuleType) -> None:
    evidence = [{"unit": "x.service", "after": ["/etc/x"]}]
    assert stock.unaccounted({}, {"/etc/x": FILE}, evidence, set(), {}) == ["/etc/x: added"]


def test_a_new_directory_is_accounted_for_by_what_needs_it(stock: ModuleType) -> None:
    now = {
        "/opt/a": DIRECTORY,
        "/opt/a/b": DIRECTORY,
        "/opt/a/b/x": FILE,
        "/opt/a/cache": FILE,
        "/opt/empty": DIRECTORY,
    }
    exempt = {"/opt/a/cache": "a cache"}
    assert stock.unaccounted({}, now, [{"file": "/opt/a/b/x"}], set(), exempt) == ["/opt/empty: added"]
    assert stock.unaccounted({}, now, [], {"/opt/a/b/x"}, exempt) == ["/opt/empty: added"]
    # An exemption is no reason to make a directory, and a directory that was there has no reason to change.
    del now["/opt/a/b"], now["/opt/a/b/x"], now["/opt/empty"]
    assert stock.unaccounted({}, now, [], set(), exempt) == ["/opt/a: added"]
    before = {"/opt/a": ["directory", "0700", "0:0", ""]}
    assert stock.unaccounted(before, now, [{"file": "/opt/a/cache"}], set(), {}) == ["/opt/a: changed: mode"]


def test_a_package_accounts_for_its_files_and_the_alternatives_it_offers(stock: ModuleType) -> None:
    shipped = {"/usr/sbin/iptables-nft"}
    now = {
        "/usr/sbin/iptables-nft": FILE,
        "/etc/alternatives/iptables": link("/usr/sbin/iptables-nft"),
        "/usr/sbin/iptables": link("/etc/alternatives/iptables"),
    }
    assert stock.unaccounted({}, now, [], shipped, {}) == []
    assert stock.unaccounted({}, now, [], set(), {}) == [f"{path}: added" for path in sorted(now)]
    mine = {"/usr/local/bin/iptables": link("/usr/sbin/iptables-nft")}
    assert stock.unaccounted({}, mine, [], shipped, {}) == ["/usr/local/bin/iptables: added"]


def test_a_package_accounts_for_its_unit_where_its_own_installation_enabled_it(stock: ModuleType) -> None:
    enabled = "/etc/systemd/system/sysinit.target.wants/x.service"
    note = "/var/lib/systemd/deb-systemd-helper-enabled/sysinit.target.wants/x.service"
    shipped = {"/lib/systemd/system/x.service"}
    now = {enabled: link("/lib/systemd/system/x.service")}
    assert stock.unaccounted({}, now, [], shipped, {}) == [f"{enabled}: added"]
    now[note] = FILE
    assert stock.unaccounted({}, now, [], shipped, {"/var/lib/systemd": "notes"}) == []
    assert stock.unaccounted({}, now, [], set(), {"/var/lib/systemd": "notes"}) == [f"{enabled}: added"]


def test_an_exemption_counts_for_what_lies_beneath_and_for_no_neighbour(stock: ModuleType) -> None:
    now = dict.fromkeys(
        ["/var/log", "/var/log/apt/history", "/var/logs", "/root/.ansible/tmp", "/home/a/.ansible"], FILE
    )
    exempt = {"/var/log": "logs", "*/.ansible": "Ansible's own"}
    assert stock.unaccounted({}, now, [], set(), exempt) == ["/var/logs: added"]


def test_packages_that_came_are_told_from_those_that_were_there(stock: ModuleType) -> None:
    before = packages(stock, "libc6 2.36 extra ", "runc 1.0  ")
    before |= stock.parse_status("containerd\tdeinstall ok config-files\t1.6\trunc\t")
    labels = [stock.label(name, package) for name, package in before.items()]
    now = packages(
        stock,
        "libc6 2.36 extra ",
        "extra 1.0  ",
        "wireguard-tools 1.0 libc6,resolver ",
        "openresolv 3.12  resolver",
        "containerd 1.6 runc ",
        "runc 1.1  ",
    )
    assert stock.brought(labels, now, [{"package": "wireguard-tools"}]) == {"wireguard-tools", "openresolv"}
    assert stock.brought(labels, now, [{"package": "containerd"}]) == {"containerd", "runc"}
    assert stock.brought(labels, now, [{"file": "/etc/x"}, {"package": "libc6"}]) == set()


def test_the_listing_sees_each_kind_of_change(stock: ModuleType, tmp_path: Path) -> None:
    names = ["same", "content", "mode", "gone", "left-out/x", "below/link"]
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("one")

    def listing() -> Any:
        return stock.listing(str(tmp_path), {str(tmp_path / "left-out")})

    before, status = listing(), (tmp_path / "content").stat()
    assert stock.differences(before, listing()) == {}
    (tmp_path / "content").write_text("two")
    os.utime(tmp_path / "content", ns=(status.st_atime_ns, status.st_mtime_ns))
    (tmp_path / "mode").chmod(0o600)
    (tmp_path / "gone").unlink()
    (tmp_path / "left-out/x").write_text("two")
    (tmp_path / "below/link").unlink()
    (tmp_path / "below/link").symlink_to("nowhere")
    (tmp_path / "new").mkdir()
    assert stock.differences(before, listing()) == {
        str(tmp_path / "content"): "changed: content",
        str(tmp_path / "mode"): "changed: mode",
        str(tmp_path / "gone"): "removed",
        str(tmp_path / "below/link"): "changed: type, mode, content",
        str(tmp_path / "new"): "added",
    }


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda path: path.name)
def test_every_scenario_takes_stock_and_compares_it(scenario: Path) -> None:
    def states(file: Path) -> list[str | None]:
        found: list[str | None] = []
        for play in yaml.safe_load(file.read_text()):
            imported = play.get("ansible.builtin.import_playbook", "")
            if imported == "../playbooks/stock.yml":
                found.append(play["vars"]["stock_state"])
            else:
                found += states(file.parent / imported) if imported else [None]
        return found

    assert "taken" in states(scenario / "prepare.yml")
    # First: what verify does itself changes the host, too.
    assert states(scenario / "verify.yml")[0] == "accounted"
    assert "same" in states(scenario / "verify_absent.yml")
