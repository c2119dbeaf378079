#!/usr/bin/python
"""Give Docker one more runtime by its daemon.json, without disturbing a container."""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import re
import shutil
import socket
import time

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.edgectl_text_files import read, write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

DOCUMENTATION = r"""
module: edgectl_docker_runtime
short_description: Adds a runtime to Docker
description:
  - Adds the runtime to C(daemon.json), where every other key stays. Docker itself judges the file before it gets its
    place, where its release can (C(dockerd --validate), 23.0 and later).
  - A Docker that runs reads it by a reload, which changes runtimes and default runtime and disturbs no container
    (moby's daemon/reload_unix.go), and must then know the runtime. One that doesn't run is not started.
  - A runtime of that name which somebody else has configured is left to them where it is the same program, and a
    reason to stop where it is another.
options:
  name: {type: str, default: nvidia, description: "Name of the runtime, as in C(docker run --runtime)."}
  binary: {type: path, description: The program that takes runc's place. Needed with C(state=present).}
  default: {type: bool, default: false, description: Whether containers that ask for no runtime get this one.}
  path: {type: path, default: /etc/docker/daemon.json, description: Docker's configuration; made where it is missing.}
  record:
    description: Where the file as it was, and our changes, are kept.
    type: path
    default: /var/lib/edgectl/nvidia_toolkit/docker.json
  socket: {type: path, default: /run/docker.sock, description: Where Docker's API listens.}
  state:
    description: C(absent) puts the file back, byte for byte unless somebody has edited it since.
    type: str
    choices: [present, absent]
    default: present
author: edgectl
"""

EXAMPLES = r"""
- name: NVIDIA's runtime
  edgectl_docker_runtime:
    binary: /usr/bin/nvidia-container-runtime
"""

RETURN = r"""
adopted: {description: Whether somebody else configured all of it., type: bool, returned: when state is present}
reloaded: {description: Whether a running Docker was told to read the file again., type: bool, returned: always}
"""

# Docker's own, which it uses where nothing else is said.
STOCK_RUNTIME = "runc"
PATIENCE_S = 15.0


class Refused(Exception):
    """Why the runtime can't be added."""


# -- daemon.json -------------------------------------------------------------------------------------------------------


def parsed(text: str) -> "dict[str, Any]":
    """daemon.json as a mapping; ValueError where it is no JSON."""
    document = json.loads(text) if text.strip() else {}
    if not isinstance(document, dict) or not isinstance(document.get("runtimes", {}), dict):
        raise Refused("it is no JSON object, or its `runtimes` is none")
    return document


def written(document: "dict[str, Any]", like: str) -> str:
    """A mapping as JSON, indented as a text is that stood there before."""
    indent = re.search(r'^\{\s*\n([ \t]+)"', like)
    return json.dumps(document, indent=indent.group(1) if indent else 4, ensure_ascii=False) + "\n"


def is_program(runtime: "Any", binary: str) -> bool:
    """Whether a runtime's entry is this program, by its path or, as Docker takes it too, by its name in PATH."""
    path = runtime.get("path") if isinstance(runtime, dict) else None
    found = shutil.which(path) if isinstance(path, str) else None
    return path == binary or (found is not None and os.path.realpath(found) == os.path.realpath(binary))


def with_runtime(text: str, name: str, binary: str, default: bool) -> "tuple[str, list[dict[str, Any]]]":
    """daemon.json with the runtime, and what was changed for it: [{"path":, "before":, "ours":}]."""
    document = parsed(text)
    known = document.get("runtimes", {}).get(name)
    changes = []  # type: list[dict[str, Any]]
    if known is None:
        changes.append({"path": ["runtimes", name], "before": None, "ours": {"path": binary, "args": []}})
    elif not is_program(known, binary):
        raise Refused(
            "its runtime {} is {}, not {}: take that entry out, or leave docker out of nvidia_toolkit_runtimes".format(
                name, json.dumps(known), binary
            )
        )
    if default and document.get("default-runtime") != name:
        changes.append({"path": ["default-runtime"], "before": document.get("default-runtime"), "ours": name})
    for change in changes:
        put(document, change["path"], change["ours"])
    return (written(document, text) if changes else text), changes


def put(document: "dict[str, Any]", path: "list[str]", value: "Any") -> None:
    """Set a value; None takes it away, and the object around it where that is then empty."""
    if len(path) > 1:
        inner = document.setdefault(path[0], {})
        put(inner, path[1:], value)
        if not inner:
            del document[path[0]]
    elif value is None:
        document.pop(path[0], None)
    else:
        document[path[0]] = value


def got(document: "dict[str, Any]", path: "list[str]") -> "Any":
    for part in path:
        document = document.get(part) if isinstance(document, dict) else None  # type: ignore[assignment]
    return document


