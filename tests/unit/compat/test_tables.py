"""The tables: each entry has its source, they agree with what runs on the hosts, and a new row is enough."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest
import yaml

from edgectl import content
from edgectl.compat import tables
from edgectl.compat.tables import Entry, Release, Source, numbers
from edgectl.compat.verdict import OPTION_OF_MODULE, line_of, release_of, verdicts
from edgectl.errors import EdgectlError
from edgectl.output import compat as output
from edgectl.recording import catalogue

from .conftest import board, change

# isort: split
import edgectl_probe
from edgectl_checks.machine import SUPPORTED_ARCHITECTURES, SUPPORTED_SYSTEMS, jetpack_is_supported
from edgectl_checks.model import HostState
from edgectl_checks.versions import HARD_MINIMUM, TESTED

RELEASES = tables.shipped().jetpack.releases
JETSONS = [name for name in catalogue.names() if catalogue.load(name).is_jetson]
NEW_RELEASE = """releases:
  - l4t: "39.9.1"
    jetpack: "7.9"
    ubuntu: "24.04"
    kernel: "6.8.99-tegra"
    cuda: "13.9"
    boards: [Orin, Thor]
    level: supported
    why: it has just come out
    sources: [policy]
"""


@pytest.mark.parametrize(("file", "entry", "sources"), list(tables.shipped().entries()))
def test_every_entry_has_sources_that_somebody_has_read_by_now(
    file: str, entry: Entry, sources: tuple[Source, ...]
) -> None:
    assert sources
    assert all(len(source.text) > 10 and source.date <= f"{datetime.date.today():%Y-%m}" for source in sources)


@pytest.mark.parametrize(
    ("name", "old", "new", "trouble"),
    [
        ("jetpack", "sources: [jetson_stats", "sources: [hearsay", "no source is called hearsay"),
        ("jetpack", "    level: supported\n", "    level: splendid\n", "level"),
        ("drivers", ", sources: [minor_compatibility]}", "}", "sources"),
        ("drivers", "sources:\n", "sources:\n  other: {text: nobody, date: '2026-01'}\n", "from the source other"),
        ("drivers", '    date: "2026-08"', "    date: lately", "date"),
        ("kernel", "[calico, cilium]", "[calico, antrea]", "antrea"),
        ("kernel", "absent: [NETFILTER_XT_MATCH_COMMENT,", "absent: [CFS_BANDWIDTH,", "CFS_BANDWIDTH twice"),
        ("kubernetes", '- {kubernetes: "1.36"', '- {kubernetes: "newest"', "kubernetes"),
        ("systems", "systems:\n  -", "systems: -", "systems"),
    ],
)
def test_a_damaged_table_is_refused_with_what_is_wrong(
    own_tables: Path, name: str, old: str, new: str, trouble: str
) -> None:
    change(own_tables / f"{name}.yml", old, new)
    with pytest.raises(EdgectlError) as refusal:
        tables.load(own_tables)
    assert trouble in refusal.value.why


def test_a_new_release_needs_its_row_and_nothing_else(own_tables: Path) -> None:
    change(own_tables / "jetpack.yml", "releases:\n", NEW_RELEASE)
    known = tables.load(own_tables)
    host = {"jetson": {"l4t": "39.9.1", "model": "a board"}, "kernel": {}}
    assert release_of("39.9.1") is None
    assert verdicts(host).level == "unknown"
    assert release_of("39.9.1", known) == known.jetpack.releases[0]
    said = verdicts(host, known)
    assert (said.level, said.why) == ("supported", "it has just come out")
    assert said.line == known.kernel.lines[0]
    assert any(line.split()[:2] == ["39.9.1", "7.9"] for line in output.lines(known, width=80))


def test_releases_and_kernels_stand_newest_first_and_once() -> None:
    for versions in (
        [row.l4t for row in RELEASES],
        [line.since for line in tables.shipped().kernel.lines],
        [row.kubernetes for row in tables.shipped().kubernetes.minimum],
        [row.kubernetes for row in tables.shipped().kubernetes.tested],
    ):
        assert versions == sorted(set(versions), key=numbers, reverse=True)


@pytest.mark.parametrize("release", RELEASES, ids=lambda release: release.l4t)
def test_the_probe_on_a_host_gives_a_release_the_same_name(release: Release) -> None:
    said = [name for prefix, name in edgectl_probe.JETPACK_OF_L4T if f"{release.l4t}.".startswith(f"{prefix}.")]
    assert said[:1] == [release.jetpack]


@pytest.mark.parametrize("release", RELEASES, ids=lambda release: release.l4t)
def test_the_check_before_a_bootstrap_says_the_same_of_a_release(release: Release) -> None:
    finding = jetpack_is_supported(HostState("orin1", {"jetson": {"l4t": release.l4t, "jetpack": None}}, {}))
    severity = finding.severity if finding else None
    assert severity == {"supported": None, "best effort": "warning", "refused": "error"}[release.level]


@pytest.mark.parametrize("release", [row for row in RELEASES if row.level == "supported"], ids=lambda row: row.l4t)
def test_the_kernel_of_a_supported_release_is_known_and_carries_what_bootstrap_sets_up(release: Release) -> None:
    line = line_of(release)
    assert line is not None
    assert release.kernel.startswith(line.kernel)
    judged = {one.feature.id: one.possible for one in verdicts({"jetson": {"l4t": release.l4t}, "kernel": {}}).features}
    assert judged["pod_network"] is True
    assert judged["kube_proxy_iptables"] is True


def test_a_release_between_two_kernels_that_were_read_has_no_kernel() -> None:
    release = release_of("36.3.0")
    assert release is not None
    assert line_of(release) is None


def test_the_probe_reads_every_option_that_a_feature_needs() -> None:
    needed = {option for feature in tables.shipped().kernel.features for option in feature.needs}
    assert needed - set(edgectl_probe.KERNEL_OPTIONS) == set()
    assert {f"CONFIG_{option}" for option in OPTION_OF_MODULE.values()} == set(edgectl_probe.CONFIG_OF_MODULE.values())
    assert set(OPTION_OF_MODULE) == set(edgectl_probe.CONFIG_OF_MODULE)


@pytest.mark.parametrize("name", JETSONS)
def test_the_table_and_a_recorded_board_agree_on_every_option(name: str) -> None:
    document = board(name)
    release = release_of(document["jetson"]["l4t"])
    assert release is not None
    line = line_of(release)
    assert line is not None
    config = document["kernel"]["config"]
    assert {option: f"CONFIG_{option}" in config for option in line.options} == line.options


def test_containerd_minima_are_those_that_the_checks_apply() -> None:
    known = tables.shipped().kubernetes
    assert tuple((row.kubernetes, row.containerd) for row in known.minimum) == HARD_MINIMUM
    assert [(row.kubernetes, list(row.containerd)) for row in known.tested] == [
        (kubernetes, list(series.values())) for kubernetes, series in TESTED
    ]


def test_the_systems_are_those_that_role_and_checks_let_pass() -> None:
    known = tables.shipped().systems
    named: dict[str, set[str]] = {}
    for row in known.systems:
        named.setdefault(row.id, set()).add(row.version)
    role = yaml.safe_load((content.root() / "roles/machine/vars/main.yml").read_text())["__machine_supported_systems"]
    assert named == {name: set(versions) for name, versions in role.items()}
    assert named == {name: set(versions) for name, versions in SUPPORTED_SYSTEMS.items()}
    assert {row.name for row in known.architectures} == set(SUPPORTED_ARCHITECTURES)
