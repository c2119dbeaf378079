"""Host keys are checked, always: first contact asks, a changed key is refused, through Ansible too."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import yaml

from tests.e2e.cluster import ANSIBLE_PLAYBOOK, Cluster, edgectl, run


@pytest.fixture
def copy(cluster: Cluster, tmp_path: Path) -> Path:
    target = tmp_path / "inventory"
    shutil.copytree(cluster.inventory, target)
    return target


def forget_fingerprints(inventory: Path) -> None:
    """A host key that the state file knows from an earlier run needs no question."""
    (inventory / "edgectl.state.yml").unlink(missing_ok=True)


def test_an_unknown_host_is_not_trusted_without_asking(copy: Path) -> None:
    (copy / ".edgectl" / "known_hosts").unlink()
    forget_fingerprints(copy)
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


def test_a_host_behind_a_jump_host_is_reached_as_the_users_ssh_reaches_it(cluster: Cluster, copy: Path) -> None:
    # From here nothing leads to tunnel addresses, except through a node.
    variables = yaml.safe_load((copy / "group_vars" / "all.yml").read_text())
    known_hosts = copy / ".edgectl" / "known_hosts"
    config = copy.parent / "ssh_config"
    config.write_text(f"""\
Host gate
  HostName {cluster.lan_address("nuc1")}
Host *
  User {variables["ansible_user"]}
  IdentityFile {variables["ansible_ssh_private_key_file"]}
  UserKnownHostsFile {known_hosts}
Match originalhost *,!gate
  ProxyJump gate
""")
    variables["ansible_ssh_common_args"] = f"-F {config}"
    (copy / "group_vars" / "all.yml").write_text(yaml.safe_dump(variables))
    forget_fingerprints(copy)
    hosts = (copy / "hosts.yml").read_text()
    (copy / "hosts.yml").write_text(hosts.replace(cluster.lan_address("nuc2"), "10.200.0.2"))
    unknown = edgectl("probe", "nuc2", "-i", str(copy), check=False)
    assert unknown.returncode in {2, 4}, unknown.stdout + unknown.stderr
    assert "SHA256:" in unknown.stdout + unknown.stderr
    found = json.loads(edgectl("probe", "nuc2", "-i", str(copy), "--json", "--accept-new-host-keys").stdout)
    assert found["hosts"]["nuc2"]["identity"]["hostname"] == "nuc2"
    ansible = str(Path(ANSIBLE_PLAYBOOK).parent / "ansible")
    assert '"pong"' in run([ansible, "-i", str(copy), "nuc2", "-m", "ansible.builtin.ping"]).stdout
