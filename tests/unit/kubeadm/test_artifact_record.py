"""What a role put on a host is taken away exactly, and what was there before comes back."""

from __future__ import annotations

import hashlib
from pathlib import Path
from types import ModuleType

import pytest

from tests.unit.kubeadm.conftest import plugin


@pytest.fixture
def artifact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = plugin("modules/edgectl_artifact.py")
    monkeypatch.setattr(module, "RECORDS", str(tmp_path / "records"))
    return module


def place(artifact: ModuleType, dest: Path, content: bytes) -> None:
    artifact.Record("kubeadm").add(str(dest), hashlib.sha256(content).hexdigest())
    dest.write_bytes(content)


def test_file_of_ours_is_removed_and_nothing_is_left(artifact: ModuleType, tmp_path: Path) -> None:
    place(artifact, tmp_path / "kubelet", b"ours")
    assert artifact.Record("kubeadm").remove() == []
    assert sorted(path.name for path in tmp_path.iterdir()) == []


def test_file_of_before_comes_back_after_two_versions_of_ours(artifact: ModuleType, tmp_path: Path) -> None:
    dest = tmp_path / "kubectl"
    dest.write_bytes(b"theirs")
    place(artifact, dest, b"ours")
    place(artifact, dest, b"ours, newer")
    artifact.Record("kubeadm").remove()
    assert dest.read_bytes() == b"theirs"


def test_file_that_somebody_replaced_since_stays(artifact: ModuleType, tmp_path: Path) -> None:
    dest = tmp_path / "kubectl"
    place(artifact, dest, b"ours")
    dest.write_bytes(b"somebody else's")
    assert artifact.Record("kubeadm").remove() == [str(dest)]
    assert dest.read_bytes() == b"somebody else's"


def test_record_of_another_role_stays(artifact: ModuleType, tmp_path: Path) -> None:
    place(artifact, tmp_path / "kubelet", b"ours")
    artifact.Record("k3s").add(str(tmp_path / "k3s"), "0" * 64)
    artifact.Record("kubeadm").remove()
    assert list(artifact.Record("k3s").files) == [str(tmp_path / "k3s")]
