"""An Ollama as its docs/api.md tells it, and an Open WebUI before it, whose answers the test chooses."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class State:
    """What the server has and says."""

    def __init__(self) -> None:
        self.models: list[str] = []
        self.blobs: set[str] = set()
        self.size_vram = 0
        self.tokens = 4
        self.pull: list[dict[str, Any]] = [{"status": "pulling manifest"}, {"status": "success"}]
        self.asked: list[tuple[str, Any]] = []
        # What Open WebUI takes; empty takes any.
        self.password = ""
        self.says = "la la"
        self.callers: dict[str, int] = {}
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def serving() -> Iterator[State]:
    """A server in a thread of its own."""
    state = State()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            pass

        def answer(self, *documents: Any, status: int = 200) -> None:
            body = "\n".join(map(json.dumps, documents)).encode()
            state.callers[self.path] = self.client_address[1]
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_HEAD(self) -> None:
            self.answer(status=200 if self.path.rpartition("/")[2] in state.blobs else 404)

        def do_GET(self) -> None:
            models = [
                {"name": name, "model": name, "size": 1000, "size_vram": state.size_vram} for name in state.models
            ]
            if self.path in ("/api/tags", "/api/ps"):
                self.answer({"models": models})
            elif self.path == "/api/version":
                self.answer({"version": "0.6.5"})
            elif self.path == "/api/models" and self.headers["Authorization"] == "Bearer t0ken":
                known = [{"id": name, "owned_by": "ollama", "loaded": name == "b"} for name in state.models]
                self.answer({"data": [{"id": "arena-model", "owned_by": "arena"}, *known]})
            else:
                self.answer({"error": "not found"}, status=404)

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.path.startswith("/api/blobs/"):
                digest = self.path.rpartition("/")[2]
                right = digest == "sha256:" + hashlib.sha256(body).hexdigest()
                state.blobs.add(digest)
                self.answer(status=201 if right else 400)
                return
            document = json.loads(body)
            state.asked.append((self.path, document))
            if self.path == "/api/v1/auths/signin":
                right = document["password"] == (state.password or document["password"])
                self.answer({"token": "t0ken"} if right else {"detail": "incorrect"}, status=200 if right else 400)
                return
            if self.path == "/api/chat/completions":
                signed = self.headers["Authorization"] == "Bearer t0ken"
                message = {"role": "assistant", "content": state.says}
                self.answer({"choices": [{"message": message}]}, status=200 if signed else 401)
                return
            whole = document["model"] if ":" in document["model"] else document["model"] + ":latest"
            if self.path == "/api/generate" and whole not in state.models:
                self.answer({"error": f"model '{document['model']}' not found"}, status=404)
            elif self.path == "/api/generate":
                self.answer({"response": "la la", "eval_count": state.tokens, "eval_duration": 2 * 10**9})
            elif self.path == "/api/create":
                state.models.append(document["model"] + ":latest")
                self.answer({"status": "success"})
            else:
                if state.pull[-1].get("status") == "success":
                    state.models.append(document["model"])
                self.answer(*state.pull)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
