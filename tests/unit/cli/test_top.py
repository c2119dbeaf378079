"""`edgectl top`: hosts that are this machine, an API in a file; and the table at two widths."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from edgectl.cluster import top as library
from edgectl.cluster.top import Host, Slots, Top
from edgectl.output.top import lines
from edgectl.ssh.probe import ProbeFailure
from edgectl.ssh.result import Trouble
from tests.unit.workloads.cluster import node

from .api import Api, pod
from .conftest import Answer

Edgectl = Callable[..., Answer]
OLLAMA = "workloads/ollama-5c7d9fbb6b-abcde"
HOSTS = (
    Host("nuc1", platform="cpu", memory_mib=(3100, 7900), requested_mib=900, workloads=()),
    Host(
        "orin1", platform="jetson", simulated=True, slots=Slots("nvidia.com/gpu.shared", 4, {OLLAMA: 1}),
        gpu_mib=(1044, None), gpu_processes={"ollama": 1024}, memory_mib=(12400, 15600), requested_mib=1843,
        workloads=("ollama",), temperature_c=51.25, power_w=7.5, power_of="board",
    ),
    Host(
        "gpu-with-a-long-name", platform="dgpu", slots=Slots("nvidia.com/gpu", 1, {}), gpu_mib=(3111, 12282),
        memory_mib=(20000, 64000), requested_mib=0, workloads=(), temperature_c=61, power_w=138.2, power_of="gpus",
    ),
    Host("nuc9", silent="no route to host"),
)  # fmt: skip


def test_the_table_fits_80_columns_and_what_does_not_fit_stands_below() -> None:
    shown = list(lines(Top(HOSTS, {}), 80))
    assert max(map(len, shown)) <= 80
    (orin,) = [line for line in shown if line.startswith("  orin1  ")]
    for cell in ("1/4 simulated", "1.0 ", "12.1/15.2", "1.8 GiB", "51 °C", "7.5 W"):
        assert cell in orin
    assert "  orin1 runs ollama" in shown
    assert any(f"nvidia.com/gpu.shared held by {OLLAMA}" in line for line in shown)
    assert "  nuc9 does not answer: no route to host" in shown
    assert any("3.0/12.0" in line and "138 W GPU" in line for line in shown)


def test_a_wide_terminal_has_it_all_in_the_table() -> None:
    shown = list(lines(Top(HOSTS, {}), 145))
    assert max(map(len, shown)) <= 145
    assert shown[0].endswith("GPU HELD BY")
    assert any(line.endswith(f"ollama     {OLLAMA}") for line in shown)
    assert not any("orin1 runs" in line for line in shown)


@pytest.fixture
def one_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = library.observe

    def observe(*words: Any, **options: Any) -> dict[str, Any]:
        return {**asked(*words, **options), "nuc2": ProbeFailure("nuc2", Trouble.UNREACHABLE, "no route to host")}

    monkeypatch.setattr(library, "observe", observe)


def test_hosts_and_the_api_are_put_together(edgectl: Edgectl, inventory: Path, api: Api) -> None:
    held = {"containers": [{"resources": {"limits": {"nvidia.com/gpu": "1"}, "requests": {"memory": "600Mi"}}}]}
    ended = pod("ollama-0", {"phase": "Succeeded"}, nodeName="orin1", **held)
    api.has(
        {"kind": "Node", **node("orin1", 8, gpus=2)},
        pod("ollama-1", {"phase": "Running"}, nodeName="orin1", **held),
        ended,
    )
    answer = edgectl("top", inventory, "--json")
    assert answer.code == 0, answer.err
    hosts = json.loads(answer.out)["hosts"]
    assert hosts["orin1"]["slots"] == {
        "resource": "nvidia.com/gpu",
        "offered": 2,
        "held_by": {"workloads/ollama-1": 1},
    }
    assert (hosts["orin1"]["requested_mib"], hosts["orin1"]["workloads"]) == (600, ["ollama"])
    assert hosts["nuc1"]["slots"] is None
    assert hosts["nuc1"]["memory_mib"][1] == hosts["nuc1"]["measured"]["memory"]["total_kib"] // 1024


@pytest.mark.usefixtures("one_silent")
def test_a_silent_host_is_a_line_and_an_exit_code(edgectl: Edgectl, inventory: Path, api: Api) -> None:
    api.has({"kind": "Node", **node("nuc2", 8)})
    answer = edgectl("top", inventory)
    assert answer.code == 4
    assert "nuc2 does not answer: no route to host" in answer.out
    assert "  orin1 " in answer.out


def test_without_an_api_the_hosts_are_still_shown(edgectl: Edgectl, inventory: Path, api: Api) -> None:
    api.file.write_text("no JSON")
    answer = edgectl("top", inventory)
    assert answer.code == 0
    assert "slots, requests and workloads are not known: nuc1 does not tell of a cluster" in answer.out
    assert "  orin1 " in answer.out
