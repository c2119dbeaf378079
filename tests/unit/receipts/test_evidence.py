"""Evidence: what is measured changes exactly when the thing itself changes."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from edgectl import content


@pytest.fixture(scope="module")
def evidence() -> ModuleType:
    return content.module_util("edgectl_evidence")


def recorded(evidence: ModuleType, *items: dict[str, Any]) -> list[dict[str, Any]]:
    record = [{"item": item, "value": value} for item, value in zip(items, evidence.measure(items), strict=True)]
    read_again: list[dict[str, Any]] = json.loads(json.dumps(record, sort_keys=True))
    return read_again


def drift(evidence: ModuleType, record: list[dict[str, Any]]) -> list[str]:
    found: list[str] = evidence.drift(record, evidence.measure(entry["item"] for entry in record))
    return found


def test_an_untouched_file_has_not_drifted(evidence: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one")
    record = recorded(evidence, {"file": str(tmp_path / "a")}, {"file": str(tmp_path)})
    assert drift(evidence, record) == []


@pytest.mark.parametrize("change", ["content", "mode", "gone", "link"])
def test_a_file_that_was_changed_has_drifted(evidence: ModuleType, tmp_path: Path, change: str) -> None:
    file = tmp_path / "a"
    file.write_text("one")
    record = recorded(evidence, {"file": str(file)})
    match change:
        case "content":
            file.write_text("two")
        case "mode":
            file.chmod(0o600)
        case "gone":
            file.unlink()
        case "link":
            file.rename(tmp_path / "b")
            file.symlink_to("b")
    assert [line.partition(":")[0] for line in drift(evidence, record)] == [f"file {file}"]


def test_a_big_file_is_told_by_its_size_and_times(
    evidence: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evidence, "BIG_FILE", 2)
    file = tmp_path / "kubelet"
    file.write_text("one")
    before = file.stat()
    record = recorded(evidence, {"file": str(file)})
    assert "sha256" not in record[0]["value"]
    assert drift(evidence, record) == []
    time.sleep(0.02)
    file.write_text("two")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))  # nobody can put the inode's own time back
    assert drift(evidence, record)


@pytest.mark.parametrize("change", ["content", "mode", "one more", "one less", "its own mode", "gone"])
def test_a_directory_has_drifted_with_anything_in_it(evidence: ModuleType, tmp_path: Path, change: str) -> None:
    peers = tmp_path / "peers"
    (peers / "below").mkdir(parents=True)
    for name in ("nuc1.conf", "below/nuc2.conf"):
        (peers / name).write_text(name)
    record = recorded(evidence, {"directory": str(peers)})
    assert drift(evidence, record) == []
    match change:
        case "content":
            (peers / "below/nuc2.conf").write_text("two")
        case "mode":
            (peers / "nuc1.conf").chmod(0o600)
        case "one more":
            (peers / "below/empty").mkdir()
        case "one less":
            (peers / "nuc1.conf").unlink()
        case "its own mode":
            peers.chmod(0o700)
        case "gone":
            peers.rename(tmp_path / "elsewhere")
    assert [line.partition(":")[0] for line in drift(evidence, record)] == [f"directory {peers}"]


def test_a_unit_is_disabled_where_no_boot_starts_it(
    evidence: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evidence, "UNITS", str(tmp_path))
    wants = tmp_path / "multi-user.target.wants"
    wants.mkdir()
    (tmp_path / "zramswap.service").touch()
    items = [{"disabled": "zramswap.service"}]
    assert evidence.lacking(items, evidence.measure(items)) == []
    (wants / "zramswap.service").symlink_to("../zramswap.service")
    assert evidence.lacking(items, evidence.measure(items)) != []


def test_a_rule_of_ufw_is_told_by_its_words_whatever_the_comment(evidence: ModuleType) -> None:
    commands = evidence._Commands([])
    commands._outputs["ufw"] = (
        "Added user rules (see 'ufw status' for running firewall):\n"
        "ufw allow 22/tcp\nufw route allow in on wg0 out on cni0 comment 'edgectl'\n"
    )
    assert evidence._ufw({"ufw": "allow 22/tcp"}, commands)
    assert evidence._ufw({"ufw": "route allow in on wg0 out on cni0"}, commands)
    assert not evidence._ufw({"ufw": "allow in on wg0"}, commands)


def test_a_line_of_a_shared_file_may_be_surrounded_by_anything(evidence: ModuleType, tmp_path: Path) -> None:
    hosts = tmp_path / "hosts"
    hosts.write_text("127.0.0.1 localhost\n127.0.0.1 api.lab.internal\n")
    record = recorded(evidence, {"line": "127.0.0.1 api.lab.internal", "in": str(hosts)})
    hosts.write_text("# mine\n127.0.0.1 api.lab.internal\n")
    assert drift(evidence, record) == []
    hosts.write_text("127.0.0.1 api.lab.internal.other\n")
    assert drift(evidence, record) != []


def test_a_units_start_is_compared_with_the_last_change_of_its_configuration(
    evidence: ModuleType, tmp_path: Path
) -> None:
    file = tmp_path / "unit.conf"
    file.write_text("x")
    commands = evidence._Commands([])

    def shown(started_ago: float) -> Any:
        microseconds = int((time.monotonic() - started_ago) * 1e6)
        commands._outputs["unit"] = (
            "Id=other.service\nNames=other.service\n\n"
            f"Id=a.service\nNames=a.service alias.service\nActiveState=active\nUnitFileState=enabled\n"
            f"ExecMainStartTimestampMonotonic={microseconds}\n"
        )
        return evidence._unit({"unit": "alias.service", "after": [str(file)]}, commands)

    assert shown(60) == {"enabled": "enabled", "active": "active", "current": False}
    time.sleep(0.05)
    assert shown(0)["current"] is True
    assert evidence.lacking([{"unit": "a.service"}], [shown(60)]) != []


def test_the_tunnels_private_key_is_never_part_of_a_value(evidence: ModuleType) -> None:
    commands = evidence._Commands([])
    commands._outputs["wireguard wg0"] = (
        "PRIVATE\tPUBLIC\t51871\toff\nPEER\t(none)\t192.168.1.2:51871\t10.200.0.2/32,10.244.1.0/24\t0\t0\t0\t25\n"
    )
    value = evidence._wireguard({"wireguard": "wg0"}, commands)
    assert value == {"public_key": "PUBLIC", "port": "51871", "peers": {"PEER": ["10.200.0.2/32", "10.244.1.0/24"]}}


def test_rules_are_those_with_our_name_whatever_others_add(evidence: ModuleType) -> None:
    commands = evidence._Commands([])

    def value(text: str) -> Any:
        commands._outputs["rules"] = text
        return evidence._rules({"rules": "EDGECTL-PODS"}, commands)

    ours = ":EDGECTL-PODS - [0:0]\n-A EDGECTL-PODS -i cni0 -j ACCEPT\n"
    assert value(ours) == value(f"-A KUBE-X -j DROP\n{ours}")
    assert value(ours) != value(ours.replace("ACCEPT", "DROP"))
    assert value("-A KUBE-X -j DROP\n") is None


def test_what_cannot_be_measured_is_a_value_of_its_own_and_may_not_be_recorded(evidence: ModuleType) -> None:
    items = [{"file": "/nowhere/at/all"}, {"nonsense": 1}, {"sysctl": "kernel.none"}]
    assert len(evidence.lacking(items, evidence.measure(items))) == 3


def test_a_receipt_says_what_drifted_and_a_broken_one_counts_as_interrupted(
    evidence: ModuleType, tmp_path: Path
) -> None:
    file = tmp_path / "managed"
    file.write_text("one")
    receipts = tmp_path / "receipts"
    receipts.mkdir()
    done = {
        "status": "done",
        "inputs": "abc",
        "facts": {"os/id": "debian"},
        "evidence": recorded(evidence, {"file": str(file)}),
    }
    (receipts / "machine.json").write_text(json.dumps(done))
    (receipts / "wireguard.json").write_text("{")
    found = evidence.receipts(str(receipts))
    assert found["machine"] == {**done, "evidence": 1, "drift": []}
    assert found["wireguard"]["status"] == "applying"
    file.write_text("two")
    assert evidence.receipts(str(receipts))["machine"]["drift"]


def test_a_taint_that_somebody_took_away_is_drift(evidence: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    taint = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
    node: dict[str, Any] = {"metadata": {}, "spec": {"taints": [taint]}, "status": {}}
    monkeypatch.setattr(evidence, "_ask", lambda _api, _path: node)
    record = recorded(evidence, {"node": "orin1", "taints": ["nvidia.com/gpu:NoSchedule"], "api": {}})
    assert drift(evidence, record) == []
    node["spec"] = {}
    assert len(drift(evidence, record)) == 1


@pytest.mark.parametrize(("name", "key"), [("client.crt", "client.key"), ("client.pem", None)])
def test_the_key_of_a_certificate_is_in_the_file_beside_it_or_in_the_same(
    evidence: ModuleType, tmp_path: Path, name: str, key: str | None
) -> None:
    class Context:
        def load_cert_chain(self, certificate: str, keyfile: str | None = None) -> None:
            self.loaded = (certificate, keyfile)

    context = Context()
    (tmp_path / name).write_text("-----BEGIN CERTIFICATE-----")
    evidence._show_certificate(context, str(tmp_path / name))
    assert context.loaded == (str(tmp_path / name), str(tmp_path / key) if key else None)
