"""A peer that comes or goes leaves receipts as true as they were: real Ansible, receipts in a directory of the test."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml

from edgectl import content
from edgectl.ssh import probe as ssh_probe
from edgectl.ssh.target import Target
from tests.unit.cli.conftest import Answer
from tests.unit.receipts import recorded_hosts
from tests.unit.receipts.recorded_hosts import HOSTS, ROLES

Edgectl = Callable[..., Answer]

PLAYBOOKS = content.root() / "playbooks"

# No interface of this machine has that name.
OPTIONS = {"wireguard_interface": "wg-edgectl-test"}


def say(lookup: str) -> dict[str, Any]:
    answers = ", ".join(f"'{role}': lookup('{lookup}', '{role}')" for role in ROLES)
    return {"ansible.builtin.debug": {"msg": f"{{{{ [inventory_hostname, {{ {answers} }}] | to_json }}}}"}}


def network_play(directory: Path) -> dict[str, Any]:
    """The play of the playbook that does the work, on recorded hosts, without evidence of tunnels on this machine."""
    real = yaml.safe_load((PLAYBOOKS / "peers.yml").read_text())[1]
    for task in real["tasks"]:
        if (file := task.get("ansible.builtin.include_tasks")) is not None:
            task["ansible.builtin.include_tasks"] = str(PLAYBOOKS / file)
        if "ansible.builtin.import_role" in task:
            task["vars"] = {"__wireguard_evidence": evidence(directory / "inventory")}
    return {**real, **recorded_hosts.play(directory, real["tasks"])}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An inventory whose hosts have the receipts of all roles that their gates want."""
    for kind in ("STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind))
    inventory = recorded_hosts.write_inventory(tmp_path / "inventory", {"options.yml": yaml.safe_dump(OPTIONS)})
    digests = dict(recorded_hosts.ansible(inventory, [recorded_hosts.play(tmp_path, [say("digest_at_the_gate")])]))
    measure, facts = content.module_util("edgectl_evidence").measure, content.module_util("edgectl_inputs").facts
    for host in HOSTS:
        (tmp_path / host).mkdir()
        document = recorded_hosts.document(tmp_path, host)
        for role in ROLES:
            items = evidence(inventory) if role == "wireguard" else []
            recorded = [{"item": i, "value": value} for i, value in zip(items, measure(items), strict=True)]
            receipt = {"role": role, "status": "done", "inputs": digests[host][role], "evidence": recorded}
            receipt["facts"] = facts(role, document)
            (tmp_path / host / f"{role}.json").write_text(json.dumps(receipt))
    return inventory


def evidence(inventory: Path) -> list[dict[str, str]]:
    """In place of the tunnel's own: what else changes with a peer."""
    return [{"file": str(inventory / "edgectl.state.yml")}]


def due(inventory: Path) -> dict[str, list[str]]:
    """Host -> the roles that a bootstrap would run there."""
    directory = inventory.parent
    answers = recorded_hosts.ansible(inventory, [recorded_hosts.play(directory, [say("edgectl_due")])])
    return {host: [role for role in ROLES if of[role]] for host, of in answers}


def test_after_a_peer_was_let_in_no_role_is_due_where_none_was(place: Path) -> None:
    stale = place.parent / "orin1" / "wireguard.json"
    stale.write_text(json.dumps({**json.loads(stale.read_text()), "inputs": "of another day"}))
    before = (place / "edgectl.state.yml").read_text()
    stamp = content.module_util("edgectl_inputs").inventory_digest(place, with_state=False)
    variables = {"edgectl_peers_added": {"laptop": "bGFwdG9w"}, "edgectl_stamp": stamp}
    recorded_hosts.ansible(place, [network_play(place.parent)], "-e", json.dumps(variables))
    assert (place / "edgectl.state.yml").read_text() != before
    assert due(place) == {"nuc1": [], "orin1": ["wireguard"]}
    assert [host for host in HOSTS if (place.parent / f"{host}.stamp").exists()] == ["nuc1"]


def bootstrap_play(directory: Path) -> dict[str, Any]:
    """A bootstrap that has nothing but the receipt of the tunnel to leave behind, and the stamp."""
    nodes = [{"name": host, "ready": True} for host in HOSTS]
    tasks: list[dict[str, Any]] = [
        {"edgectl_receipt": {"role": "wireguard", "state": "recorded", "evidence": evidence(directory / "inventory")}},
        {"edgectl_receipt": {"state": "stamped"}},
        {"ansible.builtin.debug": {"var": "edgectl_summary"}, "vars": {"edgectl_summary": {"nodes": nodes}}},
    ]
    return {"name": "Network", **recorded_hosts.play(directory, tasks)}


def test_what_was_proved_before_a_peer_came_or_went_is_proved_afterwards(
    edgectl: Edgectl, playbook: Callable[[str], None], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def probed(targets: Iterable[Target]) -> dict[str, object]:
        names = [target.name for target in targets]
        stamps = {name: json.loads((place.parent / f"{name}.stamp").read_text()) for name in names}
        return {name: {**recorded_hosts.document(place.parent, name), "stamp": stamps[name]} for name in names}

    # Nobody answers at the addresses of recorded hosts.
    monkeypatch.setattr(ssh_probe, "probe_targets", probed)
    monkeypatch.chdir(place.parent)
    playbook(yaml.safe_dump([bootstrap_play(place.parent)]))
    assert "Nothing had to be changed" in edgectl("bootstrap", place).out
    proved = edgectl("bootstrap", place).out
    assert "Nothing to do on nuc1 and orin1." in proved
    for verb in ("add", "remove"):
        playbook(yaml.safe_dump([network_play(place.parent)]))
        assert edgectl("peer", verb, "laptop", "-i", place).code == 0
        answer = edgectl("bootstrap", place)
        assert answer.out.splitlines()[:5] == proved.splitlines()[:5]
