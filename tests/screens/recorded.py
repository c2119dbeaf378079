"""Runs on three machines of the lab as their logs have them, without the tasks that changed nothing."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from edgectl.output.jsonl import SCHEMA_VERSION
from edgectl.run import events
from edgectl.run.events import Event, Failure, Status

DATA = Path(__file__).parent / "data"
HOSTS = ("nuc1", "nuc2", "orin1")
# The task that the picture of a bootstrap at work is taken in.
IMPORT = "Images of the control plane, of CoreDNS and of pause"
# What the phases took in the bootstrap before these.
FORMER = {
    "Preflight": 5.5, "Enrol": 13, "Machine": 24, "Network": 18, "Driver": 5.9, "Runtime": 48, "Cluster": 107,
    "GPU": 26, "Verify": 19,
}  # fmt: skip


@cache
def run(name: str) -> tuple[Event, ...]:
    """All events of a run: `bootstrap`, or the `plan` after an option of kubelet was changed."""
    lines = (DATA / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return tuple(_event(json.loads(line)) for line in lines)


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
