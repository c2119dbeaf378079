"""`edgectl bootstrap` and `edgectl reset` from the command line to the exit code."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from tests.unit.cli.conftest import WORKS, Answer

Edgectl = Callable[..., Answer]
Write = Callable[[str], None]

FAILS = """
- name: Runtime
  hosts: cluster
  gather_facts: false
  tasks:
    - name: Start containerd
      ansible.builtin.command: sh -c 'echo unit is masked >&2; exit 5'
      changed_when: false
      when: inventory_hostname == 'orin1'
"""


def test_success_shows_the_nodes_what_changed_and_what_to_try_next(
    edgectl: Edgectl, inventory: Path, playbook: Write
) -> None:
    playbook(WORKS)
    answer = edgectl("bootstrap", inventory)
    assert answer.code == 0
    assert "  nuc1  control-plane  Ready   10.200.0.1  v1.35.4  cpu       Debian 12" in answer.out
    assert "  orin1  1 change: Machine 1" in answer.out
    assert "  nuc2   nothing" in answer.out
    assert f"edgectl kubectl -i {inventory} -- get pods -A" in answer.out
    assert "Machine " in answer.out.split("in all:")[1]


def test_schemas_of_another_edgectl_are_a_note_before_the_run(
    edgectl: Edgectl, inventory: Path, playbook: Write
) -> None:
    playbook("- {name: Verify, hosts: cluster, gather_facts: false, tasks: [{ansible.builtin.set_fact: {x: 1}}]}")
    (inventory / ".edgectl").mkdir()
    (inventory / ".edgectl" / "hosts.schema.json").write_text("{}")
    told = f"edgectl schema --write {inventory}\nVerify\n"
    assert told in edgectl("bootstrap", inventory).out
    assert "note: " not in edgectl("reset", inventory, "--yes").out


def test_json_is_all_there_is_on_standard_output(edgectl: Edgectl, inventory: Path, playbook: Write) -> None:
    playbook(WORKS)
    answer = edgectl("bootstrap", inventory, "--json", "--limit", "orin1,nuc1")
    documents = [json.loads(line) for line in answer.out.splitlines()]
    assert {document["schema_version"] for document in documents} == {1}
    result = documents[-1]
    assert (result["kind"], result["status"], result["exit_code"]) == ("result", "successful", 0)
    assert sorted(result["hosts"]) == ["nuc1", "orin1"]
    assert result["changes"] == [{"host": "orin1", "phase": "Machine", "task": "Packages", "diff": ""}]
    assert result["summary"]["nodes"][0]["name"] == "nuc1"


def test_a_failed_host_is_named_with_the_step_its_reason_and_the_next_command(
    edgectl: Edgectl, inventory: Path, playbook: Write
) -> None:
    playbook(FAILS)
    answer = edgectl("bootstrap", inventory)
    assert answer.code == 1
    assert "orin1 failed in phase Runtime: Start containerd" in answer.out
    assert "exit code 5: unit is masked" in answer.out
    assert "nuc1 and nuc2 went on without orin1." in answer.out
    assert f"edgectl bootstrap {inventory} --limit orin1" in answer.out
    assert "Traceback" not in answer.out + answer.err
    log = answer.out.split("Log: ")[1].strip()
    assert "unit is masked" in Path(log).read_text()


def test_a_lost_worker_is_left_out_and_a_lost_control_plane_or_hub_stops_everything(
    edgectl: Edgectl, inventory: Path, playbook: Write
) -> None:
    playbook(WORKS)
    hosts = inventory / "hosts.yml"
    text = hosts.read_text()
    lost = "{{ansible_host: 127.0.0.1, ansible_port: 1, ansible_connection: ssh, ansible_ssh_common_args: {0}}}"
    lost = lost.format("-F /dev/null").replace("{{", "{").replace("}}", "}")
    hosts.write_text(text.replace("{ansible_host: 10.0.0.2}", lost))
    answer = edgectl("bootstrap", inventory)
    assert answer.code == 4
    assert "nuc2 was left out: 127.0.0.1:1 refuses connections" in answer.out
    assert "  orin1  1 change" in answer.out
    hosts.write_text(text.replace("{ansible_host: 10.0.0.1}", lost))
    answer = edgectl("bootstrap", inventory)
    assert answer.code == 4
    assert "the control plane nuc1 cannot be reached, so nothing was started" in answer.err
    assert answer.out == ""
    endpoint = (
        "    wireguard_topology: hub\n  children:\n    hub: {hosts: {nuc2: {wireguard_endpoint: a.example:51871}}}\n"
    )
    hosts.write_text(text.replace("  children:\n", endpoint, 1).replace("{ansible_host: 10.0.0.2}", lost))
    answer = edgectl("bootstrap", inventory)
    assert answer.code == 4
    assert "the hub nuc2 cannot be reached, so nothing was started" in answer.err


def test_reset_without_a_terminal_wants_yes(edgectl: Edgectl, inventory: Path, playbook: Write) -> None:
    playbook(WORKS)
    answer = edgectl("reset", inventory)
    assert answer.code == 2
    assert "This destroys the cluster attic on nuc1, nuc2 and orin1" in answer.err
    assert f"edgectl reset {inventory} --yes" in answer.err
    assert edgectl("reset", inventory, "--yes").code == 0
