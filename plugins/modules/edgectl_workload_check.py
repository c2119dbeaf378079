#!/usr/bin/python
"""Ask a workload something, as its users will."""

from __future__ import annotations

import base64
import json
import socket
import time
import urllib.error
import urllib.request

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.edgectl_kubectl import Kubectl, KubectlError
from ansible.module_utils.edgectl_ollama import Ollama, OllamaError
from ansible.module_utils.edgectl_open_webui import OpenWebUI, OpenWebUIError
from ansible.module_utils.edgectl_service import wait_for
from ansible.module_utils.edgectl_workload_objects import secret_name

DOCUMENTATION = r"""
module: edgectl_workload_check
short_description: Asks a workload something, as its users will
description:
  - C(http) wants a page to answer, C(tcp) a port; C(wyoming) wants a server to say what it offers; C(script) is a
    program in Python that runs in the container, has to end well, and whose last line is the answer.
  - C(ollama) asks a question, measures how fast the answer comes, and looks where the model runs (C(size_vram) of
    /api/ps).
  - An Ollama that has a GPU and answers on the CPU fails, unless the GPU is a simulated one.
  - C(open-webui) signs in with the generated password, and asks a model of Ollama's through it. Who has changed that
    password is not asked for the new one, so it is only seen to answer then.
options:
  kind:
    description: What is asked.
    type: str
    required: true
    choices: [ollama, open-webui, http, wyoming, script, tcp]
  address: {type: str, required: true, description: Address of the Service.}
  port: {type: int, required: true, description: Its port.}
  path: {type: str, default: /, description: "What C(http) asks for."}
  data: {type: raw, description: "What C(http) posts, as JSON; it gets where there is none."}
  expect:
    description: Where in a JSON answer of C(http) something has to stand, such as C(choices.0.text).
    type: str
    default: ""
  script: {type: str, default: "", description: "Text of the program of C(script)."}
  model: {type: str, default: "", description: "Whom C(ollama) asks."}
  question: {type: str, default: "", description: "What C(ollama) asks."}
  kubectl:
    description: kubectl, with its options before the verb, for C(script) and for one who signs in.
    type: list
    elements: str
    default: []
  name: {type: str, default: "", description: Name of the workload.}
  namespace: {type: str, default: "", description: Where it runs.}
  sign_in: {type: dict, default: {}, description: "C(sign_in) of the entry: secret and user."}
  gpu: {type: bool, default: false, description: Whether it must answer on a GPU.}
  simulated: {type: bool, default: false, description: Whether that GPU is one that can't compute.}
  timeout: {type: int, default: 600, description: Seconds that an answer may take.}
  fix: {type: str, default: "", description: What to do about an answer that is none.}
attributes:
  check_mode: {support: full}
author: edgectl
"""

EXAMPLES = r"""
- name: Ollama answers on the GPU
  edgectl_workload_check:
    kind: ollama
    address: 10.96.0.7
    port: 11434
    model: deepseek-r1:1.5b
    question: Why is the sky blue?
    gpu: true
"""

RETURN = r"""
where: {description: "What answered: GPU, CPU, or the lab's stand-in for a GPU.", type: str, returned: success}
answer: {description: What it said., type: str, returned: success}
tokens_per_s: {description: How fast Ollama answered., type: float, returned: when kind is ollama}
signed_in: {description: Whether it took the generated password., type: bool, returned: when kind is open-webui}
"""

TOKENS = 48
LONGEST = 1 << 20
SHOWN = 300
ON_CPU, SIMULATED = "answered on CPU", " (simulated GPU)"
QUESTION = "Why is the sky blue?"


