"""One paramiko connection: opened with the host's key checked, one command run on it, closed."""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING, Any

from edgectl.ssh.known_hosts import HostKey, KnownHosts
from edgectl.ssh.result import ConnectionTrouble, Result, Trouble
from edgectl.ssh.target import Endpoint, Target

if TYPE_CHECKING:
    import paramiko

# paramiko logs what it also raises, and Python prints log records that nobody takes.
logging.getLogger("paramiko").addHandler(logging.NullHandler())

_CHUNK = 65536
_RSA_ALGORITHMS = ("rsa-sha2-512", "rsa-sha2-256")


def preferred_algorithms(known_types: list[str], offered: tuple[str, ...]) -> list[str]:
    """Host key algorithms with those of known keys first: else a server with several keys shows one not seen before."""
    wanted = [name for kind in known_types for name in (_RSA_ALGORITHMS if kind == "ssh-rsa" else (kind,))]
    first = [name for name in wanted if name in offered]
    return first + [name for name in offered if name not in first]


def fetch_host_key(endpoint: Endpoint, known: KnownHosts, timeout: float) -> HostKey:
    """Ask a server for its host key without logging in."""
    import paramiko

    with open_socket(endpoint, timeout) as sock:
        transport = _transport_factory(known, endpoint)(sock)
        try:
            transport.start_client(timeout=timeout)
            key = transport.get_remote_server_key()
        except (paramiko.SSHException, EOFError, OSError) as error:
            raise ConnectionTrouble(Trouble.UNREACHABLE, f"the SSH server hangs up: {error}") from error
        finally:
            transport.close()
    return HostKey(key.get_name(), key.get_base64())


def open_socket(endpoint: Endpoint, timeout: float) -> socket.socket:
    """Connect, and say plainly why if it fails."""
    where = f"{endpoint.hostname}:{endpoint.port}"
    try:
        return socket.create_connection((endpoint.hostname, endpoint.port), timeout=timeout)
    except socket.gaierror as error:
        raise ConnectionTrouble(Trouble.UNREACHABLE, f"the name {endpoint.hostname} is unknown here") from error
    except TimeoutError as error:
        raise ConnectionTrouble(Trouble.TIMEOUT, f"{where} does not answer within {timeout:.0f} s") from error
    except ConnectionRefusedError as error:
        raise ConnectionTrouble(Trouble.UNREACHABLE, f"{where} refuses connections: no SSH server there") from error
    except OSError as error:
        raise ConnectionTrouble(Trouble.UNREACHABLE, f"{where}: {error.strerror or error}") from error


def run(
    target: Target,
    endpoint: Endpoint,
    known: KnownHosts,
    command: str,
    *,
    stdin: str,
    connect_timeout: float,
    timeout: float,
) -> Result:
    """Log in, run one command, and return what it said."""
    import paramiko

    client = paramiko.SSHClient()
    client.set_missing_host_key_policy(_policy(known, endpoint))
    try:
        # The client closes first: a socket that goes away under it would be reported as broken.
        with open_socket(endpoint, connect_timeout) as sock, closing(client):
            _log_in(client, target, endpoint, known, sock, connect_timeout)
            return _execute(client, command, stdin.encode(), time.monotonic() + timeout)
    except TimeoutError as error:
        raise ConnectionTrouble(Trouble.TIMEOUT, f"no answer within {timeout:.0f} s") from error
    except (paramiko.SSHException, EOFError, OSError) as error:
        raise ConnectionTrouble(
            Trouble.UNREACHABLE, f"the connection broke: {error or type(error).__name__}"
        ) from error
    finally:
        client.close()


def _log_in(
    client: paramiko.SSHClient,
    target: Target,
    endpoint: Endpoint,
    known: KnownHosts,
    sock: socket.socket,
    timeout: float,
) -> None:
    import paramiko

    try:
        client.connect(
            endpoint.hostname,
            endpoint.port,
            endpoint.user,
            password=target.password,
            key_filename=[str(path) for path in endpoint.identity_files if path.is_file()],  # type: ignore[arg-type]
            look_for_keys=False,
            timeout=timeout,
            banner_timeout=timeout,
            auth_timeout=timeout,
            sock=sock,
            transport_factory=_transport_factory(known, endpoint),
        )
    except paramiko.SSHException as error:
        transport = client.get_transport()
        # paramiko reports its last attempt, which may be about the form of a key file rather than the login.
        if isinstance(error, paramiko.AuthenticationException) or (transport is not None and transport.is_active()):
            reason = f"{endpoint.user}@{endpoint.hostname} accepts none of your keys"
            raise ConnectionTrouble(Trouble.AUTHENTICATION, reason) from error
        raise


def _execute(client: paramiko.SSHClient, command: str, stdin: bytes, deadline: float) -> Result:
    transport = client.get_transport()
    if transport is None:
        raise EOFError
    channel = transport.open_session(timeout=max(1.0, deadline - time.monotonic()))
    channel.exec_command(command)
    stdout, stderr = bytearray(), bytearray()
    rest = stdin
    closed = False
    # Reading and writing take turns, since a command may answer before it has read all of its input.
    while not (channel.exit_status_ready() and channel.eof_received):
        if time.monotonic() > deadline:
            raise TimeoutError
        moved = _drain(channel, stdout, stderr)
        if rest and channel.send_ready():
            rest = rest[channel.send(rest[:_CHUNK]) :]
            moved = True
        if not rest and not closed:
            channel.shutdown_write()
            closed = True
        if not moved:
            time.sleep(0.005)
    _drain(channel, stdout, stderr)
    return Result(channel.recv_exit_status(), stdout.decode(errors="replace"), stderr.decode(errors="replace"))


def _drain(channel: paramiko.Channel, stdout: bytearray, stderr: bytearray) -> bool:
    moved = False
    while channel.recv_ready():
        stdout += channel.recv(_CHUNK)
        moved = True
    while channel.recv_stderr_ready():
        stderr += channel.recv_stderr(_CHUNK)
        moved = True
    return moved


def _transport_factory(known: KnownHosts, endpoint: Endpoint) -> Callable[..., paramiko.Transport]:
    def make(sock: socket.socket, **options: Any) -> paramiko.Transport:  # noqa: ANN401 - passed through
        import paramiko

        transport = paramiko.Transport(sock, **options)
        transport.daemon = True
        security = transport.get_security_options()
        types = [entry.key.type for entry in known.keys(endpoint.known_hosts_name)]
        security.key_types = tuple(preferred_algorithms(types, tuple(security.key_types)))
        return transport

    return make


def _policy(known: KnownHosts, endpoint: Endpoint) -> paramiko.MissingHostKeyPolicy:
    import paramiko

    class OnlyKnownKeys(paramiko.MissingHostKeyPolicy):
        """Called for every key, because paramiko's own list stays empty."""

        def missing_host_key(self, client: paramiko.SSHClient, hostname: str, key: paramiko.PKey) -> None:
            offered = HostKey(key.get_name(), key.get_base64())
            if not known.trusts(endpoint.known_hosts_name, offered):
                seen = ", ".join(entry.key.fingerprint for entry in known.keys(endpoint.known_hosts_name))
                reason = f"shows {offered.fingerprint}, known is {seen}" if seen else "its host key is not known"
                raise ConnectionTrouble(Trouble.HOST_KEY, reason, offered)

    return OnlyKnownKeys()
