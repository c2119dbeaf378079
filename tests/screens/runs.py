"""`edgectl bootstrap` half way and with a failure, and `edgectl plan`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from edgectl.cluster.session import Session
from edgectl.cluster.verb import Outcome
from edgectl.inventory import load
from edgectl.inventory.state import HostState, StateFile
from edgectl.output import summary
from edgectl.output.live import LiveRenderer
from edgectl.run.events import Event, Failure, HostDone, HostStarted, Status, Tally
from edgectl.run.result import Gatherer
from edgectl.ssh.secrets import Secrets
from tests.screens import recorded

_SAMPLE = Path(__file__).resolve().parents[2] / "inventory"
_RUNS = Path("~/.local/state/edgectl/runs")

# containerd on orin1 does not like its configuration. The task is one that the recording has.
_TASK = "Running with its present configuration, now and at every boot"
_MESSAGE = (
    "cannot restart containerd.service: Job for containerd.service failed because the control process exited with "
    "error code."
)
_JOURNAL = ["containerd: containerd: failed to load TOML: /etc/containerd/config.toml: (12, 3): unexpected token"]


def bootstrap(console: Console) -> None:
    """Images are being imported on all three."""
    happened = recorded.run("bootstrap")
    now = 8 + max(event.time for event in happened if isinstance(event, HostStarted) and event.task == recorded.IMPORT)
    _play(console, [event for event in happened if event.time <= now], now)


def failure(console: Console) -> None:
    """The same run with one failure put in: orin1 stops in phase Runtime, the others go on to the end."""
    happened = list(_with_failure(recorded.run("bootstrap")))
    _play(console, happened, happened[-1].time)
    outcome = _outcome(happened, rc=2, log="20261122T084716.159Z-bootstrap", journal={"orin1": _JOURNAL})
    _print(console, summary.lines(outcome))


def plan(console: Console) -> None:
    """An option of kubelet was changed for all three."""
    happened = recorded.run("plan")
    _play(console, happened, happened[-1].time)
    _print(console, summary.plan_lines(_outcome(happened, rc=0, log="20261122T085825.673Z-plan")))


def _play(console: Console, happened: Iterable[Event], now: float) -> None:
    renderer = LiveRenderer(
        phases=recorded.FORMER, hosts=recorded.HOSTS, former=recorded.FORMER, console=console, clock=lambda: now
    )
    for event in happened:
        renderer.take(event)
    console.print(renderer.screen())


def _print(console: Console, lines: Iterable[str]) -> None:
    console.print()
    for line in lines:
        console.print(line)


def _with_failure(happened: Iterable[Event]) -> Iterator[Event]:
    failed = False
    for event in happened:
        if isinstance(event, Tally):
            yield replace(event, hosts={**event.hosts, "orin1": {**event.hosts["orin1"], "failures": 1}})
        elif getattr(event, "host", "") != "orin1":
            yield event
        elif not failed and isinstance(event, HostDone) and event.task == _TASK:
            failed = True
            cause = Failure("orin1", "Runtime", _TASK, event.role, event.action, _MESSAGE)
            yield replace(event, status=Status.FAILED, failure=cause)
        elif not failed:
            yield event


def _outcome(
    happened: Sequence[Event], *, rc: int, log: str, journal: Mapping[str, list[str]] | None = None
) -> Outcome:
    gatherer = Gatherer()
    for event in happened:
        gatherer.take(event)
    seconds = happened[-1].time - happened[0].time
    result = gatherer.result(
        run_id="", rc=rc, canceled=False, started=0.0, seconds=seconds, log=_RUNS / log / "run.log"
    )
    known = StateFile(hosts={name: HostState() for name in recorded.HOSTS})
    inventory = replace(load(_SAMPLE), path=Path("inventory"), state=known)
    return Outcome("bootstrap", Session(inventory, Secrets(), {}, recorded.HOSTS), result, journal or {})
