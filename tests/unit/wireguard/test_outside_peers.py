"""The role, run by Ansible in check mode: every run writes the peers of the state file, and no run waits for them."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.unit.ansible_playbook import output

HOSTS = """
all:
  vars:
    ansible_connection: local
    ansible_python_interpreter: {python}
    wireguard_interface: wg-edgectl-test
  children:
    cluster:
      children:
        control_plane: {{hosts: {{nuc1: {{ansible_host: 192.168.1.11}}}}}}
        workers: {{hosts: {{nuc2: {{ansible_host: 192.168.1.12}}}}}}
"""
STATE = """
all:
  vars:
    edgectl_state_peers:
      laptop: {wireguard_public_key: bGFwdG9w, wireguard_address: 10.200.0.3}
  hosts:
    nuc1: {edgectl_state: {wireguard_public_key: bnVjMQ==, wireguard_address: 10.200.0.1, pod_cidr: 10.244.0.0/24}}
    nuc2: {edgectl_state: {wireguard_public_key: bnVjMg==, wireguard_address: 10.200.0.2, pod_cidr: 10.244.1.0/24}}
"""
PLAY = [
    {
        "hosts": "cluster",
        "gather_facts": False,
        "roles": [{"role": "cluster"}],
        "tasks": [
            {"ansible.builtin.import_role": {"name": "wireguard", "tasks_from": "peers.yml", "public": True}},
            {
                "ansible.builtin.debug": {
                    "msg": "verified: {{ __wireguard_peers | map(attribute='name') | join(' ') }}."
                }
            },
        ],
    }
]


def test_a_limited_run_writes_the_peer_on_its_host_and_verifies_hosts_only(tmp_path: Path) -> None:
    inventory = tmp_path / "inventory"
    inventory.mkdir()
    (inventory / "hosts.yml").write_text(HOSTS.format(python=sys.executable))
    (inventory / "edgectl.state.yml").write_text(STATE)
    printed = output(inventory, PLAY, "--check", "--diff", "--limit", "nuc2")
    added = [line[1:] for line in printed.splitlines() if line.startswith("+") and not line.startswith("+++")]
    laptop, nuc1 = added.index("# laptop"), added.index("# nuc1")
    assert added[laptop : laptop + 5] == [
        "# laptop",
        "[Peer]",
        "PublicKey = bGFwdG9w",
        "AllowedIPs = 10.200.0.3/32",
        "",
    ]
    assert added[nuc1 + 3] == "AllowedIPs = 10.200.0.1/32, 10.244.0.0/24"
    assert "verified: nuc1." in printed
