"""A new agent joins with `--limit`, and nothing restarts elsewhere."""

from tests.e2e.test_4_grow import test_a_new_worker_joins_alone_and_appears_on_its_peers

__all__ = ["test_a_new_worker_joins_alone_and_appears_on_its_peers"]
