"""`edgectl bootstrap`: half way, and with a failure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from edgectl.cluster.session import Session
from edgectl.cluster.verb import Outcome
from edgectl.inventory import load
from edgectl.output import summary
from edgectl.output.live import LiveRenderer
from edgectl.run.events import Event, Failure, HostDone, Status, Tally
from edgectl.run.result import Gatherer
from edgectl.ssh.secrets import Secrets
from tests.screens import recorded

_SAMPLE = Path(__file__).resolve().parents[2] / "inventory"
_LOG = Path("~/.local/state/edgectl/runs/20261121T110033.032Z-bootstrap/run.log")

# containerd on orin1 does not like its configuration. The task is one that the recording has.
_TASK = "Restart containerd"
_MESSAGE = (
    "Unable to restart service containerd: Job for containerd.service failed because the control process exited with "
    "error code."
)
_JOURNAL = ["containerd: containerd: failed to load TOML: /etc/containerd/config.toml: (12, 3): unexpected token"]


def bootstrap(console: Console) -> None:
    """Images are being imported on all three."""
    _typed(console, "edgectl bootstrap inventory")
    _play(console, recorded.until(114), seconds=114)


def failure(console: Console) -> None:
    """The same run with one failure put in: orin1 stops in phase Runtime, the others go on to the end."""
    _typed(console, "edgectl bootstrap inventory")
    happened = list(_with_failure(recorded.bootstrap()))
    _play(console, happened, seconds=happened[-1].time - recorded.started())
    console.print()
    for line in summary.lines(_outcome(happened)):
        console.print(line)


def _typed(console: Console, command: str) -> None:
    console.print("$", style="dim", end=" ")
    console.print(command, style="bold")


def _play(console: Console, happened: Iterable[Event], *, seconds: float) -> None:
    renderer = LiveRenderer(
        phases=recorded.FORMER,
        hosts=recorded.HOSTS,
        former=recorded.FORMER,
        console=console,
        clock=lambda: recorded.started() + seconds,
    )
    for event in happened:
        renderer.take(event)
    console.print(renderer.screen())


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


def _outcome(happened: Iterable[Event]) -> Outcome:
    gatherer = Gatherer()
    last = recorded.started()
    for event in happened:
        gatherer.take(event)
        last = event.time
    seconds = last - recorded.started()
    result = gatherer.result(run_id="", rc=2, canceled=False, started=0.0, seconds=seconds, log=_LOG)
    inventory = replace(load(_SAMPLE), path=Path("inventory"))
    session = Session(inventory, Secrets(), {}, recorded.HOSTS)
    return Outcome("bootstrap", session, result, {"orin1": _JOURNAL})
