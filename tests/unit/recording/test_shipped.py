"""The recordings that edgectl brings along: what the probe, the checks and the roles say about each board."""

from __future__ import annotations

import time
from dataclasses import dataclass

import pytest

from edgectl import content
from edgectl.recording import catalogue
from tests.unit.checks.conftest import OPTIONS

# isort: split
from edgectl_checks import run_checks


@dataclass(frozen=True)
class Board:
    """What is to be said about a recorded board before anything was done to it.

    wireguard: whether its kernel has the module. iptables: what role machine makes of the backend, `keep` for
    nothing. findings: of all checks, by id and severity.
    """

    platform: str | None
    python: str
    cgroup: int
    wireguard: bool
    backend: str
    iptables: str
    findings: frozenset[tuple[str, str]] = frozenset()


BOARDS = {
    "nuc-ubuntu24.04": Board(None, "3.12", 2, True, "nft", "keep"),
    "pc-gpu-debian12": Board(None, "3.11", 2, True, "nft", "keep"),
    "turing-rk1": Board(None, "3.12", 2, True, "nft", "keep"),
    # R36 has nf_tables without its compatibility layer, so iptables-nft, Ubuntu's default, is of no use there.
    "orin-nx-jp6.2": Board("6.2", "3.10", 2, False, "nft", "legacy"),
    "thor-jp7": Board(
        "7.0", "3.12", 2, False, "nft", "legacy", frozenset({("M-JETPACK-UNSUPPORTED", "warning")})
    ),
    # Ubuntu 20.04 boots with cgroup v1: kubelet 1.35 refuses it, and swap can't be kept away from pods.
    "orin-nano-jp5.1": Board(
        "5.1.2", "3.8", 1, False, "legacy", "legacy",
        frozenset({("M-JETPACK-UNSUPPORTED", "warning"), ("M-CGROUP-V1", "error"), ("M-SWAP-ZRAM", "warning")}),
    ),
}  # fmt: skip


@pytest.fixture(scope="module", params=catalogue.names())
def name(request):
    return request.param


@pytest.fixture(scope="module")
def recording(name):
    return catalogue.load(name)


@pytest.fixture(scope="module")
def document(recording):
    return recording.replay()


def test_every_recording_has_its_expectations_here(name):
    assert name in BOARDS


def test_it_says_that_it_is_constructed_and_from_what(recording):
    assert recording.kind == "constructed"
    assert len(recording.sources) >= 3
    assert recording.document == {}


def test_the_probe_reads_all_of_it(document):
    assert document["errors"] == []
    missing = [
        section for section in ("kernel", "os", "memory", "disks", "network", "packages") if not document[section]
    ]
    assert missing == []


def test_the_probe_sees_the_board(name, document):
    board = BOARDS[name]
    assert (document["jetson"] or {}).get("jetpack") == board.platform
    assert document["os"]["python"].startswith(board.python + ".")
    assert document["cgroup"]["version"] == board.cgroup
    assert document["firewall"]["iptables_backend"] == board.backend


def test_the_kernel_has_what_pods_need_and_wireguard_only_where_it_really_is(name, document):
    available = dict(document["kernel"]["module_available"])
    assert available.pop("wireguard") is BOARDS[name].wireguard
    assert set(available.values()) == {True}
    assert document["kernel"]["tun"] is True  # wireguard-go needs it
    assert ("CONFIG_IP_SET" in document["kernel"]["config"]) is (document["jetson"] is None)


def test_the_checks_find_what_is_wrong_with_the_board_and_nothing_else(name, document):
    options = {**OPTIONS, "group_names": ["cluster", "workers"], "edgectl_state": {}, "edgectl_state_cluster": {}}
    found = run_checks({name: document}, {name: options}, time.time())
    assert {(finding.id, finding.severity) for finding in found} == BOARDS[name].findings


def test_all_boards_together_get_in_nobodys_way_but_for_what_recordings_share():
    """Machine-id and host name are placeholders: two recordings in one inventory look like clones, and only so."""
    documents = {name: catalogue.load(name).replay() for name in catalogue.names()}
    options = {**OPTIONS, "group_names": ["cluster", "workers"], "edgectl_state": {}, "edgectl_state_cluster": {}}
    found = run_checks(documents, dict.fromkeys(documents, options), time.time())
    known = {finding for board in BOARDS.values() for finding, _ in board.findings}
    assert {finding.id for finding in found} - known == {"I-MACHINE-ID-DUPLICATE", "I-HOSTNAME-DUPLICATE"}


@pytest.fixture(scope="module")
def chosen(document):
    """A variable of a role as Ansible renders it for a host with this document."""
    from ansible.parsing.dataloader import DataLoader
    from ansible.template import Templar

    def render(role, variable):
        loader = DataLoader()
        files = [content.root() / "roles" / role / part / "main.yml" for part in ("defaults", "vars")]
        loaded = [loader.load_from_file(str(file), trusted_as_template=True) for file in files]
        variables = {
            **loaded[0],
            **loaded[1],
            "ansible_facts": {"edgectl": document},
            "cluster_distribution": "kubeadm",
        }
        return Templar(loader=loader, variables=variables).template(variables[variable])

    return render


def test_the_roles_choose_what_fits_the_board(name, chosen):
    board = BOARDS[name]
    assert chosen("machine", "__machine_iptables_wanted") == board.iptables
    assert chosen("machine", "__machine_swap_is_off") is (board.cgroup == 1)
    assert chosen("wireguard", "__wireguard_needs_userspace") is (not board.wireguard)


def test_the_listing_shows_every_recording_with_its_kind():
    lines = catalogue.table().splitlines()
    assert [line.split()[0] for line in lines] == catalogue.names()
    assert all("constructed" in line for line in lines)
