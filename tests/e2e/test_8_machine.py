"""The machine under the lab: what it was before the first lab is what it is after the last one."""

from __future__ import annotations

from tests.e2e import machine
from tests.e2e.cluster import Cluster, edgectl


def test_the_machine_under_the_lab_is_as_it_was(cluster: Cluster, machine_before: machine.State) -> None:
    edgectl("lab", "down", "--name", cluster.lab)
    after = machine.state()
    assert after.swap == machine_before.swap
    assert after.podman == machine_before.podman
    assert after.links == machine_before.links
    assert after.firewall == machine_before.firewall
    assert after.modules == machine_before.modules
    changed = {
        name: (value, after.sysctls.get(name))
        for name, value in machine_before.sysctls.items()
        if after.sysctls.get(name) != value
    }
    assert not changed
