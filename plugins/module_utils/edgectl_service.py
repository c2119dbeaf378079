"""A Service of the cluster, seen from a node. Standard library only, Python 3.8 upwards."""

from __future__ import annotations

import contextlib
import socket
import time

# kube-proxy writes its rules at most once a second. (kube-proxy's configuration, iptables.minSyncPeriod: 1s)
SECONDS = 15.0
PAUSE = 0.2


def wait_for(address: str, port: int, seconds: float = SECONDS) -> bool:
    """Wait until connections to a Service come through; whether they do.

    The API knows that a pod is Ready before kube-proxy does, which runs on each node for itself.
    """
    until = time.monotonic() + seconds
    while True:
        with contextlib.suppress(OSError), socket.create_connection((address, port), timeout=2):
            return True
        if time.monotonic() > until:
            return False
        time.sleep(PAUSE)
