"""A receipt that is recorded after a peer came or went tells of nothing else that has changed."""

from __future__ import annotations

import re

from edgectl import content


def test_nothing_in_the_role_but_the_entries_of_peers_depends_on_those_outside() -> None:
    """Otherwise a receipt that is recorded after these alone would not be true."""
    role = content.root() / "roles" / "wireguard"
    named = re.compile("outside_peers|state_peers")
    files = [path for path in role.rglob("*.*") if path.suffix in (".yml", ".j2", ".py", ".conf")]
    found = sorted(str(path.relative_to(role)) for path in files if named.search(path.read_text()))
    assert found == ["meta/receipt.yml", "tasks/peers.yml", "tasks/peers_recorded.yml", "vars/main.yml"]
