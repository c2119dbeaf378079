"""The command line with real Ansible on hosts that are this machine, and playbooks of the test's own."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from edgectl import cli, content
from edgectl.cluster import kubectl

from .api import Api

_HOSTS = """
all:
  vars:
    ansible_connection: local
    ansible_become: false
    ansible_python_interpreter: {python}
    cluster_name: attic
  children:
    cluster:
      children:
        control_plane:
          hosts:
            nuc1: {{ansible_host: 10.0.0.1}}
        workers:
          hosts:
            nuc2: {{ansible_host: 10.0.0.2}}
            orin1: {{ansible_host: 10.0.0.3}}
"""

# A bootstrap that changes one host.
WORKS = """
- name: Machine
  hosts: cluster
  gather_facts: false
  tasks:
    - name: Packages
      ansible.builtin.command: "true"
      changed_when: inventory_hostname == 'orin1'
- name: Verify
  hosts: cluster
  gather_facts: false
  tasks:
    - name: Nodes
      ansible.builtin.debug: {var: edgectl_summary}
      run_once: true
      vars:
        edgectl_summary:
          nodes:
            - {name: nuc1, roles: [control-plane], ready: true, internal_ip: 10.200.0.1, version: v1.35.4,
               os: Debian 12, platform: cpu}
"""


@dataclass(frozen=True)
class Answer:
    """What a command line came to."""

    code: int
    out: str
    err: str


@pytest.fixture
def inventory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in ("ANSIBLE_VAULT_PASSWORD_FILE", "EDGECTL_BECOME_PASSWORD_FILE", "EDGECTL_INVENTORY"):
        monkeypatch.delenv(name, raising=False)
    directory = tmp_path / "inventory"
    directory.mkdir()
    (directory / "hosts.yml").write_text(_HOSTS.format(python=sys.executable))
    return directory


@pytest.fixture
def playbook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Put a playbook of the test's own in the place of every verb's."""

    def write(text: str) -> None:
        file = tmp_path / "playbook.yml"
        file.write_text(text)
        monkeypatch.setattr(content, "playbook", lambda _verb: file)

    return write


@pytest.fixture
def edgectl(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Answer]:
    """Run a command line as the console script does, through the error boundary."""

    def run(*arguments: object) -> Answer:
        monkeypatch.setattr(sys, "argv", ["edgectl", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            cli.main()
        captured = capfd.readouterr()
        return Answer(int(end.value.code or 0), captured.out, captured.err)

    return run


@pytest.fixture
def api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Api:
    """A cluster in a file, which `edgectl` asks through a kubectl of the tests' own."""
    program = tmp_path / "kubectl.py"
    program.write_text(Path(__file__).with_name("kubectl.py").read_text())

    def line(_inventory: object, arguments: Sequence[str]) -> str:
        return shlex.join([sys.executable, str(program), *arguments])

    monkeypatch.setattr(kubectl, "command_line", line)
    return Api(tmp_path / "api.json")