def ollama(options):
    server = Ollama("http://{address}:{port}".format(**options), options["timeout"])
    said = server.ask(options["model"], options["question"], TOKENS)
    memory = server.runs(options["model"])
    if not said["tokens"]:
        raise OllamaError("{} answered nothing".format(options["model"]))
    if memory["size_vram"] > 0:
        share = memory["size_vram"] * 100 // max(memory["size"], 1)
        where = "answered on GPU" if share >= 99 else "answered on GPU ({} % of the model is there)".format(share)
    elif options["simulated"] and options["gpu"]:
        where = ON_CPU + SIMULATED
    elif options["gpu"]:
        raise OllamaError(
            "{} {}, though its pod has a GPU: /api/ps says size_vram 0. Ollama's log tells which libraries it found; "
            "--cpu allows it".format(options["model"], ON_CPU)
        )
    else:
        where = ON_CPU
    return {**said, **memory, "where": where, "model": options["model"], "version": server.version()}


def open_webui(options):
    started = time.monotonic()
    server = OpenWebUI("http://{address}:{port}".format(**options), options["timeout"])
    if not server.sign_in(options["sign_in"]["user"], options["password"]):
        where = "it answers, and takes no longer the password that was generated: no model was asked"
        seconds = round(time.monotonic() - started, 1)
        return {"where": where, "answer": "", "signed_in": False, "seconds": seconds}
    models = server.models()
    if not models:
        raise OpenWebUIError("signed in, but it lists no model of Ollama's")
    said = server.ask(models[0], QUESTION, TOKENS)
    if not said:
        raise OpenWebUIError("signed in, but {} answered nothing".format(models[0]))
    where = "signed in, and {} answered through it".format(models[0])
    seconds = round(time.monotonic() - started, 1)
    return {"where": where, "answer": said, "signed_in": True, "seconds": seconds}


def generated(options):
    """The password of the workload's Secret. Raises KubectlError where there is none."""
    name, key = secret_name(options["name"]), options["sign_in"]["secret"]
    there = options["kubectl"].get("secret", name, "--namespace", options["namespace"]).get("data", {})
    if key not in there:
        raise KubectlError("the Secret {} has no {}".format(name, key))
    return base64.b64decode(there[key]).decode()


def http(options):
    url, started = "http://{address}:{port}{path}".format(**options), time.monotonic()
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    data = options.get("data")
    posted = None if data is None else json.dumps(data).encode()
    headers = {} if posted is None else {"Content-Type": "application/json"}
    request = urllib.request.Request(url, posted, headers)  # noqa: S310 - http, above
    try:
        with opener.open(request, timeout=options["timeout"]) as answer:
            status, body = answer.status, answer.read(LONGEST)
    except urllib.error.HTTPError as error:
        body = " ".join(error.read(LONGEST).decode("utf-8", "replace").split())[:SHOWN]
        raise OSError("{} answers with HTTP {}: {}".format(options["path"], error.code, body).rstrip(": ")) from error
    said = "{} answers with HTTP {}".format(options["path"], status)
    if options.get("expect"):
        said = str(at(body, options["path"], options["expect"]))
    return {"where": "answered", "answer": said, "seconds": round(time.monotonic() - started, 1)}


def at(body, path, place):
    """What stands at a place of a JSON answer, such as choices.0.text. Raises OSError where there is nothing."""
    try:
        found = json.loads(body)
    except ValueError as error:
        raise OSError("{} answers with something that is no JSON".format(path)) from error
    for word in place.split("."):
        if isinstance(found, list) and word.isdigit() and int(word) < len(found):
            found = found[int(word)]
        else:
            found = found.get(word) if isinstance(found, dict) else None
    if found in (None, "", [], {}):
        raise OSError("{} answers, but says nothing at {}".format(path, place))
    return found


def tcp(options):
    started = time.monotonic()
    with socket.create_connection((options["address"], options["port"]), options["timeout"]):
        said = "port {} takes connections".format(options["port"])
    return {"where": "answered", "answer": said, "seconds": round(time.monotonic() - started, 1)}


