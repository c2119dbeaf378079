"""Pods talk across nodes through flannel's VXLAN, which goes through the tunnel, and only through it."""

from tests.e2e.test_2_network import (
    pods,
    test_a_lan_host_gets_nothing_through_a_node_into_the_tunnel,
    test_a_pod_reaches_a_lan_host_that_has_no_route_to_pods,
    test_a_service_name_resolves_and_answers_on_every_node,
    test_nothing_for_a_node_that_is_gone_leaves_by_the_default_route,
    test_pod_traffic_goes_through_wireguard_on_both_ends,
    test_pods_on_different_nodes_reach_each_other_by_address_and_nobody_translates_it,
)

__all__ = [
    "pods",
    "test_a_lan_host_gets_nothing_through_a_node_into_the_tunnel",
    "test_a_pod_reaches_a_lan_host_that_has_no_route_to_pods",
    "test_a_service_name_resolves_and_answers_on_every_node",
    "test_nothing_for_a_node_that_is_gone_leaves_by_the_default_route",
    "test_pod_traffic_goes_through_wireguard_on_both_ends",
    "test_pods_on_different_nodes_reach_each_other_by_address_and_nobody_translates_it",
]
