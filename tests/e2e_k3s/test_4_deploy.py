"""Ollama from the catalogue on k3s: it answers through the GPU's pod, and goes with what it brought."""

from tests.e2e.test_2c_deploy import (
    test_deployed_again_nothing_is_changed,
    test_it_is_reached_from_this_machine_until_ctrl_c,
    test_its_data_outlives_it_until_it_is_purged,
    test_ollama_answers_from_a_pod_that_holds_the_gpu,
    test_words_come_through_the_tunnel_while_the_answer_is_still_being_made,
)

__all__ = [
    "test_deployed_again_nothing_is_changed",
    "test_it_is_reached_from_this_machine_until_ctrl_c",
    "test_its_data_outlives_it_until_it_is_purged",
    "test_ollama_answers_from_a_pod_that_holds_the_gpu",
    "test_words_come_through_the_tunnel_while_the_answer_is_still_being_made",
]
