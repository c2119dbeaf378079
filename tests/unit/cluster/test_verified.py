"""The verified path: taken when nothing has changed on any host, and not taken when anything has."""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from edgectl import content
from edgectl.cluster import verified
from edgectl.cluster.session import Session
from edgectl.cluster.verb import Outcome
from edgectl.inventory import load
from edgectl.run.result import RunResult, RunStatus
from edgectl.ssh.probe import ProbeFailure
from edgectl.ssh.secrets import Secrets
from edgectl.ssh.target import of_inventory
from tests.unit.ansible_playbook import said, say
from tests.unit.receipts.test_due import FACTS, ROLES, change

Documents = dict[str, Any]
Look = Callable[[], verified.Proof | None]

HOSTS = """
all:
  vars: {{ansible_python_interpreter: {python}}}
  children:
    cluster:
      children:
        control_plane: {{hosts: {{nuc1: {{ansible_host: 192.168.1.11}}}}}}
        workers: {{hosts: {{nuc2: {{ansible_host: 192.168.1.12}}}}}}
"""
STATE = """
all:
  hosts:
    nuc1: {edgectl_state: {wireguard_public_key: bnVjMQ==, wireguard_address: 10.200.0.1, pod_cidr: 10.244.0.0/24}}
    nuc2: {edgectl_state: {wireguard_public_key: bnVjMg==, wireguard_address: 10.200.0.2, pod_cidr: 10.244.1.0/24}}
"""


def end_of_a_run(left: Path) -> list[dict[str, Any]]:
    """What a run does at its end on nuc1, with everything that it leaves on a host put into a directory."""
    places = {"directory": f"{left}/receipts", "stamp": f"{left}/stamp"}
    evidence = [{"file": str(left)}, {"file": "/"}]
    recorded = {
        "edgectl_receipt": {"state": "recorded", "role": "{{ item }}", "evidence": evidence, **places},
        "loop": list(ROLES),
    }
    stamped = {"edgectl_receipt": {"state": "stamped", **places}}
    tasks = [{"edgectl_facts": {}}, recorded, stamped, say("ansible_facts.edgectl")]
    return [{"hosts": "nuc1", "gather_facts": False, "roles": [{"role": "cluster"}], "tasks": tasks}]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Session, dict[str, Any]]:
    """A session, and what the probe says of nuc1 (this machine) after a run of it by real Ansible."""
    inventory, left = tmp_path_factory.mktemp("inventory"), tmp_path_factory.mktemp("left")
    (inventory / "hosts.yml").write_text(HOSTS.format(python=sys.executable))
    (inventory / "edgectl.state.yml").write_text(STATE)
    variables = json.dumps({"ansible_connection": "local", **verified.before_a_run(inventory)})
    [found] = said(inventory, end_of_a_run(left), "-e", variables)
    receipts = content.module_util("edgectl_evidence").receipts(str(left / "receipts"))
    found.update(lock=None, receipts=receipts, stamp=json.loads((left / "stamp").read_text()))
    hosts = load(inventory)
    targets = {target.name: target for target in of_inventory(hosts)}
    return Session(hosts, Secrets(), targets, tuple(targets)), found


@pytest.fixture
def documents(run: tuple[Session, dict[str, Any]]) -> Documents:
    """Of nuc1 and, as far as the look can tell, of another machine after the same run."""
    found = {name: copy.deepcopy(run[1]) for name in ("nuc1", "nuc2")}
    found["nuc2"]["identity"]["machine_id"] = "e" * 32
    found["nuc2"]["stamp"]["machine"].update(name="nuc2", machine_id="e" * 32)
    return found


@pytest.fixture
def look(
    run: tuple[Session, dict[str, Any]], documents: Documents, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Look:
    """The look after that run; what SSH would bring are the documents."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("edgectl.ssh.probe.probe_targets", lambda targets: {t.name: documents[t.name] for t in targets})
    verified.remember(Outcome("bootstrap", run[0], RunResult("id", RunStatus.SUCCESSFUL, 1.0, 0.0, Path("/log"))))
    return lambda: verified.look(run[0].inventory.path)


def test_hosts_that_are_as_the_run_left_them_are_proved_to_be(look: Look) -> None:
    proof = look()
    assert proof is not None
    assert proof.hosts == ("nuc1", "nuc2")
    assert proof.evidence == 2 * 2 * len(ROLES)


def test_what_no_receipt_was_made_from_may_change(look: Look, documents: Documents) -> None:
    for path in ("kernel/version", "identity/boot_id", "identity/booted_at", "memory/available_kib", "clock/now"):
        change(documents["nuc1"], path)
    assert look() is not None


@pytest.mark.parametrize("path", sorted({path for _, path in FACTS}))
def test_another_value_of_any_fact_of_any_receipt_is_noticed(look: Look, documents: Documents, path: str) -> None:
    change(documents["nuc1"], path)
    assert look() is None


@pytest.mark.parametrize("path", ["identity/machine_id", "identity/product_uuid", "identity/serial", "ssh_host_keys"])
def test_another_machine_with_the_disk_of_a_host_is_noticed(look: Look, documents: Documents, path: str) -> None:
    change(documents["nuc1"], path)
    assert look() is None


def test_a_stamp_of_another_host_is_noticed(look: Look, documents: Documents) -> None:
    documents["nuc1"], documents["nuc2"] = documents["nuc2"], documents["nuc1"]
    assert look() is None


def test_two_hosts_with_one_machine_id_are_noticed_whatever_their_stamps_say(look: Look, documents: Documents) -> None:
    for identity in (documents["nuc2"]["identity"], documents["nuc2"]["stamp"]["machine"]):
        identity["machine_id"] = documents["nuc1"]["identity"]["machine_id"]
    assert look() is None


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("stamp/digest", "of another run"),
        ("stamp", None),
        ("lock", {"owner": "ana"}),
        ("receipts/machine/status", "applying"),
        ("receipts/machine/drift", ["file /etc/hosts: was a, is b"]),
        ("receipts/machine/inputs", "others"),
        ("receipts", {}),
    ],
)
def test_any_other_doubt_leaves_it_to_a_run(look: Look, documents: Documents, path: str, value: Any) -> None:
    change(documents["nuc1"], path, value)
    assert look() is None


def test_a_host_that_does_not_answer_leaves_it_to_a_run(look: Look, documents: Documents) -> None:
    documents["nuc2"] = ProbeFailure("nuc2", None, "timed out")
    assert look() is None


def test_an_inventory_that_was_edited_leaves_it_to_a_run(look: Look, run: tuple[Session, dict[str, Any]]) -> None:
    hosts = run[0].inventory.path / "hosts.yml"
    before = hosts.read_text()
    hosts.write_text(f"{before}# a remark\n")
    assert look() is None
    hosts.write_text(before)
    assert look() is not None
