"""Who uses what: a table with a line a host that fits the terminal, and below it what does not fit into one."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from edgectl.cluster.top import Host, Top
from edgectl.output.jsonl import SCHEMA_VERSION
from edgectl.output.summary import table
from edgectl.ssh.probe import ProbeFailure

_HEADER = ("HOST", "GPU SLOTS", "GPU GiB", "RAM GiB", "REQUESTED", "TEMP", "POWER")
_WIDE = (*_HEADER, "WORKLOADS", "GPU HELD BY")
_POWER = {"board": "", "rails": "", "gpus": " GPU"}
_MOST_PROCESSES = 4


def lines(top: Top, width: int) -> Iterator[str]:
    """The table; with who holds the GPUs and what runs in it where that fits, else below it."""
    answering = [host for host in top.hosts if not host.silent or host.requested_mib is not None]
    wide = list(table(_WIDE, [(*_row(host), _workloads(host), _holders(host)) for host in answering]))
    fits = all(len(line) <= width for line in wide)
    if answering:
        yield from wide if fits else _narrow(answering, width)
    notes = [note for host in top.hosts for note in _notes(host, told=fits)]
    if top.no_api:
        notes.append(f"slots, requests and workloads are not known: {top.no_api}")
    if answering and notes:
        yield ""
    for note in notes:
        yield from textwrap.wrap(note, width, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)


def document(top: Top) -> dict[str, Any]:
    """The same as one JSON document, with all that the hosts measured under `measured`."""
    hosts = {
        host.name: {
            **{key: value for key, value in asdict(host).items() if key != "name"},
            "measured": None if isinstance(answer, ProbeFailure) else answer,
        }
        for host in top.hosts
        for answer in (top.answers[host.name],)
    }
    return {"schema_version": SCHEMA_VERSION, "kind": "top", "hosts": hosts, "no_api": top.no_api}


def _narrow(hosts: list[Host], width: int) -> Iterator[str]:
    rows = [_row(host) for host in hosts]
    too_wide = max(len(line) for line in table(_HEADER, rows)) - width
    longest = max(max(len(host.name) for host in hosts) - max(too_wide, 0), 4)
    for row in rows:
        if len(row[0]) > longest:
            row[0] = row[0][: longest - 1] + "…"
    yield from table(_HEADER, rows)


def _row(host: Host) -> list[str]:
    return [
        host.name,
        _slots(host),
        _gpu_memory(host),
        _of(*host.memory_mib) if host.memory_mib else "-",
        _size(host.requested_mib) if host.requested_mib is not None else "-",
        f"{host.temperature_c:.0f} °C" if host.temperature_c is not None else "-",
        f"{_watts(host.power_w)} W{_POWER[host.power_of]}" if host.power_w is not None else "-",
    ]


def _slots(host: Host) -> str:
    """`1/4`: used of offered; a simulated GPU computes nothing."""
    if host.slots is None:
        return "-"
    return f"{host.slots.used}/{host.slots.offered}{' simulated' if host.simulated else ''}"


def _gpu_memory(host: Host) -> str:
    if host.gpu_mib is None:
        return "-"
    used, total = host.gpu_mib
    return f"{used / 1024:.1f}" if total is None else _of(used, total)


def _workloads(host: Host) -> str:
    return ", ".join(host.workloads or ()) or "-"


def _holders(host: Host) -> str:
    return ", ".join(_held(host)) or "-"


def _held(host: Host) -> list[str]:
    if host.slots is None:
        return []
    return [pod if number == 1 else f"{pod} ({number})" for pod, number in sorted(host.slots.held_by.items())]


def _notes(host: Host, *, told: bool) -> Iterator[str]:
    """told: whether the table has its workloads and who holds its GPU."""
    if host.silent:
        yield f"{host.name} does not answer: {host.silent}"
    if not told and host.workloads:
        yield f"{host.name} runs {_workloads(host)}"
    if not told and host.slots and host.slots.held_by:
        yield f"{host.name}: {host.slots.resource} held by {_holders(host)}"
    most = sorted(host.gpu_processes.items(), key=lambda one: -one[1])[:_MOST_PROCESSES]
    if most:
        yield f"{host.name}: GPU memory of {', '.join(f'{name} {_size(mib)}' for name, mib in most)}"


def _size(mib: int) -> str:
    return f"{mib} MiB" if mib < 1000 else f"{mib / 1024:.1f} GiB"


def _of(used: int, total: int) -> str:
    return f"{used / 1024:.1f}/{total / 1024:.1f}"


def _watts(power: float) -> str:
    return f"{power:.{1 if power < 100 else 0}f}"