def wyoming(options):
    """What a server offers, by the events that the protocol is made of: a line of JSON, then as many bytes as it says.

    (github.com/rhasspy/wyoming, README.md.)
    """
    started = time.monotonic()
    with socket.create_connection((options["address"], options["port"]), options["timeout"]) as server:
        server.sendall(b'{"type": "describe"}\n')
        with server.makefile("rb") as answer:
            event = json.loads(answer.readline(LONGEST))
            data = dict(event.get("data") or {})
            data.update(json.loads(answer.read(int(event.get("data_length") or 0)) or b"{}"))
    if event.get("type") != "info":
        raise OSError("asked what it offers, it answers with {}".format(event.get("type")))
    offered = [
        "{} ({})".format(program["name"], ", ".join(model["name"] for model in models) or "no model")
        for programs in data.values()
        if isinstance(programs, list)
        for program in programs
        for models in [program.get("models") or program.get("voices") or []]
    ]
    if not offered:
        raise OSError("asked what it offers, it names nothing")
    said = "it offers " + ", ".join(offered)
    return {"where": "answered", "answer": said, "seconds": round(time.monotonic() - started, 1)}


def script(options):
    """What a program says in the container."""
    started = time.monotonic()
    # A program may take longer than the API; it has limits of its own.
    where = ["--namespace", options["namespace"], "--request-timeout=0", "deployment/" + options["name"]]
    said = options["kubectl"].run("exec", *where, "--", "python3", "-c", options["script"]).strip().splitlines()
    if not said:
        raise OSError("the script says nothing")
    return {"where": "answered", "answer": said[-1], "seconds": round(time.monotonic() - started, 1)}


KINDS = {
    "ollama": ollama,
    "open-webui": open_webui,
    "http": http,
    "wyoming": wyoming,
    "script": script,
    "tcp": tcp,
}


def asked(options):
    """What was asked, and where, in one line."""
    where = "{address}:{port}".format(**options)
    if options["kind"] in ("tcp", "wyoming"):
        return where
    if options["kind"] == "script":
        return "a program in the container of {name}".format(**options)
    if options["kind"] == "ollama":
        return "POST http://{}/api/generate, model {}: {}".format(where, options["model"], options["question"])
    if options["kind"] == "open-webui":
        return "a model through http://{}, signed in as {}".format(where, options["sign_in"]["user"])
    verb = "GET" if options["data"] is None else "POST"
    return "{} http://{}{}".format(verb, where, options["path"])


def main():
    module = AnsibleModule(
        argument_spec={
            "kind": {"type": "str", "required": True, "choices": list(KINDS)},
            "address": {"type": "str", "required": True},
            "port": {"type": "int", "required": True},
            "path": {"type": "str", "default": "/"},
            "data": {"type": "raw"},
            "expect": {"type": "str", "default": ""},
            "script": {"type": "str", "default": ""},
            "model": {"type": "str", "default": ""},
            "question": {"type": "str", "default": ""},
            "kubectl": {"type": "list", "elements": "str", "default": []},
            "name": {"type": "str", "default": ""},
            "namespace": {"type": "str", "default": ""},
            "sign_in": {"type": "dict", "default": {}},
            "gpu": {"type": "bool", "default": False},
            "simulated": {"type": "bool", "default": False},
            "timeout": {"type": "int", "default": 600},
            "fix": {"type": "str", "default": ""},
        },
        supports_check_mode=True,
    )
    options = dict(module.params)
    options["kubectl"] = Kubectl(module, options["kubectl"])
    if options["kind"] != "script":
        wait_for(options["address"], options["port"])
    try:
        if options["kind"] == "open-webui":
            options["password"] = generated(options)
        found = KINDS[options["kind"]](options)
    except (KubectlError, OllamaError, OpenWebUIError, ValueError, OSError) as error:
        lines = ["it does not answer as it should: {}".format(error), "asked: {}".format(asked(options))]
        module.fail_json(msg="\n".join([*lines, *(["fix: " + options["fix"]] if options["fix"] else [])]))
    if found["where"] == "answered" and options["gpu"] and options["simulated"]:
        found["where"] = ON_CPU + SIMULATED
    module.exit_json(changed=False, kind=options["kind"], **found)


if __name__ == "__main__":
    main()
