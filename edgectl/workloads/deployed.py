"""A workload as it is in the cluster: its objects, how far it is, the way to it, and its log."""

from __future__ import annotations

import shlex
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from edgectl import content
from edgectl.cluster import kubectl, objects
from edgectl.cluster.remote import Login
from edgectl.errors import EdgectlError, UnreachableError, UsageError
from edgectl.inventory import Inventory
from edgectl.ssh import openssh
from edgectl.ssh.forward import Forward, bracketed, forward, free_port
from edgectl.ssh.target import Target
from edgectl.workloads import catalogue

NAMESPACE = "workloads"
LOOPBACK = "127.0.0.1"
# Ports below it are root's.
_UNPRIVILEGED = 1024
# Long enough for a refusal to come back from the node of the pod.
_WAIT_S = 0.5


@dataclass(frozen=True)
class Deployed:
    """Deployment, Service and pods of a workload, and what the events say of its pods.

    target: the control plane that told them, for what comes next.
    """

    name: str
    namespace: str
    deployment: dict[str, Any]
    service: dict[str, Any]
    pods: list[dict[str, Any]]
    events: list[dict[str, Any]]
    target: Target = field(repr=False)

    @property
    def state(self) -> tuple[str, str]:
        """(`ready` | `waiting` | `broken`, why)."""
        verdict, why, _ = content.module_util("edgectl_workload_state").judge(self.deployment, self.pods, self.events)
        return str(verdict), str(why)


def look(inventory: Inventory, login: Login, name: str, namespace: str) -> Deployed:
    """Ask the control plane for it. Raises EdgectlError for one that is not there, UsageError where its name is no
    workload's at all.
    """
    (found, events), target = objects.get(
        inventory,
        login,
        ("deployments,services,pods", "--all-namespaces", "--selector", _selector(name)),
        ("events", "--namespace", namespace, "--field-selector", "involvedObject.kind=Pod"),
    )
    here = [one for one in found if one["metadata"]["namespace"] == namespace]
    deployment = _first(here, "Deployment")
    pods = [one for one in here if one["kind"] == "Pod"]
    if not deployment and not pods:
        raise _not_there(inventory, name, namespace, {one["metadata"]["namespace"] for one in found})
    return Deployed(name, namespace, deployment, _first(here, "Service"), pods, events, target)


def _selector(name: str) -> str:
    return str(content.module_util("edgectl_workload_labels").selector(name))


def _first(found: Sequence[dict[str, Any]], kind: str) -> dict[str, Any]:
    return next((one for one in found if one["kind"] == kind), {})


def _not_there(inventory: Inventory, name: str, namespace: str, others: set[str]) -> EdgectlError:
    if others:
        return EdgectlError(
            f"{name} is not in namespace {namespace}", f"it is in {', '.join(sorted(others))}", "--namespace NAME"
        )
    catalogue.find(name)
    path = shlex.quote(str(inventory.path))
    there = "" if namespace == NAMESPACE else f" --namespace {namespace}"
    return EdgectlError(f"{name} is not deployed", fix=f"edgectl deploy {name} {path}{there}")


@dataclass(frozen=True)
class Way:
    """A workload's Service behind a port of this machine. taken: the port that it should have had, and somebody has."""

    forward: Forward
    taken: int = 0


@contextmanager
def opened(found: Deployed, port: int = 0) -> Iterator[Way]:
    """Its Service behind a port of this machine for as long as the block runs, through the control plane's SSH.

    port: the local one; 0 takes the Service's own where nobody has it, else any. Raises EdgectlError for what is not
    ready, UsageError for a port that is taken and a control plane that is this machine.
    """
    _, why = found.state
    spec = found.service.get("spec", {})
    if not spec.get("ports") or not (found.deployment.get("status") or {}).get("availableReplicas"):
        raise EdgectlError(f"{found.name} does not answer yet: {why}", fix=f"edgectl logs {found.name}")
    own, address = int(spec["ports"][0]["port"]), str(spec["clusterIP"])
    if found.target.local:
        raise UsageError(
            f"{found.target.name} is this machine, so there is nothing to tunnel",
            "its connection is local",
            f"http://{bracketed(address)}:{own}",
        )
    taken = 0
    if not port and own >= _UNPRIVILEGED:
        try:
            port = free_port(own)
        except UsageError:
            taken = own
    with forward(found.target, own, local_port=port, address=address, ready=_answers) as way:
        yield Way(way, taken)


def _answers(port: int) -> str:
    """Why nothing is behind a forwarded port, or nothing.

    ssh takes every connection, and ends it at once where it leads nowhere.
    """
    try:
        with socket.create_connection((LOOPBACK, port), timeout=5) as sock:
            sock.settimeout(_WAIT_S)
            return "" if sock.recv(1) else "its Service takes no connection"
    except TimeoutError:
        # It waits for a question.
        return ""
    except OSError as error:
        return str(error.strerror or error)


@dataclass(frozen=True)
class Log:
    """Which lines are wanted. tail: so many of the last ones of each pod; None for all."""

    follow: bool = False
    tail: int | None = None
    previous: bool = False


def logs(inventory: Inventory, found: Deployed, wanted: Log) -> int:
    """Let kubectl print its log, with the pod before each line where there are several; kubectl's exit code.

    Raises EdgectlError where nothing has said anything yet, with the reason.
    """
    pods = [pod["metadata"]["name"] for pod in found.pods if _speaks(pod, previous=wanted.previous)]
    if not pods:
        raise _silent(inventory, found, wanted)
    options = ["--namespace", found.namespace, f"--tail={-1 if wanted.tail is None else wanted.tail}"]
    options += ["--follow"] if wanted.follow else []
    options += ["--previous"] if wanted.previous else []
    if len(found.pods) == 1:
        options.append(pods[0])
    else:
        # One that has nothing to say must not keep the others from it.
        options += ["--selector", _selector(found.name), "--prefix", "--ignore-errors"]
        options.append(f"--max-log-requests={len(found.pods)}")
    code = kubectl.stream(kubectl.command_line(inventory, ["logs", *options]), found.target)
    if code == openssh.CONNECTION_FAILED:
        raise UnreachableError(f"the connection to {found.target.name} has ended", "ssh says why, above")
    return code


def _speaks(pod: dict[str, Any], *, previous: bool) -> bool:
    """Whether a container of it has begun; previous: whether one has ended before the present one."""
    statuses = pod.get("status", {}).get("containerStatuses") or []
    ended = any((status.get("lastState") or {}).get("terminated") for status in statuses)
    if previous:
        return ended
    return ended or any({"running", "terminated"} & set(status.get("state") or {}) for status in statuses)


def _silent(inventory: Inventory, found: Deployed, wanted: Log) -> EdgectlError:
    verdict, why = found.state
    if wanted.previous and any(_speaks(pod, previous=False) for pod in found.pods):
        return UsageError(
            f"{found.name} has no former log", "no container of it has been restarted", "leave out --previous"
        )
    path = shlex.quote(str(inventory.path))
    return EdgectlError(
        f"{found.name} has no log yet: {why}",
        fix="" if verdict == "waiting" else f"edgectl deploy {found.name} {path}",
    )
