"""Reboots, hosts that are down during a run, runs that are killed: the k3s cluster goes on."""

from tests.e2e.test_3_recovery import (
    test_a_limited_run_while_another_worker_is_down_changes_nobodys_peers,
    test_all_nodes_rebooted_at_once_are_ready_again_by_themselves,
    test_an_unreachable_worker_does_not_stop_the_others,
)
from tests.e2e.test_4_grow import test_a_new_worker_joins_alone_and_appears_on_its_peers
from tests.e2e.test_4c_kills import test_runs_killed_at_random_moments_end_where_an_undisturbed_one_does

__all__ = [
    "test_a_limited_run_while_another_worker_is_down_changes_nobodys_peers",
    "test_a_new_worker_joins_alone_and_appears_on_its_peers",
    "test_all_nodes_rebooted_at_once_are_ready_again_by_themselves",
    "test_an_unreachable_worker_does_not_stop_the_others",
    "test_runs_killed_at_random_moments_end_where_an_undisturbed_one_does",
]
