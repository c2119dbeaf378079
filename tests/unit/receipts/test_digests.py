"""The digest of a role's inputs is the same at the gate, inside the role and in another process: with real Ansible."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.unit.receipts import recorded_hosts
from tests.unit.receipts.recorded_hosts import ROLES

Files = dict[str, str]

PASSWORD = "correct horse"
HOST = "orin1"
# Options of every role and of every type, which each inventory says in its own way.
PLAIN = {
    "cluster_endpoint": "api.{{ cluster_name }}.example.org",
    "cluster_name": "attic",
    "cluster_wireguard": False,
    "containerd_enable_cri": "allow",
    "containerd_restrict_oom_score_adj": True,
    "kubeadm_token_ttl": "20m",
    "machine_load_modules": False,
    "machine_swap": "keep",
    "wireguard_keepalive": 15,
    "wireguard_port": 51900,
}
NESTED = {
    "kubeadm_cert_sans": ["k8s.example.org", "k8s.example.net"],
    "kubeadm_kubelet_config": {"maxPods": 77, "evictionHard": {"memory.available": "200Mi"}, "failSwapOn": False},
    "machine_sysctls": {"net.ipv4.ip_forward": 1, "vm.swappiness": 10},
    "pod_network_packages": ["containernetworking-plugins", "iptables", "ebtables"],
}


def plain(_directory: Path) -> tuple[Files, list[str]]:
    return {"options.yml": yaml.safe_dump({**PLAIN, **NESTED})}, []


def vaulted(_directory: Path) -> tuple[Files, list[str]]:
    """Single values, some of them inside of lists and dicts, and a whole file."""
    from ansible.parsing.vault import VaultLib, VaultSecret

    vault = VaultLib([("default", VaultSecret(PASSWORD.encode()))])

    class Dumper(yaml.SafeDumper):
        """Writes some texts encrypted, wherever they stand."""

    def write(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
        if text in ("allow", "attic", "k8s.example.org", "200Mi"):
            return dumper.represent_scalar("!vault", vault.encrypt(text).decode(), style="|")
        return dumper.represent_str(text)

    Dumper.add_representer(str, write)
    whole = {name: NESTED[name] for name in ("machine_sysctls", "pod_network_packages")}
    rest = {name: value for name, value in {**PLAIN, **NESTED}.items() if name not in whole}
    files = {"options.yml": yaml.dump(rest, Dumper=Dumper), "vault.yml": vault.encrypt(yaml.safe_dump(whole)).decode()}
    assert files["options.yml"].count("!vault") == 4
    return files, []


def extra_variables(directory: Path) -> tuple[Files, list[str]]:
    """`-e key=value`, JSON and a file, laid over an inventory that says something else."""
    file = directory / "more.yml"
    file.write_text(yaml.safe_dump({name: NESTED[name] for name in ("machine_sysctls", "pod_network_packages")}))
    json_text = json.dumps({name: NESTED[name] for name in ("kubeadm_cert_sans", "kubeadm_kubelet_config")})
    given = [*(f"{name}={value}" for name, value in PLAIN.items()), json_text, f"@{file}"]
    other = {"cluster_name": "cellar", "wireguard_port": 1, "kubeadm_cert_sans": []}
    return {"options.yml": yaml.safe_dump(other)}, [word for value in given for word in ("-e", value)]


INVENTORIES: dict[str, Callable[[Path], tuple[Files, list[str]]]] = {
    "plain": plain,
    "vaulted": vaulted,
    "extra variables": extra_variables,
}


@dataclass(frozen=True)
class Found:
    """Role -> digest: by the gate of the process that ran the roles, in the receipts that these recorded, and by the
    gate of another process, with its decision whether the role is due."""

    gate: Mapping[str, str]
    recorded: Mapping[str, str]
    other_gate: Mapping[str, str]
    due: Mapping[str, bool]


def say(lookup: str) -> dict[str, Any]:
    """The task that tells what a lookup answers for each role."""
    answers = ", ".join(f"'{role}': lookup('{lookup}', '{role}')" for role in ROLES)
    return {"ansible.builtin.debug": {"msg": f"{{{{ {{ {answers} }} | to_json }}}}"}}


def find(directory: Path, name: str) -> Found:
    files, options = INVENTORIES[name](directory)
    inventory = recorded_hosts.write_inventory(directory / "inventory", files)
    (directory / "password").write_text(PASSWORD)
    env = {
        "ANSIBLE_ROLES_PATH": str(recorded_hosts.roles_without_work(directory / "roles")),
        "ANSIBLE_VAULT_PASSWORD_FILE": str(directory / "password"),
    }
    options += ["--limit", HOST]
    roles = [{"ansible.builtin.include_role": {"name": r}, "when": f"lookup('edgectl_due', '{r}')"} for r in ROLES]
    play = recorded_hosts.play(directory, [say("digest_at_the_gate"), *roles])
    [gate] = recorded_hosts.ansible(inventory, [play], *options, PYTHONHASHSEED="1", **env)
    recorded = {role: receipt["inputs"] for role, receipt in recorded_hosts.receipts(directory, HOST).items()}
    play = recorded_hosts.play(directory, [say("digest_at_the_gate"), say("edgectl_due")])
    other_gate, due = recorded_hosts.ansible(inventory, [play], *options, PYTHONHASHSEED="2", **env)
    return Found(gate, recorded, other_gate, due)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Found]:
    """By the name of an inventory; Ansible runs twice for each, with all roles."""
    return {name: find(tmp_path_factory.mktemp("digests"), name) for name in INVENTORIES}


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("inventory", INVENTORIES)
def test_gate_role_and_another_process_find_the_same_digest(
    found: Mapping[str, Found], inventory: str, role: str
) -> None:
    seen = found[inventory]
    assert seen.gate[role] == seen.recorded[role] == seen.other_gate[role]
    assert seen.due[role] is False


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("inventory", ["vaulted", "extra variables"])
def test_where_an_option_was_said_makes_no_difference(found: Mapping[str, Found], inventory: str, role: str) -> None:
    assert found[inventory].recorded[role] == found["plain"].recorded[role]
