"""Asks a Jupyter server, in its own container, to start a kernel and to compute; the last line is the answer.

Where the container has a GPU, the kernel has to find it by CUDA's driver. A wrong token must be refused.
(jupyter-server.readthedocs.io, REST API, "WebSocket kernel wire protocols"; docs.nvidia.com, CUDA driver API, cuInit.)
"""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
import uuid

import websocket

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SERVER = "127.0.0.1:8888"
LOGIN = "token " + os.environ["JUPYTER_TOKEN"]
SUM = "print(sum(range(10)))"
CUDA = "import ctypes; print(ctypes.CDLL('libcuda.so.1').cuInit(0))"
# What cuInit answers by what edgectl gave the container; the lab's stand-in for a GPU has no device.
INIT = {"real": "0", "simulated": "100"}


def ask(method: str, path: str, login: str = LOGIN) -> Any:  # noqa: ANN401 - JSON
    """What the server answers."""
    headers = {"Authorization": login, "Content-Type": "application/json"}
    data = b"{}" if method == "POST" else None
    request = urllib.request.Request("http://" + SERVER + path, data, headers, method=method)
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310 - http
        return json.loads(answer.read() or b"{}")


def compute(connection: websocket.WebSocket, code: str) -> str:
    """What code prints in the kernel."""
    own, said = uuid.uuid4().hex, ""
    header = {"msg_id": own, "msg_type": "execute_request", "session": own, "username": "", "version": "5.3"}
    content = {"code": code, "silent": False, "store_history": False, "user_expressions": {}, "allow_stdin": False}
    request = {"channel": "shell", "header": header, "parent_header": {}, "metadata": {}, "content": content}
    connection.send(json.dumps(request))
    # Output and the reply come by two channels, in either order.
    missing = {"status: idle", "execute_reply"}
    while missing:
        message = json.loads(connection.recv())
        if message["parent_header"].get("msg_id") != own:
            continue
        kind, content = message["msg_type"], message["content"]
        if kind == "stream":
            said += content["text"]
        if kind == "error":
            raise SystemExit(f"the kernel says {content['ename']}: {content['evalue']}")
        missing.discard("status: " + content["execution_state"] if kind == "status" else kind)
    return said.strip()


def main() -> None:
    """Ask all of it."""
    try:
        ask("GET", "/api/kernels", "token wrong")
        raise SystemExit("it takes a token that is not its own")
    except urllib.error.HTTPError as error:
        if error.code not in (401, 403):
            raise
    kernel = ask("POST", "/api/kernels")["id"]
    try:
        channels = f"ws://{SERVER}/api/kernels/{kernel}/channels"
        connection = websocket.create_connection(channels, header=["Authorization: " + LOGIN], timeout=120)
        answer = compute(connection, SUM)
        if answer != "45":
            raise SystemExit(f"the sum of 0 to 9 is 45, and the kernel says {answer!r}")
        gpu = os.environ.get("EDGECTL_GPU")
        found = compute(connection, CUDA) if gpu else ""
        if gpu and found != INIT[gpu]:
            raise SystemExit(f"the kernel finds no GPU: cuInit answers {found}")
    finally:
        ask("DELETE", "/api/kernels/" + kernel)
    sees = {"real": " and found the GPU", "simulated": " and found the simulated GPU"}.get(gpu, "")
    print("a kernel computed" + sees)


if __name__ == "__main__":
    main()