def given_back(text: str, record: "dict[str, Any]") -> "str | None":
    """The file as it was; None where there was none. In one that somebody has edited since, only our values change."""
    if digest(text) in record["ours"]:
        original = record["original"]  # type: str | None
        return original
    document = parsed(text)
    changed = False
    for change in record["changes"]:
        if got(document, change["path"]) == change["ours"]:
            put(document, change["path"], change["before"])
            changed = True
    if record["original"] is None and not document:
        return None
    return written(document, text) if changed else text


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def explicit(text: "str | None", keys: "set[str]") -> str:
    """The same configuration with these keys in it: on a reload Docker keeps what it knew of one that is missing."""
    stock = {"runtimes": {}, "default-runtime": STOCK_RUNTIME}  # type: dict[str, Any]
    added = {key: value for key, value in stock.items() if key in keys}
    return written({**added, **parsed(text or "")}, text or "")


def keys_of(*changes: "dict[str, Any]") -> "set[str]":
    return {str(change["path"][0]) for change in changes}


# -- the Docker of this host -------------------------------------------------------------------------------------------


class Docker:
    """dockerd and its unit."""

    def __init__(self, module: AnsibleModule) -> None:
        self.module = module

    def flags(self) -> str:
        """The command line by which systemd starts it."""
        _, out, _ = self.module.run_command(["systemctl", "show", "docker.service", "--property=ExecStart", "--value"])
        return str(out)

    def judge(self, text: str) -> None:
        """Let dockerd look at a configuration; Refused where it does not like it."""
        dockerd = self.module.get_bin_path("dockerd")
        if not dockerd or "--validate" not in self.module.run_command([dockerd, "--help"])[1]:
            return
        trial = os.path.join(self.module.tmpdir, "daemon.json")
        write(self.module, trial, text, 0o600)
        rc, out, err = self.module.run_command([dockerd, "--validate", "--config-file", trial])
        os.unlink(trial)
        if rc != 0:
            raise Refused("dockerd does not accept it with the runtime: " + (err or out).strip())

    def info(self) -> "dict[str, Any] | None":
        """What the running Docker says of itself; None where it does not run, or listens elsewhere only."""
        if self.module.run_command(["systemctl", "is-active", "--quiet", "docker.service"])[0] != 0:
            return None
        connection = http.client.HTTPConnection("localhost", timeout=PATIENCE_S)
        try:
            connection.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            connection.sock.settimeout(PATIENCE_S)
            connection.sock.connect(self.module.params["socket"])
            connection.request("GET", "/info")
            answer = json.loads(connection.getresponse().read().decode("utf-8"))
        except (OSError, ValueError, http.client.HTTPException):
            return None
        finally:
            connection.close()
        return answer if isinstance(answer, dict) else None

    def reload(self, is_right: "Callable[[dict[str, Any]], bool]") -> None:
        """Have it read its configuration again, until its answer is right."""
        self.module.run_command(["systemctl", "reload", "docker.service"], check_rc=True)
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            info = self.info()
            if info is not None and is_right(info):
                return
            time.sleep(0.2)
        raise Refused("the Docker that runs did not take it over: journalctl -u docker.service")


def runs_it(info: "dict[str, Any]", name: str, binary: str, default: bool) -> bool:
    """Whether a running Docker knows the runtime."""
    known = (info.get("Runtimes") or {}).get(name)
    return is_program(known, binary) and (not default or info.get("DefaultRuntime") == name)


def runs_as_told(info: "dict[str, Any]", told: str, name: str) -> bool:
    """Whether a running Docker has what a configuration says about this runtime and the default one, if it does."""
    document, default = parsed(told), info.get("DefaultRuntime")
    if "runtimes" in document and (name in document["runtimes"]) != (name in (info.get("Runtimes") or {})):
        return False
    return bool(document.get("default-runtime", default) == default)


def by_flag(flags: str, name: str, binary: str, changes: "list[dict[str, Any]]") -> bool:
    """Whether the command line of dockerd names the runtime; Refused where it forbids to name it in the file.

    (dockerd does not start where a setting comes from both: moby's daemon/config, findConfigurationConflicts.)
    """
    found = re.search(r"--add-runtime[= ]" + re.escape(name) + r"=(\S+)", flags)
    if found and is_program({"path": found.group(1)}, binary) and all(one["path"][0] == "runtimes" for one in changes):
        return True
    for key, flag in (("runtimes", "--add-runtime"), ("default-runtime", "--default-runtime")):
        if flag in flags and any(change["path"][0] == key for change in changes):
            raise Refused(
                "docker.service starts dockerd with {}, which then accepts no {} in this file; move it there "
                "(systemctl cat docker.service)".format(flag, key)
            )
    return False


