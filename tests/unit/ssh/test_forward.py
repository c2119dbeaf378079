"""A forwarded port, against a real sshd."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from edgectl.cluster import api_server
from edgectl.cluster.kubeconfig import Administrator, tunnel
from edgectl.errors import UnreachableError, UsageError
from edgectl.ssh.forward import forward
from tests.unit.cluster import pki

from .conftest import Server, free_port


@pytest.fixture
def echo() -> Iterator[int]:
    """A server on the host's own loopback that greets."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    client, _ = listener.accept()
                except OSError:
                    return
                with client:
                    client.sendall(b"hello")

        threading.Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Ctrl-C as at a terminal: what a shell starts in the background ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def greeting(port: int) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=5) as sock:
        return sock.recv(100)


def refuses(port: int) -> bool:
    with socket.socket() as sock:
        return sock.connect_ex(("127.0.0.1", port)) != 0


def test_a_forwarded_port_leads_to_the_hosts_loopback_until_the_block_ends(
    sshd: Server, known_hosts: Path, echo: int
) -> None:
    with forward(sshd.trusted(known_hosts), echo) as opened:
        assert greeting(opened.port) == b"hello"
        assert opened.port != echo
    assert refuses(opened.port)


def test_a_chosen_local_port_is_taken(sshd: Server, known_hosts: Path, echo: int) -> None:
    port = free_port()
    with forward(sshd.trusted(known_hosts), echo, local_port=port) as opened:
        assert opened.port == port


def test_a_local_port_that_is_taken_is_refused(sshd: Server, known_hosts: Path, echo: int) -> None:
    with (
        pytest.raises(UsageError, match=f"port {echo} of this machine cannot be used"),
        forward(sshd.trusted(known_hosts), echo, local_port=echo),
    ):
        pass


def test_a_host_whose_key_is_not_known_carries_nothing(sshd: Server, known_hosts: Path, echo: int) -> None:
    with (
        pytest.raises(UnreachableError, match="no port could be forwarded to node1") as refused,
        forward(sshd.target(known_hosts), echo),
    ):
        pass
    assert "Host key verification failed" in refused.value.why


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_is_held_until_somebody_ends_it(
    sshd: Server, known_hosts: Path, echo: int, number: signal.Signals, ctrl_c: None
) -> None:
    def end() -> None:
        # Before `hold` listens for it, SIGTERM would end the whole test run.
        while signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
            if over.wait(0.05):
                return
        if not over.wait(0.5):
            os.kill(os.getpid(), number)

    over = threading.Event()
    with forward(sshd.trusted(known_hosts), echo) as opened:
        threading.Thread(target=end, daemon=True).start()
        started = time.monotonic()
        try:
            opened.hold()
        finally:
            over.set()
        assert 0.3 < time.monotonic() - started < 10
    assert refuses(opened.port)
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_a_connection_that_breaks_is_an_error_with_the_hosts_name(sshd: Server, known_hosts: Path, echo: int) -> None:
    with forward(sshd.trusted(known_hosts), echo) as opened:
        threading.Timer(0.3, opened.process.kill).start()
        with pytest.raises(UnreachableError, match="the connection to node1 that carried port"):
            opened.hold()


def test_the_api_answers_through_the_tunnel_under_the_endpoints_name(
    sshd: Server, known_hosts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ca = pki.authority()
    administrator = Administrator("attic", ca.data, {}, "api.attic.internal", sshd.trusted(known_hosts))
    with pki.api_server(ca, tmp_path, ["api.attic.internal"]) as port:
        monkeypatch.setattr(api_server, "PORT", port)
        with tunnel(administrator) as (address, opened):
            assert address.url == f"https://127.0.0.1:{opened.port}"
            cluster = administrator.document(address)["clusters"][0]["cluster"]
            assert cluster["tls-server-name"] == "api.attic.internal"
            api_server.handshake(address, ca.data)


def test_a_tunnel_to_what_is_not_the_api_is_not_opened(
    sshd: Server, known_hosts: Path, echo: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("edgectl.ssh.forward._READY_TIMEOUT", 4.0)
    monkeypatch.setattr(api_server, "PORT", echo)
    administrator = Administrator("attic", pki.authority().data, {}, "api.attic.internal", sshd.trusted(known_hosts))
    with pytest.raises(UnreachableError, match="no port could be forwarded") as refused, tunnel(administrator):
        pass
    assert "the API does not answer there" in refused.value.why


def test_where_the_control_plane_is_this_machine_no_tunnel_is_needed(sshd: Server, known_hosts: Path) -> None:
    administrator = Administrator("attic", "", {}, "api.attic.internal", sshd.target(known_hosts, local=True))
    with pytest.raises(UsageError, match="node1 is this machine"), tunnel(administrator):
        pass
