"""A workload's Service behind a port of this machine, through a real sshd."""

from __future__ import annotations

import shlex
import socket
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from edgectl.errors import EdgectlError, UnreachableError, UsageError
from edgectl.output.workloads import opened_lines
from edgectl.workloads.deployed import Deployed, opened
from tests.unit.cli.api import deployment, named

from .conftest import Server, free_port


class Hello(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, *_words: object) -> None:
        pass


@pytest.fixture
def service() -> Iterator[int]:
    """A server that waits for a question, at an address that only the host is to reach."""
    with ThreadingHTTPServer(("127.0.0.2", 0), Hello) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


@pytest.fixture
def found(sshd: Server, known_hosts: Path, service: int) -> Deployed:
    spec = {"clusterIP": "127.0.0.2", "ports": [{"port": service}]}
    there = {**named("Service", "ollama"), "spec": spec}
    return Deployed("ollama", "workloads", deployment("ollama"), there, [], [], sshd.trusted(known_hosts))


def answer(port: int) -> bytes:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}", timeout=5) as said:
        return bytes(said.read())


def test_it_has_the_services_own_port_where_nobody_has_it(found: Deployed, service: int) -> None:
    with opened(found) as way:
        assert (way.forward.port, way.taken) == (service, 0)
        assert answer(service) == b"hello"
        lines = list(opened_lines("ollama", way, "workloads", Path("lab")))
    assert lines[0] == f"http://127.0.0.1:{service}"
    assert any("login: none" in line for line in lines)
    with socket.socket() as sock:
        assert sock.connect_ex(("127.0.0.1", service)) != 0


def test_a_port_that_is_taken_is_replaced_and_a_chosen_one_refused(found: Deployed, service: int) -> None:
    with socket.create_server(("127.0.0.1", service)):
        with opened(found) as way:
            assert way.taken == service
            assert answer(way.forward.port) == b"hello"
            assert f"port {service} of this machine is taken" in "".join(
                opened_lines("open-webui", way, "workloads", Path("lab"))
            )
        with pytest.raises(UsageError, match=f"port {service} of this machine cannot be used"), opened(found, service):
            pass
    chosen = free_port()
    with opened(found, chosen) as way:
        assert answer(chosen) == b"hello"


def test_what_is_not_ready_is_told_with_what_it_waits_for(found: Deployed) -> None:
    waiting = Deployed(**{**vars(found), "deployment": deployment("ollama", available=0)})
    with pytest.raises(EdgectlError, match="ollama does not answer yet: ollama has no pod yet"), opened(waiting):
        pass


def test_a_service_that_takes_no_connection_is_not_called_open(
    found: Deployed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("edgectl.ssh.forward._READY_TIMEOUT", 3.0)
    found.service["spec"]["ports"][0]["port"] = free_port()
    with pytest.raises(UnreachableError) as refused, opened(found):
        pass
    assert "refused" in refused.value.why.lower()


def test_where_the_control_plane_is_this_machine_its_address_is_told(found: Deployed, service: int) -> None:
    here = Deployed(**{**vars(found), "target": found.target.__class__("nuc1", "x", Path("x"), local=True)})
    with pytest.raises(UsageError) as refused, opened(here):
        pass
    assert refused.value.fix == f"http://127.0.0.2:{service}"


def test_who_signs_in_first_is_told_where_the_entry_knows_and_how_its_password_is_shown(found: Deployed) -> None:
    with opened(found) as way:
        made = list(opened_lines("homeassistant", way, "workloads", Path("lab")))
        page = list(opened_lines("open-webui", way, "chat", Path("my lab")))
    assert "  login: who opens it first makes the account of the owner" in made
    assert "  login: admin@edgectl.internal, password; what was generated shows" in page
    shows = next(line for line in page if "kubectl" in line)
    assert shlex.split(shows)[:6] == ["edgectl", "kubectl", "-i", "my lab", "--", "-n"]
    assert shlex.split(shows)[-1] == "go-template={{.data.WEBUI_ADMIN_PASSWORD|base64decode}}"