def keep(module: AnsibleModule, record: "dict[str, Any]") -> None:
    write(module, module.params["record"], json.dumps(record, indent=2) + "\n", 0o600)


def put_file(module: AnsibleModule, path: str, text: "str | None") -> None:
    """Give the file this text; None: it goes."""
    if text is not None:
        write(module, path, text, os.stat(path).st_mode & 0o777 if os.path.exists(path) else 0o644)
    elif os.path.exists(path):
        os.unlink(path)


def tell(module: AnsibleModule, docker: Docker, record: "Any", told: str, is_right: "Callable[[Any], bool]") -> None:
    """Have the running Docker read its file, where this has to be in it meanwhile. record: of the file, if any."""
    path = os.path.realpath(module.params["path"])
    text = read(path) if os.path.exists(path) else None
    if parsed(told) == parsed(text or ""):
        docker.reload(is_right)
        return
    # Whoever comes after a kill must know this text, too.
    keep(module, {**record, "ours": [*record["ours"], digest(told)]})
    try:
        put_file(module, path, told)
        docker.reload(is_right)
    finally:
        put_file(module, path, text)


def present(module: AnsibleModule, docker: Docker) -> "dict[str, Any]":
    asked = module.params
    path, what = os.path.realpath(asked["path"]), (asked["name"], asked["binary"], asked["default"])
    there, before, record = os.path.exists(path), read(path), json.loads(read(asked["record"]) or "null")
    base = given_back(before, record) if record else before if there else None
    after, changes = with_runtime(base or "", *what)
    if by_flag(docker.flags(), what[0], what[1], changes):
        after, changes = base or "", []
    if changes and record and parsed(after) == parsed(before):
        # Somebody has edited it since, and left ours alone.
        after = before
    kept = record
    if after != before:
        docker.judge(after)
        kept = {
            "original": base,
            "ours": [digest(after)],
            "changes": changes,
            "directory_was_there": record["directory_was_there"] if record else os.path.isdir(os.path.dirname(path)),
        }
        if not module.check_mode:
            keep(module, kept)
            put_file(module, path, after if changes else base)
    told = explicit(after, keys_of(*changes, *(record["changes"] if record else [])))

    def is_right(said: "dict[str, Any]") -> bool:
        return runs_it(said, *what) and runs_as_told(said, told, what[0])

    info = docker.info()
    late = info is not None and not is_right(info)
    if not module.check_mode:
        try:
            if late:
                tell(module, docker, kept, told, is_right)
        except Refused:
            put_file(module, path, before if there else None)
            changes = record["changes"] if record else []
            if record:
                keep(module, record)
            raise
        finally:
            if kept and not changes:
                os.unlink(asked["record"])
    return {
        "changed": after != before or late,
        "adopted": not changes,
        "reloaded": late,
        "diff": {"before": before, "after": after, "before_header": path},
    }


def absent(module: AnsibleModule, docker: Docker) -> "dict[str, Any]":
    path, name, record_path = os.path.realpath(module.params["path"]), module.params["name"], module.params["record"]
    there, before, record = os.path.exists(path), read(path), json.loads(read(record_path) or "null")
    if not record:
        return {"changed": False, "reloaded": False}
    after = given_back(before, record) if there else None
    told = explicit(after, keys_of(*record["changes"]))
    info = docker.info()
    late = info is not None and not runs_as_told(info, told, name)
    if not module.check_mode:
        keep(module, {**record, "original": after, "ours": [*record["ours"], digest(after or "")]})
        put_file(module, path, after)
        if late:
            tell(module, docker, json.loads(read(record_path)), told, lambda said: runs_as_told(said, told, name))
        place = os.path.dirname(path)
        if not record["directory_was_there"] and os.path.isdir(place) and not os.listdir(place):
            os.rmdir(place)
        os.unlink(record_path)
    return {
        "changed": True,
        "reloaded": late,
        "diff": {"before": before, "after": after or "", "before_header": path},
    }


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "name": {"type": "str", "default": "nvidia"},
            "binary": {"type": "path"},
            "default": {"type": "bool", "default": False},
            "path": {"type": "path", "default": "/etc/docker/daemon.json"},
            "record": {"type": "path", "default": "/var/lib/edgectl/nvidia_toolkit/docker.json"},
            "socket": {"type": "path", "default": "/run/docker.sock"},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        },
        required_if=[("state", "present", ("binary",))],
        supports_check_mode=True,
    )
    act = present if module.params["state"] == "present" else absent
    try:
        result = act(module, Docker(module))
    except Refused as error:
        module.fail_json(msg="{}: {}".format(module.params["path"], error))
    except ValueError as error:
        module.fail_json(msg="{} can't be read, by Docker neither; mend it: {}".format(module.params["path"], error))
    module.exit_json(**result)


if __name__ == "__main__":
    main()
