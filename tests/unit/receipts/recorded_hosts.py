"""Recorded hosts whose receipts lie in a directory of the test's own: real Ansible, nothing of this machine changed."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from edgectl import content
from edgectl.recording import catalogue
from tests.unit import ansible_playbook

ROLES = sorted(path.parents[1].name for path in (content.root() / "roles").glob("*/meta/receipt.yml"))
HOSTS = {"nuc1": "nuc-ubuntu24.04", "orin1": "orin-nx-jp6.2"}
_ADDRESSES = {"nuc1": 1, "orin1": 2}


def write_inventory(directory: Path, group_vars: Mapping[str, str] | None = None) -> Path:
    """A control plane and a Jetson, both enrolled. group_vars: texts by file name."""
    local = {"ansible_connection": "local", "ansible_become": False, "ansible_python_interpreter": sys.executable}
    entries = {name: {"ansible_host": f"192.168.1.{number}"} for name, number in _ADDRESSES.items()}
    nodes = {"control_plane": {"hosts": {"nuc1": entries["nuc1"]}}, "workers": {"hosts": {"orin1": entries["orin1"]}}}
    state = {name: {"edgectl_state": _state(number)} for name, number in _ADDRESSES.items()}
    (directory / "group_vars" / "all").mkdir(parents=True)
    (directory / "hosts.yml").write_text(
        yaml.safe_dump({"all": {"vars": local, "children": {"cluster": {"children": nodes}}}})
    )
    (directory / "edgectl.state.yml").write_text(yaml.safe_dump({"all": {"hosts": state}}))
    for name, text in (group_vars or {}).items():
        (directory / "group_vars" / "all" / name).write_text(text)
    return directory


def _state(number: int) -> dict[str, str]:
    entry = {"wireguard_public_key": f"key{number}=", "wireguard_address": f"10.200.0.{number}"}
    return {**entry, "lan_address": f"192.168.1.{number}", "pod_cidr": f"10.244.{number}.0/24"}


def receipts(directory: Path, host: str) -> dict[str, dict[str, Any]]:
    """The receipts of a host by role, with their evidence measured again."""
    found: dict[str, dict[str, Any]] = content.module_util("edgectl_evidence").receipts(str(directory / host))
    return found


def document(directory: Path, host: str) -> dict[str, Any]:
    """What the probe says of a host, which has a container runtime by now."""
    recording = catalogue.load(HOSTS[host])
    installed = f"{recording.commands['dpkg']}\ninstalled containerd 1.7.24\n"
    commands = {**recording.commands, "dpkg": installed, "containerd-version": "containerd 1.7.24"}
    files = {**recording.files, "/usr/bin/containerd": "", "/etc/machine-id": f"{_ADDRESSES[host]:032x}\n"}
    found = replace(recording, files=files, commands=commands).replay()
    return {**found, "receipts": receipts(directory, host)}


def play(directory: Path, tasks: list[dict[str, Any]]) -> dict[str, Any]:
    """A play on the cluster's hosts as they are now; it keeps their receipts, stamps and locks in the directory."""
    place = f"{directory}/{{{{ inventory_hostname }}}}"
    defaults = {
        "edgectl_receipt": {"directory": place, "stamp": f"{place}.stamp", "probe": False},
        "edgectl_lock": {"path": f"{place}.lock"},
    }
    for host in HOSTS:
        (directory / f"{host}.json").write_text(json.dumps(document(directory, host)))
    file = f"{{{{ lookup('ansible.builtin.file', '{place}.json') | from_json }}}}"
    facts = {"name": "State of every host", "ansible.builtin.set_fact": {"edgectl": file, "cacheable": True}}
    return {
        "hosts": "cluster",
        "gather_facts": False,
        "roles": [{"role": "cluster"}],
        "module_defaults": defaults,
        "tasks": [facts, *tasks],
    }


def roles_without_work(directory: Path) -> Path:
    """All roles with their own options, variables and schemas, whose only task is to record the receipt."""
    for real in (path for path in (content.root() / "roles").iterdir() if path.is_dir()):
        role = directory / real.name
        (role / "tasks").mkdir(parents=True)
        for part in ("defaults", "vars", "meta"):
            if (real / part).is_dir():
                (role / part).symlink_to(real / part)
        receipt = [{"name": "Receipt", "edgectl_receipt": {"state": "recorded"}}] if real.name in ROLES else []
        (role / "tasks" / "main.yml").write_text(yaml.safe_dump(receipt))
    return directory


def ansible(inventory: Path, plays: list[dict[str, Any]], *options: str, **env: str) -> list[Any]:
    """Run plays, which may use the lookups beside this file too; returns what they said."""
    lookups = content.ansible_environment()["ANSIBLE_LOOKUP_PLUGINS"]
    env["ANSIBLE_LOOKUP_PLUGINS"] = f"{lookups}:{Path(__file__).with_name('lookup')}"
    return ansible_playbook.said(inventory, plays, *options, **env)
