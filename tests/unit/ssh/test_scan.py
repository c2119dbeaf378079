"""Looking for SSH servers: real sockets on this machine's loopback network."""

import socket
import threading
import time
from ipaddress import IPv4Address, IPv4Network

import pytest

from edgectl.errors import UsageError
from edgectl.ssh.scan import SshServer, parse_network, scan

LOOPBACK = IPv4Network("127.0.0.0/30")


@pytest.fixture
def server():
    """Starts a server on 127.0.0.1 that says something to everybody; gives its port."""
    sockets = []

    def start(said: bytes) -> int:
        listener = socket.create_server(("127.0.0.1", 0))
        sockets.append(listener)

        def serve():
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                connection.sendall(said)
                sockets.append(connection)

        threading.Thread(target=serve, daemon=True).start()
        return listener.getsockname()[1]

    yield start
    for one in sockets:
        one.close()


def test_an_ssh_server_is_found_with_its_banner(server):
    port = server(b"SSH-2.0-OpenSSH_9.6p1 Ubuntu-3ubuntu13.5\r\n")
    assert scan(LOOPBACK, port, 0.5) == [
        SshServer(IPv4Address("127.0.0.1"), "SSH-2.0-OpenSSH_9.6p1 Ubuntu-3ubuntu13.5")
    ]


def test_lines_before_the_banner_are_passed_over(server):
    port = server(b"Keep out!\r\nSSH-2.0-dropbear\r\n")
    assert [found.banner for found in scan(LOOPBACK, port, 0.5)] == ["SSH-2.0-dropbear"]


def test_a_banner_cannot_write_to_the_terminal(server):
    port = server(b"SSH-2.0-\x1b]0;owned\x07x\r\n")
    assert [found.banner for found in scan(LOOPBACK, port, 0.5)] == ["SSH-2.0-]0;ownedx"]


@pytest.mark.parametrize("said", [b"HTTP/1.1 400 Bad Request\r\n", b"SSH-2.0-never-ends", b""])
def test_what_does_not_speak_ssh_is_left_out_and_waited_for_only_shortly(server, said):
    started = time.monotonic()
    assert scan(LOOPBACK, server(said), 0.3) == []
    assert time.monotonic() - started < 2


@pytest.mark.parametrize(
    ("text", "message"),
    [("10.0.0.0/21", "too many"), ("192.168.1.300/24", "no network"), ("8.8.8.0/24", "public network")],
)
def test_a_network_that_is_large_public_or_none_is_refused(text, message):
    with pytest.raises(UsageError, match=message):
        parse_network(text)


def test_a_private_network_of_a_home_is_accepted_also_by_one_of_its_addresses():
    assert parse_network("192.168.1.17/24") == IPv4Network("192.168.1.0/24")
    assert parse_network("100.64.0.0/22").num_addresses == 1024
