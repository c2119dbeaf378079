"""Open WebUI's API (docs.openwebui.com, API endpoints): who signs in sees Ollama's models, and asks one of them."""

from __future__ import annotations

import contextlib
import json
import urllib.error
import urllib.request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class OpenWebUIError(Exception):
    """It does not answer, or says no. code: of HTTP; 0 where it did not come to that."""

    def __init__(self, what: str, code: int = 0) -> None:
        super().__init__(what)
        self.code = code


class OpenWebUI:
    """One server. url: such as http://10.96.0.8:8080."""

    def __init__(self, url: str, timeout: float = 600) -> None:
        self.url, self.timeout, self.token = url.rstrip("/"), timeout, ""
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def sign_in(self, user: str, password: str) -> bool:
        """Whether that is the password of that account."""
        try:
            said = self._json("/api/v1/auths/signin", {"email": user, "password": password})
        except OpenWebUIError as error:
            # 400 is what it says to a wrong password (open_webui/routers/auths.py, 0.12.4).
            if error.code in (400, 401, 403):
                return False
            raise
        self.token = said.get("token") or ""
        return bool(self.token)

    def models(self) -> list[str]:
        """Ollama's models, those first that are in its memory."""
        known = [one for one in self._json("/api/models").get("data") or [] if one.get("owned_by") == "ollama"]
        return [one["id"] for one in sorted(known, key=lambda one: not one.get("loaded"))]

    def ask(self, model: str, question: str, tokens: int) -> str:
        """The beginning of its answer, or of what it thinks before."""
        body = {"model": model, "messages": [{"role": "user", "content": question}], "stream": False}
        said = self._json("/api/chat/completions", {**body, "max_tokens": tokens})
        message = (said.get("choices") or [{}])[0].get("message") or {}
        return str(message.get("content") or message.get("reasoning_content") or "")

    def _json(self, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        if self.token:
            headers["Authorization"] = "Bearer " + self.token
        request = urllib.request.Request(self.url + path, data, headers)  # noqa: S310 - http
        try:
            with self.opener.open(request, timeout=self.timeout) as answer:
                return dict(json.loads(answer.read() or b"{}"))
        except urllib.error.HTTPError as error:
            said = error.read().decode("utf-8", "replace").strip()
            with contextlib.suppress(ValueError, KeyError, TypeError):
                said = json.loads(said)["detail"]
            raise OpenWebUIError("{}: {}".format(path, said or "HTTP {}".format(error.code)), error.code) from error
        except (OSError, ValueError) as error:
            raise OpenWebUIError("{}{}: {}".format(self.url, path, error)) from error
