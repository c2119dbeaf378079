"""Host keys are checked, always: first contact asks, a changed key is refused, through Ansible too."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.e2e.cluster import Cluster, edgectl


@pytest.fixture
def copy(cluster: Cluster, tmp_path: Path) -> Path:
    target = tmp_path / "inventory"
    shutil.copytree(cluster.inventory, target)
    return target


def test_an_unknown_host_is_not_trusted_without_asking(copy: Path) -> None:
    (copy / ".edgectl" / "known_hosts").unlink()
    result = edgectl("bootstrap", str(copy), "--yes", "--plain", check=False)
    assert result.returncode in {2, 4}, result.stdout + result.stderr
    assert "SHA256:" in result.stdout + result.stderr
    assert "--accept-new-host-keys" in result.stdout + result.stderr


def test_accepted_keys_are_remembered(copy: Path) -> None:
    (copy / ".edgectl" / "known_hosts").unlink()
    edgectl("bootstrap", str(copy), "--yes", "--plain", "--accept-new-host-keys", "--limit", "nuc2")
    edgectl("bootstrap", str(copy), "--yes", "--plain", "--limit", "nuc2")


def test_a_changed_host_key_is_refused_by_the_cli_and_by_plain_ansible(
    cluster: Cluster, copy: Path, tmp_path: Path
) -> None:
    known_hosts = copy / ".edgectl" / "known_hosts"
    lines = known_hosts.read_text().splitlines()
    address = cluster.lan_address("nuc2")
    other = next(line.split()[2] for line in lines if address not in line and "ed25519" in line)
    changed = [
        " ".join([*line.split()[:2], other]) if address in line and "ed25519" in line else line
        for line in lines
        if address not in line or "ed25519" in line
    ]
    known_hosts.write_text("\n".join(changed) + "\n")
    result = edgectl("bootstrap", str(copy), "--yes", "--plain", "--accept-new-host-keys", check=False)
    assert result.returncode != 0
    assert "nuc2" in result.stdout + result.stderr
    assert "ssh-keygen -R" in result.stdout + result.stderr
    # A connection that an earlier run left open would be taken, without asking for the key again.
    fresh = {"ANSIBLE_SSH_CONTROL_PATH_DIR": str(tmp_path / "cp")}
    plain = Cluster(cluster.lab, copy).playbook("bootstrap", "--limit", "nuc2", check=False, env=fresh)
    assert plain.returncode == 4, plain.stdout
    assert "UNREACHABLE" in plain.stdout
