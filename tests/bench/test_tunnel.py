"""How long two hosts take to meet that start their tunnels at the same moment, printed and not asserted.

Between them stands a relay that holds every packet back for half of the round trip. Beside it the same with a module
that never calls again: what two peers of WireGuard do by themselves.
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import IPv4Network
from pathlib import Path
from typing import cast

import pytest
import yaml

from tests.bench.test_bootstrap import LAB, fresh_lab
from tests.e2e.cluster import ANSIBLE_PLAYBOOK, ROOT, edgectl, lab_status, run

RUNS = 8
PORT = 51871
MODULE = "edgectl_wireguard_verify.py"


class Side(asyncio.DatagramProtocol):
    """Where the others call one host: what comes here is sent to it, later, from where it calls the other."""

    def __init__(self, host: str, delay: float) -> None:
        self.host, self.delay = host, delay
        self.other: Side
        self.transport: asyncio.DatagramTransport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        if addr[0] == self.other.host:
            loop = asyncio.get_running_loop()
            loop.call_later(self.delay, self.other.transport.sendto, data, (self.host, PORT))


@contextmanager
def relay(hosts: list[str], delay: float) -> Iterator[list[str]]:
    """The two addresses, as `host:port`, at which the two hosts are called by each other."""
    gateway = str(IPv4Network(f"{hosts[0]}/24", strict=False)[1])  # as edgectl/lab/nodes.py has it
    loop = asyncio.new_event_loop()

    async def listen() -> list[Side]:
        sides = [Side(host, delay) for host in hosts]
        sides[0].other, sides[1].other = sides[1], sides[0]
        for side in sides:
            await loop.create_datagram_endpoint(lambda side=side: side, (gateway, 0))
        return sides

    sides = loop.run_until_complete(listen())
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield [f"{gateway}:{side.transport.get_extra_info('sockname')[1]}" for side in sides]
    finally:
        for side in sides:
            loop.call_soon_threadsafe(side.transport.close)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def meetings(inventory: Path, modules: Path) -> str:
    """Seconds of each; more than 30 are those after which the role gave up."""
    command = [ANSIBLE_PLAYBOOK, "-i", str(inventory), str(Path(__file__).parent / "tunnel.yml")]
    command += ["-e", f"checkout={ROOT}", "-e", f"runs={RUNS}"]
    env = {"ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_LIBRARY": f"{modules}:{ROOT}/plugins/modules"}
    said = run(command, env={**env, "ANSIBLE_NOCOLOR": "1"}).stdout
    return " ".join(re.findall(r"seconds=([\d.]+)", said))


@pytest.mark.parametrize("delay", [0.0, 0.02, 0.15], ids=["0 ms", "20 ms", "150 ms"])
def test_two_tunnels_that_start_at_the_same_moment(delay: float, tmp_path: Path) -> None:
    text = (ROOT / "plugins" / "modules" / MODULE).read_text()
    assert "\nOFF_BEAT = 2\n" in text
    (tmp_path / MODULE).write_text(text.replace("\nOFF_BEAT = 2\n", "\nOFF_BEAT = 10**6\n"))
    try:
        inventory = Path(fresh_lab("--nodes", "nuc1:control_plane,nuc2"))
        nodes = lab_status(LAB)["nodes"]
        with relay([node["address"] for node in nodes], delay) as endpoints:
            (inventory / "host_vars").mkdir()
            for node, endpoint in zip(nodes, endpoints, strict=True):
                variables = yaml.safe_dump({"wireguard_endpoint": endpoint})
                (inventory / "host_vars" / f"{node['name']}.yml").write_text(variables)
            ours = meetings(inventory, ROOT / "plugins" / "modules")
            alone = meetings(inventory, tmp_path)
    finally:
        edgectl("lab", "down", "--name", LAB)
    print(f"\na way of {delay * 1000:.0f} ms: seconds until both answer {ours}; by themselves {alone}")
