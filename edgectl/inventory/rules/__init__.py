"""What must hold in an inventory before any host is contacted. Each rule yields its problems; all are shown at once."""

from __future__ import annotations

from edgectl.inventory.model import Inventory
from edgectl.inventory.problem import Problem
from edgectl.inventory.rules import (
    distribution,
    forms,
    gpus,
    hosts,
    hub,
    membership,
    networks,
    nodes,
    remembered,
    settings,
    versions,
)

RULES = (
    membership.problems,
    hosts.problems,
    settings.problems,
    distribution.problems,
    forms.problems,
    gpus.problems,
    nodes.problems,
    versions.problems,
    networks.problems,
    hub.problems,
    remembered.problems,
)


def check(inventory: Inventory) -> list[Problem]:
    """All problems of an inventory, in the order in which a user should mend them."""
    found: dict[str, Problem] = {}
    for problem in inventory.documents.duplicates:
        found.setdefault(problem.what, problem)
    for rule in RULES:
        for problem in rule(inventory):
            found.setdefault(problem.what, problem)  # one line of a group's variables, met at each of its hosts
    return list(found.values())
