"""What the pictures need of a run on the lab: `python -m tests.screens.keep RUN_DIRECTORY bootstrap|plan`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tests.screens.recorded import DATA, HOSTS, IMPORT

_WHOLE = ("phase_started", "phase_finished", "tally", "restarted")


def kept(happened: Iterable[dict[str, Any]], without: frozenset[str]) -> Iterator[dict[str, Any]]:
    """The events that a picture shows: phases, each host's first task in them, imports, and what was changed.

    without: fields of what was changed that it has no use for.
    """
    waiting: set[str] = set()
    for event in happened:
        kind = event["kind"]
        if kind == "phase_started":
            waiting = set(HOSTS)
        if kind in _WHOLE:
            yield event
        elif kind == "host_started" and (event["task"] == IMPORT or event["host"] in waiting):
            waiting.discard(event["host"])
            yield event
        elif kind == "host_done" and event["status"] == "changed":
            yield {key: value for key, value in event.items() if key not in without}


def main(directory: Path, name: str) -> None:
    lines = (directory / "events.jsonl").read_text(encoding="utf-8").splitlines()
    without = frozenset({"result"} if name == "plan" else {"result", "diff"})
    short = (json.dumps(event) + "\n" for event in kept(map(json.loads, lines), without))
    (DATA / f"{name}.jsonl").write_text("".join(short), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
