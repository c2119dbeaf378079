"""The enrolled hosts of tests/unit/cluster."""

from tests.unit.cluster.conftest import lab

__all__ = ["lab"]
