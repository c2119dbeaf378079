"""The command line of tests/unit/cli, for verbs on the cluster."""

from tests.unit.cli.conftest import edgectl, inventory, playbook

__all__ = ["edgectl", "inventory", "playbook"]
