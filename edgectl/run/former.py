"""How long the phases took the last time: what an estimate of the time left is made of."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from edgectl.run.log import directories


def phase_times(verb: str, hosts: int, base: Path | None = None) -> dict[str, float]:
    """Phase -> seconds in the last successful run of this verb over so many hosts; empty where there was none."""
    for directory in reversed(directories(base)):
        if directory.name.endswith(f"Z-{verb}") and (times := _times(directory / "events.jsonl", hosts)):
            return times
    return {}


def _times(file: Path, hosts: int) -> dict[str, float]:
    seconds: dict[str, float] = {}
    tally: Mapping[str, Mapping[str, int]] = {}
    try:
        for event in _events(file):
            if event["kind"] == "tally":
                tally = event["hosts"]
            elif event["kind"] == "phase_finished":
                seconds[event["phase"]] = seconds.get(event["phase"], 0.0) + float(event["seconds"])
        # A run that was stopped has no tally.
        good = len(tally) == hosts and not any(counts["failures"] or counts["dark"] for counts in tally.values())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}  # an estimate is a courtesy: a log that cannot be read is none
    return seconds if good else {}


def _events(file: Path) -> Iterator[dict[str, Any]]:
    with file.open(encoding="utf-8") as stream:
        for line in stream:
            # Most of thousands of lines are tasks; only these few are worth parsing.
            if '"kind": "phase_finished"' in line or '"kind": "tally"' in line:
                yield json.loads(line)
