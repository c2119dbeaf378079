"""`edgectl init` from the command line, and the questions it asks."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv4Address
from pathlib import Path

import pytest

from edgectl.output import interview
from edgectl.ssh import scan
from edgectl.ssh.scan import SshServer

from .conftest import Answer

Edgectl = Callable[..., Answer]
NUC1 = ["--host", "nuc1=ubuntu@192.168.1.11"]


class Script:
    """Answers in order; an empty one takes the default."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.questions: list[str] = []

    def answer(self, question: str, default: str = "") -> str:
        self.questions.append(question)
        return self.answers.pop(0) or default


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANSIBLE_VAULT_PASSWORD_FILE", raising=False)
    monkeypatch.chdir(tmp_path)


def test_the_written_inventory_passes_validate(edgectl: Edgectl) -> None:
    answer = edgectl("init", "lab", *NUC1, "--host", "orin1=jetson@orin1.lan:2222", "--cluster-name", "attic")
    assert (answer.code, answer.err) == (0, "")
    assert "wrote  lab/hosts.yml" in answer.out
    assert "next   edgectl bootstrap lab" in answer.out
    assert edgectl("validate", "lab").out == "lab: 2 hosts, nothing wrong\n"


def test_a_second_init_is_refused_before_anything_is_asked_or_scanned(edgectl: Edgectl) -> None:
    assert edgectl("init", *NUC1).code == 0
    answer = edgectl("init", "--scan", "127.0.0.0/30", "--yes")
    assert answer.code == 2
    assert answer.err.startswith("error: inventory: there is an inventory already, and it stays as it is")


def test_without_a_terminal_machines_must_be_named(edgectl: Edgectl) -> None:
    answer = edgectl("init")
    assert answer.code == 2
    assert "--host nuc1=ubuntu@192.168.1.11" in answer.err
    assert not Path("inventory").exists()


def test_a_scan_without_consent_connects_to_nobody(edgectl: Edgectl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "scan", lambda network: pytest.fail("it was scanned"))
    answer = edgectl("init", "--scan", "192.168.1.0/24")
    assert answer.code == 2
    assert "Connect to port 22 of 256 addresses in 192.168.1.0/24" in answer.err


def test_a_scan_lists_what_it_found_and_the_command_that_goes_on(
    edgectl: Edgectl, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [SshServer(IPv4Address("192.168.1.11"), "SSH-2.0-OpenSSH_9.6p1")]
    monkeypatch.setattr(scan, "scan", lambda network: found)
    answer = edgectl("init", "--scan", "192.168.1.0/24", "--yes")
    assert answer.code == 0
    assert "192.168.1.0/24: 1 SSH server\n  192.168.1.11     SSH-2.0-OpenSSH_9.6p1\n" in answer.out
    assert "edgectl init inventory --host NAME=USER@192.168.1.11" in answer.out
    assert not Path("inventory").exists()


def test_questions_lead_to_machines_a_control_plane_a_name_and_a_distribution() -> None:
    script = Script(
        "attic", "ubuntu@192.168.1.11", "nuc1", "jetson@orin1.lan:2222", "", "", "nuc7", "orin1", "rke2", "k3s"
    )
    answers = interview.ask(script, [])
    assert [(m.name, m.user, m.address, m.port) for m in answers.machines] == [
        ("nuc1", "ubuntu", "192.168.1.11", 22),
        ("orin1", "jetson", "orin1.lan", 2222),
    ]
    assert (answers.control_plane, answers.cluster_name, answers.distribution) == ("orin1", "attic", "k3s")


def test_an_answer_that_will_not_do_is_asked_again(capsys: pytest.CaptureFixture[str]) -> None:
    script = Script(
        "My Lab", "", "a@b@c", "ubuntu@192.168.1.11", "NUC_1", "nuc1", "me@192.168.1.12", "nuc1", "", "", "", "K3S", ""
    )
    answers = interview.ask(script, [])
    assert [machine.name for machine in answers.machines] == ["nuc1", "node1"]
    assert (answers.control_plane, answers.cluster_name, answers.distribution) == ("nuc1", "homelab", "kubeadm")
    said = capsys.readouterr().err
    for bad in (
        "My Lab will not do",
        "'a@b@c' is no address",
        "NUC_1 will not do",
        "there is a nuc1 already",
        "one of kubeadm, k3s",
    ):
        assert bad in said


def test_what_a_scan_found_is_offered_one_by_one() -> None:
    found = [SshServer(IPv4Address(f"192.168.1.{number}"), "SSH-2.0-x") for number in (1, 11)]
    script = Script("-", "ubuntu", "nuc1", "")
    answers = interview.ask(script, found, cluster_name="attic", distribution="k3s")
    assert [(m.name, m.user, m.address) for m in answers.machines] == [("nuc1", "ubuntu", "192.168.1.11")]
    assert answers.control_plane == ""
    assert not [question for question in script.questions if "Kubernetes by" in question]
