"""Events as core 2.19.14 and ansible-runner 2.4.3 really sent them, for a playbook in which everything happens once.

Four hosts: on nuc1 a loop fails and is ignored and a failure is rescued; nuc2 fails in role containerd; orin1 fails a
hidden task that is ignored and then one delegated to nuc1; gone cannot be reached.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from edgectl.run.events import Event
from edgectl.run.reader import EventReader


@cache
def raw() -> tuple[dict[str, Any], ...]:
    lines = (Path(__file__).parent / "data" / "events.jsonl").read_text().splitlines()
    return tuple(json.loads(line) for line in lines)


@cache
def events() -> tuple[Event, ...]:
    reader = EventReader()
    return tuple(event for one in raw() for event in reader.read(one))
