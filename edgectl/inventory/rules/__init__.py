"""What must hold in an inventory before any host is contacted. Each rule yields its problems; all are shown at once."""

from __future__ import annotations

from edgectl.errors import UsageError
from edgectl.inventory.model import Inventory
from edgectl.inventory.rules import hosts, membership, networks, settings

RULES = (
    membership.problems,
    hosts.problems,
    settings.problems,
    networks.problems,
)


def check(inventory: Inventory) -> list[UsageError]:
    """All problems of an inventory, in the order in which a user should mend them."""
    found: dict[str, UsageError] = {}
    for rule in RULES:
        for problem in rule(inventory):
            found.setdefault(problem.what, problem)  # one line of a group's variables, met at each of its hosts
    return list(found.values())
