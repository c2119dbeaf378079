"""The questions of `edgectl init`: what the cluster is called, its machines, which one is the control plane, and
who makes a cluster of them.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from edgectl.errors import UsageError
from edgectl.inventory.init import Machine, parse_login
from edgectl.inventory.rules import distribution as distributions
from edgectl.inventory.rules.hosts import DNS_LABEL
from edgectl.ssh.scan import SshServer

_LABEL = "lower-case letters, digits and hyphens"


class Asker(Protocol):
    """Who asks: a terminal, or a test."""

    def answer(self, question: str, default: str = "") -> str:
        """The answer, or the default."""


@dataclass(frozen=True)
class Answers:
    """What is needed to write an inventory. distribution: kubeadm or k3s."""

    machines: list[Machine]
    control_plane: str
    cluster_name: str
    distribution: str


def ask(
    dialog: Asker,
    found: Sequence[SshServer],
    control_plane: str = "",
    cluster_name: str = "",
    distribution: str | None = None,
) -> Answers:
    """Machines one by one, those that were `found` first; what options gave is not asked."""
    cluster_name = cluster_name or _label(dialog, "Name of the cluster:", "homelab")
    machines: list[Machine] = []
    for server in found:
        print(f"{server.address} ({server.banner})", file=sys.stderr)
        user = dialog.answer("  user to log in as (- leaves it out):", machines[-1].user if machines else "-")
        if user != "-":
            _add(dialog, machines, f"{user}@{server.address}")
    print("Your machines, one by one; an empty line ends the list.", file=sys.stderr)
    while login := dialog.answer(f"Machine {len(machines) + 1}, user@address:"):
        _add(dialog, machines, login)
    if len(machines) > 1 and not control_plane:
        names = [machine.name for machine in machines]
        while (control_plane := dialog.answer("Which one runs the Kubernetes API?", names[0])) not in names:
            _say(f"one of {', '.join(names)}")
    if machines and not distribution:
        question = f"Kubernetes by {' or '.join(distributions.MADE)}?"
        while (distribution := dialog.answer(question, distributions.MADE[0])) not in distributions.MADE:
            _say(f"one of {', '.join(distributions.MADE)}")
    return Answers(machines, control_plane, cluster_name, distribution or distributions.MADE[0])


def _add(dialog: Asker, machines: list[Machine], login: str) -> None:
    try:
        machine = parse_login(login, "")
    except UsageError as error:
        _say(f"{error.what}: {error.why}")
        return
    taken = {machine.name for machine in machines}
    name = _label(dialog, f"  its name ({_LABEL}):", _suggestion(machine, taken))
    while name in taken:
        _say(f"there is a {name} already")
        name = _label(dialog, "  its name:", _suggestion(machine, taken))
    machines.append(Machine(name, machine.address, machine.user, machine.port))


def _suggestion(machine: Machine, taken: set[str]) -> str:
    """The host part of its DNS name, else the next free node1, node2 ..."""
    first = machine.address.split(".")[0].lower()
    if DNS_LABEL.fullmatch(first) and not first.isdecimal() and first not in taken:
        return first
    return next(name for number in range(1, len(taken) + 2) if (name := f"node{number}") not in taken)


def _label(dialog: Asker, question: str, default: str) -> str:
    while not DNS_LABEL.fullmatch(answer := dialog.answer(question, default)):
        _say(f"{answer} will not do: {_LABEL}, at most 63, starting and ending with a letter or digit")
    return answer


def _say(text: str) -> None:
    print(f"  {text}", file=sys.stderr)
