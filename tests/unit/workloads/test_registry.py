"""Tags as a registry tells them, from a registry of the test's own."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from edgectl.errors import UsageError
from edgectl.workloads import registry


class Registry(BaseHTTPRequestHandler):
    """Asks for a token, and tells its tags in two pages."""

    def do_GET(self) -> None:
        host = f"http://127.0.0.1:{self.server.server_address[1]}"
        if self.path.startswith("/token?"):
            given = "scope=repository%3Aown%2Fone%3Apull" in self.path
            self._say(200, {"token": "t" if given else ""})
        elif self.headers.get("Authorization") != "Bearer t":
            challenge = f'Bearer realm="{host}/token",service="own",scope="repository:own/one:pull"'
            self._say(401, {}, {"WWW-Authenticate": challenge})
        elif self.path == "/v2/own/one/tags/list?n=1000":
            self._say(200, {"tags": ["r36.4.0"]}, {"Link": '</v2/own/one/tags/list?last=r36.4.0>; rel="next"'})
        elif self.path == "/v2/own/one/tags/list?last=r36.4.0":
            self._say(200, {"tags": ["r35.4.1"]})
        else:
            self._say(404, {})

    def _say(self, code: int, document: object, headers: dict[str, str] | None = None) -> None:
        self.send_response(code)
        for key, value in (headers or {}).items():
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(json.dumps(document).encode())

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def host() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Registry)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def test_tags_are_told_page_by_page_to_whoever_has_the_token(host: str) -> None:
    assert registry.tags(f"{host}/own/one", scheme="http") == ["r36.4.0", "r35.4.1"]


def test_one_that_does_not_answer_is_told_with_what_to_do(host: str) -> None:
    with pytest.raises(UsageError) as caught:
        registry.tags(f"{host}/own/other", scheme="http")
    assert caught.value.what == f"{host} does not tell which tags own/other has"
    assert caught.value.fix == f"name one: {host}/own/other:TAG"
    with pytest.raises(UsageError):
        registry.tags("127.0.0.1:1/own/one", scheme="http")
