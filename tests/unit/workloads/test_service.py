"""A Service is asked when connections come through, not when the API calls its pod Ready."""

from __future__ import annotations

import socket
import threading

from tests.unit.kubeadm.conftest import plugin

service = plugin("module_utils/edgectl_service.py")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def test_a_service_whose_rules_come_late_is_waited_for() -> None:
    port = free_port()
    servers: list[socket.socket] = []
    late = threading.Timer(0.3, lambda: servers.append(socket.create_server(("127.0.0.1", port))))
    late.start()
    assert service.wait_for("127.0.0.1", port)
    late.join()
    servers[0].close()


def test_what_never_comes_is_not_waited_for_without_end() -> None:
    assert not service.wait_for("127.0.0.1", free_port(), seconds=0.3)
