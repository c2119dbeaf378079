"""Ollama's API (docs/api.md of github.com/ollama/ollama): its models, a question, and where a model runs."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import time
import urllib.error
import urllib.parse
import urllib.request

from ansible.module_utils.edgectl_digest import file_digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterator


class OllamaError(Exception):
    """It does not answer, or says no."""


def advice(error: str) -> str:
    """What mends it that a model could not be fetched."""
    if "no space left" in error:
        return "make room on the node, or take a smaller model (--set model=)"
    if "does not exist" in error:
        return "see that ollama.com/library has a model of this name and tag"
    return "see that the node reaches registry.ollama.ai, or bring the model: --set model_file=FILE.gguf"


class Ollama:
    """One server. url: such as http://10.96.0.7:11434."""

    def __init__(self, url: str, timeout: float = 600) -> None:
        self.url, self.timeout = url.rstrip("/"), timeout
        # What the host's environment calls a proxy is for the internet.
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        # Of several pods behind one Service, the one that answered is asked where its model runs.
        self.kept = http.client.HTTPConnection(urllib.parse.urlsplit(url).netloc, timeout=timeout)

    def models(self) -> list[str]:
        return [model["name"] for model in self._json("/api/tags").get("models") or []]

    def has(self, model: str) -> bool:
        return (model if ":" in model.rpartition("/")[2] else model + ":latest") in self.models()

    def pull(self, model: str, seconds: float) -> tuple[bool, str]:
        """Fetch a model for so long: whether all of it is there, and how far it is. The next call goes on."""
        deadline, parts, status = time.monotonic() + seconds, {}, "begins"
        for said in self._stream("/api/pull", {"model": model}):
            if said.get("error"):
                raise OllamaError(
                    "{} can't be fetched: {}\nfix: {}".format(model, said["error"], advice(said["error"]))
                )
            status = said.get("status", status)
            if said.get("total"):
                parts[said.get("digest")] = (said.get("completed", 0), said["total"])
            if status == "success":
                return True, "{} is there".format(model)
            if time.monotonic() > deadline:
                break
        done, total = (sum(part[i] for part in parts.values()) for i in (0, 1))
        if not total:
            return False, "{}: {}".format(model, status)
        return False, "{}: {:.1f} of {:.1f} GB, {} %".format(model, done / 1e9, total / 1e9, done * 100 // total)

    def load(self, model: str, path: str) -> None:
        """Make a GGUF file of this host into a model."""
        digest = "sha256:" + file_digest(path)
        try:
            self._open("/api/blobs/" + digest, method="HEAD")
        except OllamaError:
            with open(path, "rb") as file:
                self._open("/api/blobs/" + digest, file, length=os.path.getsize(path))
        for said in self._stream("/api/create", {"model": model, "files": {os.path.basename(path): digest}}):
            if said.get("error"):
                fix = "see that the file is whole, and of an architecture that this Ollama knows"
                raise OllamaError("{} can't be made of its file: {}\nfix: {}".format(model, said["error"], fix))

    def ask(self, model: str, question: str, tokens: int) -> dict[str, Any]:
        """Its answer, with how fast it came: tokens_per_s, seconds, load_seconds."""
        started = time.monotonic()
        said = self._json(
            "/api/generate",
            {"model": model, "prompt": question, "stream": False, "options": {"num_predict": tokens}},
        )
        if said.get("error"):
            raise OllamaError(said["error"])
        duration = said.get("eval_duration") or 0
        return {
            "answer": said.get("response", ""),
            "tokens": said.get("eval_count", 0),
            "tokens_per_s": round(said.get("eval_count", 0) * 1e9 / duration, 1) if duration else 0.0,
            "load_seconds": round((said.get("load_duration") or 0) / 1e9, 1),
            "seconds": round(time.monotonic() - started, 1),
        }

    def runs(self, model: str) -> dict[str, int]:
        """How much memory a loaded model takes (`size`), and how much of it a GPU's (`size_vram`), in bytes."""
        wanted = model if ":" in model.rpartition("/")[2] else model + ":latest"
        for one in self._json("/api/ps").get("models") or []:
            if wanted in (one.get("name"), one.get("model")):
                return {"size": one.get("size") or 0, "size_vram": one.get("size_vram") or 0}
        raise OllamaError("/api/ps does not know {}, which has just answered".format(model))

    def version(self) -> str:
        return str(self._json("/api/version").get("version", ""))

    def _json(self, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """An answer, over one connection for as long as the server keeps it."""
        method, data = ("GET", None) if body is None else ("POST", json.dumps(body))
        try:
            self.kept.request(method, path, data, {"Content-Type": "application/json"})
            answer = self.kept.getresponse()
            said = answer.read()
        except (OSError, http.client.HTTPException) as error:
            self.kept.close()
            raise OllamaError("{}{}: {}".format(self.url, path, error)) from error
        if answer.status >= http.client.BAD_REQUEST:
            raise OllamaError("{}: {}".format(path, _refusal(said, answer.status)))
        return dict(json.loads(said or b"{}"))

    def _stream(self, path: str, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
        with self._open(path, json.dumps(body).encode()) as answer:
            for line in answer:
                if line.strip():
                    yield json.loads(line)

    def _open(self, path: str, data: Any = None, *, method: str | None = None, length: int | None = None) -> Any:
        headers = {"Content-Type": "application/json"}
        if length is not None:
            headers = {"Content-Type": "application/octet-stream", "Content-Length": str(length)}
        request = urllib.request.Request(self.url + path, data, headers, method=method)  # noqa: S310 - http
        try:
            return self.opener.open(request, timeout=self.timeout)
        except urllib.error.HTTPError as error:
            raise OllamaError("{}: {}".format(path, _refusal(error.read(), error.code))) from error
        except OSError as error:
            raise OllamaError("{}{}: {}".format(self.url, path, error)) from error


def _refusal(body: bytes, status: int) -> str:
    """What a server says no with."""
    said = body.decode("utf-8", "replace").strip()
    with contextlib.suppress(ValueError, KeyError, TypeError):
        said = json.loads(said)["error"]
    return said or "HTTP {}".format(status)
