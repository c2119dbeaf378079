"""A bootstrap of three machines of the lab as its run log has it, without the tasks that changed nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from edgectl.output.jsonl import SCHEMA_VERSION
from edgectl.run import events
from edgectl.run.events import Event, Failure, Status

HOSTS = ("nuc1", "nuc2", "orin1")
# What the phases took in the bootstrap before that one.
FORMER = {
    "Preflight": 3.5, "Enrol": 10.0, "Machine": 12.8, "Network": 20.8, "Runtime": 26.4, "Cluster": 110.7, "Verify": 4.5,
}  # fmt: skip


@cache
def bootstrap() -> tuple[Event, ...]:
    lines = (Path(__file__).parent / "data" / "bootstrap.jsonl").read_text(encoding="utf-8").splitlines()
    return tuple(_event(json.loads(line)) for line in lines)


def started() -> float:
    """Unix time of the first event."""
    return bootstrap()[0].time


def _event(document: dict[str, object]) -> Event:
    """An event back from the JSON that `edgectl.output.jsonl` makes of it."""
    assert document.pop("schema_version") == SCHEMA_VERSION
    kind = "".join(word.capitalize() for word in str(document.pop("kind")).split("_"))
    if "status" in document:
        document["status"] = Status(str(document["status"]))
    if isinstance(failure := document.get("failure"), dict):
        document["failure"] = Failure(**failure)
    event = getattr(events, kind)(**document)
    assert isinstance(event, Event)
    return event


def until(seconds: float) -> Iterator[Event]:
    """What happened in the first seconds."""
    return (event for event in bootstrap() if event.time <= started() + seconds)
