"""The fixtures of the end-to-end tests, for those that take too long to be run after every change."""

from __future__ import annotations

from tests.e2e.conftest import cluster, lab, machine_before, nodes_before

__all__ = ["cluster", "lab", "machine_before", "nodes_before"]
