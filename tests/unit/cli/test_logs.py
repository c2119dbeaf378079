"""`edgectl logs`, with an API in a file and a control plane that is this machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .api import Api, deployment, pod
from .conftest import Answer

Edgectl = Callable[..., Answer]
PENDING = {
    "phase": "Pending",
    "conditions": [{"type": "PodScheduled", "status": "False", "message": "0/3 nodes: Insufficient nvidia.com/gpu"}],
}
RUNNING: dict[str, Any] = {"phase": "Running", "containerStatuses": [{"state": {"running": {}}}]}


def test_the_only_pod_is_named_and_the_options_are_passed_on(edgectl: Edgectl, inventory: Path, api: Api) -> None:
    api.has(deployment("ollama"), pod("ollama-1", RUNNING))
    answer = edgectl("logs", "ollama", inventory, "--tail", "3", "-f")
    assert answer.code == 0, answer.err
    assert answer.out == "logs --namespace workloads --tail=3 --follow ollama-1\n"


def test_of_several_pods_each_line_has_its_pod(edgectl: Edgectl, inventory: Path, api: Api) -> None:
    api.has(deployment("ollama"), pod("ollama-1", RUNNING), pod("ollama-2", PENDING))
    out = edgectl("logs", "ollama", inventory).out
    assert "--tail=-1 --selector app.kubernetes.io/name=ollama,app.kubernetes.io/part-of=edgectl-workloads" in out
    assert "--prefix --ignore-errors --max-log-requests=2" in out


@pytest.mark.parametrize(
    ("objects", "words", "code"),
    [
        ([], ("error: ollama is not deployed", "fix: edgectl deploy ollama {inventory}"), 1),
        ([deployment("ollama", "other")], ("ollama is not in namespace workloads", "it is in other"), 1),
        ([deployment("ollama")], ("ollama has no log yet: ollama has no pod yet",), 1),
        (
            [deployment("ollama", available=0), pod("ollama-1", PENDING)],
            ("no log yet: ollama-1 is Pending: 0/3 nodes: Insuff",),
            1,
        ),
    ],
)
def test_where_there_is_nothing_to_read_the_reason_is_told(
    edgectl: Edgectl, inventory: Path, api: Api, objects: list[dict[str, Any]], words: tuple[str, ...], code: int
) -> None:
    api.has(*objects)
    answer = edgectl("logs", "ollama", inventory)
    assert (answer.code, answer.out) == (code, "")
    for word in words:
        assert word.format(inventory=inventory) in answer.err


def test_a_former_log_needs_a_restart(edgectl: Edgectl, inventory: Path, api: Api) -> None:
    api.has(deployment("ollama"), pod("ollama-1", RUNNING))
    answer = edgectl("logs", "ollama", inventory, "--previous")
    assert answer.code == 2
    assert "no container of it has been restarted" in answer.err
    status = {"state": {"running": {}}, "lastState": {"terminated": {"exitCode": 1}}}
    api.has(deployment("ollama"), pod("ollama-1", {"phase": "Running", "containerStatuses": [status]}))
    assert edgectl("logs", "ollama", inventory, "--previous").out.endswith("--previous ollama-1\n")


def test_what_is_neither_deployed_nor_in_the_catalogue_has_a_suggestion(
    edgectl: Edgectl, inventory: Path, api: Api
) -> None:
    answer = edgectl("logs", "olama", inventory)
    assert answer.code == 2
    assert "did you mean ollama?" in answer.err


def test_kubectls_exit_code_comes_back(edgectl: Edgectl, inventory: Path, api: Api) -> None:
    api.has(deployment("ollama"), pod("ollama-1", RUNNING), code=3)
    assert edgectl("logs", "ollama", inventory).code == 3
