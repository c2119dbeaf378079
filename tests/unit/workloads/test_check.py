"""What is asked of a workload, and what its answer has to prove."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.kubeadm.conftest import plugin
from tests.unit.workloads.ollama_server import State, serving

check = plugin("modules/edgectl_workload_check.py")
api = plugin("module_utils/edgectl_ollama.py")
TIMEOUT = 10


@pytest.fixture
def server() -> Iterator[State]:
    with serving() as state:
        yield state


def asked(server: State, **options: Any) -> dict[str, Any]:
    found: dict[str, Any] = check.ollama(
        {"address": "127.0.0.1", "port": server.port, "timeout": TIMEOUT, "model": "tiny", "question": "Why?"}
        | {"gpu": True, "simulated": False, **options}
    )
    return found


def test_an_answer_on_the_gpu_is_told_with_its_speed(server: State) -> None:
    server.models, server.size_vram = ["tiny:latest"], 1000
    said = asked(server)
    assert (said["where"], said["tokens_per_s"], said["answer"]) == ("answered on GPU", 2.0, "la la")
    server.size_vram = 400
    assert asked(server)["where"] == "answered on GPU (40 % of the model is there)"


def test_of_several_pods_the_one_that_answered_is_asked_where_its_model_runs(server: State) -> None:
    server.models, server.size_vram = ["tiny:latest"], 1000
    asked(server)
    # A Service leads each connection to one of them.
    assert server.callers["/api/generate"] == server.callers["/api/ps"]


def test_an_answer_on_the_cpu_is_a_failure_where_there_is_a_gpu(server: State) -> None:
    server.models = ["tiny:latest"]
    with pytest.raises(check.OllamaError, match="answered on CPU, though its pod has a GPU"):
        asked(server)
    assert asked(server, simulated=True)["where"] == "answered on CPU (simulated GPU)"
    assert asked(server, gpu=False)["where"] == "answered on CPU"
    assert asked(server, gpu=False, simulated=True)["where"] == "answered on CPU"


def test_no_words_are_no_answer(server: State) -> None:
    server.models, server.tokens, server.size_vram = ["tiny:latest"], 0, 1000
    with pytest.raises(check.OllamaError, match="answered nothing"):
        asked(server)


def test_what_the_server_says_no_to_is_told_in_its_words(server: State) -> None:
    with pytest.raises(check.OllamaError, match="model 'tiny' not found"):
        asked(server)


def test_a_model_is_pulled_for_a_while_and_how_far_it_is_is_told(server: State) -> None:
    ollama = api.Ollama(server.url, TIMEOUT)
    server.pull = [{"status": "pulling", "digest": "a", "total": 4 * 10**9, "completed": 10**9}]
    assert ollama.pull("big:7b", 0) == (False, "big:7b: 1.0 of 4.0 GB, 25 %")
    server.pull = [{"error": "file does not exist"}]
    with pytest.raises(
        api.OllamaError, match=r"big:7b can't be fetched: file does not exist\nfix: see that ollama.com"
    ):
        ollama.pull("big:7b", TIMEOUT)
    server.pull = [{"error": "dial tcp: lookup registry.ollama.ai: no such host"}]
    with pytest.raises(api.OllamaError, match=r"reaches registry\.ollama\.ai, or bring the model: --set model_file="):
        ollama.pull("big:7b", TIMEOUT)
    server.pull = [{"status": "success"}]
    assert ollama.pull("big:7b", TIMEOUT)[0]
    assert ollama.has("big:7b")


def test_what_was_asked_is_told_with_what_came_back() -> None:
    where = {"address": "10.96.0.7", "port": 80, "path": "/v1", "data": None, "model": "tiny", "question": "Why?"}
    assert check.asked({"kind": "tcp", **where}) == "10.96.0.7:80"
    assert check.asked({"kind": "http", **where}) == "GET http://10.96.0.7:80/v1"
    assert check.asked({"kind": "http", **where, "data": {}}) == "POST http://10.96.0.7:80/v1"
    assert check.asked({"kind": "ollama", **where}) == "POST http://10.96.0.7:80/api/generate, model tiny: Why?"


def test_a_file_is_sent_once(server: State, tmp_path: Path) -> None:
    file = tmp_path / "a.gguf"
    file.write_bytes(b"GGUF")
    ollama = api.Ollama(server.url, TIMEOUT)
    ollama.load("a", str(file))
    ollama.load("b", str(file))
    assert server.models == ["a:latest", "b:latest"]
    assert server.blobs == {"sha256:" + api.file_digest(str(file))}
    assert ollama.has("a")


def test_a_page_and_a_port_answer_or_not(server: State) -> None:
    where = {"address": "127.0.0.1", "port": server.port, "timeout": TIMEOUT}
    assert check.http({**where, "path": "/api/version"})["answer"] == "/api/version answers with HTTP 200"
    with pytest.raises(OSError, match=r'/nothing answers with HTTP 404: \{"error": "not found"\}'):
        check.http({**where, "path": "/nothing"})
    assert check.tcp(where)["where"] == "answered"
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        closed = unused.getsockname()[1]
    with pytest.raises(OSError, match="refused"):
        check.tcp({**where, "port": closed})


def signed_in(server: State) -> dict[str, Any]:
    where = {"address": "127.0.0.1", "port": server.port, "timeout": TIMEOUT, "password": "s3cret"}
    found: dict[str, Any] = check.open_webui({**where, "sign_in": {"user": "admin@example.org", "secret": "PASSWORD"}})
    return found


def test_a_page_with_accounts_is_signed_in_to_and_a_model_asked_through_it(server: State) -> None:
    server.models = ["a", "b"]
    said = signed_in(server)
    assert (said["where"], said["answer"]) == ("signed in, and b answered through it", "la la")
    (_, account), (path, asked) = server.asked
    assert account == {"email": "admin@example.org", "password": "s3cret"}
    assert (path, asked["model"], asked["max_tokens"]) == ("/api/chat/completions", "b", check.TOKENS)


def test_a_page_that_does_not_reach_ollama_fails_the_check(server: State) -> None:
    with pytest.raises(check.OpenWebUIError, match="signed in, but it lists no model of Ollama's"):
        signed_in(server)
    server.models, server.says = ["a"], ""
    with pytest.raises(check.OpenWebUIError, match="a answered nothing"):
        signed_in(server)


def test_who_has_changed_the_password_is_not_asked_for_it(server: State) -> None:
    server.models, server.password = ["a"], "an0ther"
    said = signed_in(server)
    assert not said["signed_in"]
    assert "no model was asked" in said["where"]


def test_what_stands_in_an_answer_is_its_proof(server: State) -> None:
    where = {"address": "127.0.0.1", "port": server.port, "timeout": TIMEOUT, "path": "/api/generate"}
    server.models = ["tiny:latest"]
    ask = {**where, "data": {"model": "tiny", "prompt": "Why?", "stream": False}}
    assert check.http({**ask, "expect": "response"})["answer"] == "la la"
    with pytest.raises(OSError, match=r"/api/generate answers, but says nothing at choices\.0\.text"):
        check.http({**ask, "expect": "choices.0.text"})


@pytest.mark.parametrize(
    ("body", "place", "found"),
    [
        (b'{"choices": [{"text": "blue"}]}', "choices.0.text", "blue"),
        (b'{"outputs": [{"data": [10.0]}]}', "outputs.0.data.0", 10.0),
        (b'{"choices": []}', "choices.0.text", ""),
        (b'{"choices": ["a"]}', "choices.1", ""),
        (b'{"status": "ok"}', "status.code", ""),
        (b"<html>", "status", ""),
    ],
)
def test_a_place_of_an_answer_is_found_or_told(body: bytes, place: str, found: Any) -> None:
    if found:
        assert check.at(body, "/x", place) == found
        return
    with pytest.raises(OSError, match="/x answers"):
        check.at(body, "/x", place)


@pytest.fixture
def wyoming() -> Iterator[dict[str, Any]]:
    """A server of Wyoming's protocol that answers once, with the bytes that stand in `says`."""
    told: dict[str, Any] = {"says": b""}
    with socket.create_server(("127.0.0.1", 0)) as listening:
        told["port"] = listening.getsockname()[1]

        def answer() -> None:
            connection, _ = listening.accept()
            with connection, connection.makefile("rb") as asked:
                told["asked"] = json.loads(asked.readline())
                connection.sendall(told["says"])

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        yield told
        thread.join(TIMEOUT)


