"""The command line of tests/unit/cli."""

from tests.unit.cli.conftest import edgectl, inventory, playbook

__all__ = ["edgectl", "inventory", "playbook"]
