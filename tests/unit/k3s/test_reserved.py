"""How much memory is kept from pods."""

import pytest

from tests.unit.kubeadm.conftest import plugin

reserved = plugin("filter/edgectl_reserved.py").reserved


@pytest.mark.parametrize(
    ("mib", "pods", "kept"),
    [
        (2048, 110, "500Mi"),
        (3956, 110, "950Mi"),  # what is left of 4 GiB on a Jetson Nano
        (7620, 110, "1465Mi"),  # Orin Nano 8 GB
        (64 * 1024, 110, "1465Mi"),
        (7620, 30, "585Mi"),
    ],
)
def test_small_boards_give_a_quarter_at_most(mib, pods, kept):
    assert reserved(mib * 1024, pods)["kubeReserved"] == {"memory": kept}


def test_a_few_kibibytes_more_or_less_change_nothing():
    assert reserved(3956 * 1024, 110) == reserved(3956 * 1024 + 900, 110) == reserved(3950 * 1024, 110)