def asked_by_wyoming(server: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = check.wyoming({"address": "127.0.0.1", "port": server["port"], "timeout": TIMEOUT})
    return found


def test_a_wyoming_server_says_what_it_offers(wyoming: dict[str, Any]) -> None:
    wake = {"name": "openwakeword", "models": [{"name": "ok_nabu"}, {"name": "alexa"}]}
    data = json.dumps({"wake": [wake], "asr": []})
    wyoming["says"] = json.dumps({"type": "info", "data_length": len(data)}).encode() + b"\n" + data.encode()
    assert asked_by_wyoming(wyoming)["answer"] == "it offers openwakeword (ok_nabu, alexa)"
    assert wyoming["asked"] == {"type": "describe"}


@pytest.mark.parametrize(
    ("says", "words"),
    [
        (b'{"type": "error"}\n', "answers with error"),
        (b'{"type": "info", "data": {"wake": []}}\n', "names nothing"),
        (b"HTTP/1.1 400\r\n", "Expecting value"),
    ],
)
def test_another_answer_than_what_it_offers_is_none(wyoming: dict[str, Any], says: bytes, words: str) -> None:
    wyoming["says"] = says
    with pytest.raises((OSError, ValueError), match=words):
        asked_by_wyoming(wyoming)


def test_the_last_line_of_a_script_in_the_container_is_the_answer() -> None:
    class Kubectl:
        printed = "a warning\na kernel computed\n"

        def run(self, *words: str) -> str:
            self.words = words
            return self.printed

    kubectl = Kubectl()
    options = {"kubectl": kubectl, "name": "jupyterlab", "namespace": "own", "script": "print(1)"}
    assert check.script(options)["answer"] == "a kernel computed"
    assert kubectl.words[:3] == ("exec", "--namespace", "own")
    assert kubectl.words[-5:] == ("deployment/jupyterlab", "--", "python3", "-c", "print(1)")
    kubectl.printed = "\n"
    with pytest.raises(OSError, match="says nothing"):
        check.script(options)
