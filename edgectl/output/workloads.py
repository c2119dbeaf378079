"""The catalogue and what was deployed of it, for people and as documents."""

from __future__ import annotations

import json
import shlex
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from edgectl import content
from edgectl.cluster.verb import Outcome
from edgectl.exitcodes import ExitCode
from edgectl.output import summary
from edgectl.output.jsonl import SCHEMA_VERSION
from edgectl.ssh.forward import bracketed
from edgectl.workloads import catalogue
from edgectl.workloads.catalogue import CATEGORIES, Bundle, Workload
from edgectl.workloads.deployed import Way

Fits = Mapping[str, Sequence[Mapping[str, Any]]]

_WIDTH = 100
_INDENT = "  "
# Below this many columns there is no room for all of a table.
_WIDE = 110
_KINDS = {
    "pod": "a pod that nobody calls",
    "job": "a job: it runs to its end, and its exit code tells",
    "cronjob": "a job by a schedule",
    "shell": "a pod with a terminal",
}
_DOES = {"cronjob": "waits for its time", "job": "runs"}
_WOULD = {"cronjob": "would wait for its time"}
_LOGS = {"pod": "deployment/{name}", "job": "job/{name}", "shell": "{name}"}
_AGAIN = "the cluster keeps it, and shows it again:"
_GPU = {"required": "yes", "optional": "if there is one", "none": "no"}


def lines(workloads: Sequence[Workload], bundles: Sequence[Bundle] = (), *, width: int) -> Iterator[str]:
    """All of them by category, in one table of as many columns as the terminal has room for, then the bundles.

    width: in characters.
    """
    wide = width >= _WIDE
    header = ("NAME", "GPU", "IMAGES FOR", "PROVED", "WHAT IT IS") if wide else ("NAME", "IMAGES FOR", "WHAT IT IS")
    rows = {workload.name: _row(workload, wide=wide) for workload in workloads}
    # The same columns in all categories, or the eye has to begin anew with each.
    sizes = [max(len(row[at]) for row in (header, *rows.values())) for at in range(len(header) - 1)]
    for category, title in CATEGORIES.items():
        some = [workload.name for workload in workloads if workload.category == category]
        if some:
            yield title
            for row in (header, *(rows[name] for name in some)):
                yield from _cells(row, sizes, width)
            yield ""
    if bundles:
        yield "Several in one"
        parts = [(one.name, ", ".join(part.name for part in one.parts), str(one.data["summary"])) for one in bundles]
        yield from summary.table(("NAME", "PARTS", "WHAT IT IS"), parts)
        yield ""
    if not wide:
        yield "A wider terminal shows GPU and proof too."
    yield "edgectl catalog NAME: its parameters and images. edgectl deploy NAME: run it."


def _cells(row: Sequence[str], sizes: Sequence[int], width: int) -> Iterator[str]:
    """A line of the table; its last column goes on below itself."""
    before = _INDENT + "".join(cell.ljust(size + 2) for cell, size in zip(row, sizes, strict=False))
    for number, part in enumerate(textwrap.wrap(row[-1], max(20, width - len(before)))):
        yield (before if number == 0 else " " * len(before)) + part


def _row(workload: Workload, *, wide: bool) -> tuple[str, ...]:
    data = workload.data
    name, platforms = workload.name, ", ".join(workload.platforms)
    if not wide:
        return name, platforms, data["summary"]
    return name, _GPU[data["needs"]["gpu"]], platforms, data["proof"]["level"], data["summary"]


def entry_lines(workload: Workload) -> Iterator[str]:
    """One entry in detail."""
    data = workload.data
    yield f"{workload.title}: {data['summary']}"
    proof = data["proof"]
    yield f"{_INDENT}proved    {proof['level']}{': ' + proof['where'] if proof.get('where') else ''}"
    yield f"{_INDENT}GPU       {_GPU[data['needs']['gpu']]}"
    if data.get("kind") in _KINDS:
        yield f"{_INDENT}kind      {_KINDS[data['kind']]}"
    if "port" in data:
        yield f"{_INDENT}port      {data['port']}, {'with a login of its own' if data['login'] else 'without a login'}"
    if data.get("requires"):
        yield f"{_INDENT}needs     {', '.join(data['requires'])} in the same namespace"
    yield ""
    yield "Images"
    rows = [(_where(image), ", ".join(image["arch"]), _image(image)) for image in data["images"]]
    yield from summary.table(("PLATFORM", "ARCH", "IMAGE"), rows)
    if data.get("parameters"):
        yield ""
        yield "Parameters (--set KEY=VALUE)"
        found = [
            (key, one["type"], _shown(one.get("default")), one["description"])
            for key, one in data["parameters"].items()
        ]
        yield from summary.table(("KEY", "TYPE", "DEFAULT", "WHAT IT IS"), found)
    if data.get("model"):
        yield ""
        yield "Models whose need of memory is known"
        known = [(name, f"{one['gb']} GB") for name, one in data["model"]["known"].items()]
        yield from summary.table(("MODEL", "DOWNLOAD"), known)
    for title, texts in (("Notes", data.get("notes", ())), ("Sources", data["sources"])):
        if texts:
            yield ""
            yield title
            for text in texts:
                yield from textwrap.wrap(text, _WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT * 2)


def _image(image: Mapping[str, Any]) -> str:
    if "tags" in image:
        return f"{image['repository']}, one of {len(image['tags'])} tags by the board's release"
    return f"{image['image']}@{image['digest']}" if "digest" in image else str(image["image"])


def _where(image: Mapping[str, Any]) -> str:
    first, end = image.get("l4t_from"), image.get("l4t_before")
    parts = [image["platform"]]
    if first or end:
        parts.append(
            " ".join(filter(None, ("L4T", f"from R{first}" if first else "", f"before R{end}" if end else "")))
        )
    if "cuda" in image:
        parts.append(f"CUDA {image['cuda']}")
    return ", ".join(parts)


def _shown(value: object) -> str:
    return "-" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def fit_lines(fits: Fits) -> Iterator[str]:
    """Node by node: what a workload would run with there, or why it does not fit."""
    rows = [
        (name, fit["node"], fit.get("platform", "?"), "no: " + fit["why_not"] if fit["why_not"] else _would(fit))
        for name, found in fits.items()
        for fit in found
    ]
    yield from summary.table(("WORKLOAD", "NODE", "PLATFORM", "FITS"), rows)


def _would(fit: Mapping[str, Any]) -> str:
    gpu = f", 1 {fit['resource']}" if fit["gpu"] else ""
    return f"yes: {fit['request_mib']} of {fit['free_mib']} MiB{gpu}"


def document(workloads: Sequence[Workload], fits: Fits | None, bundles: Sequence[Bundle] = ()) -> dict[str, Any]:
    """The catalogue as one JSON document."""
    entries = [{"name": workload.name, **workload.data} for workload in workloads]
    found = {"schema_version": SCHEMA_VERSION, "kind": "catalog", "workloads": entries}
    found["bundles"] = [{"name": bundle.name, **bundle.data} for bundle in bundles]
    return found if fits is None else {**found, "fits": {name: list(some) for name, some in fits.items()}}


def opened_lines(name: str, way: Way, namespace: str, path: Path) -> Iterator[str]:
    """Where it is reached now. The URL comes first, so that it can be taken from the first line.

    path: of the inventory.
    """
    data = catalogue.read()[name].data if name in catalogue.read() else {}
    yield f"{_scheme(data)}://127.0.0.1:{way.forward.port}"
    if way.taken:
        yield f"{_INDENT}port {way.taken} of this machine is taken, so it has another one"
    if data.get("sign_in"):
        yield f"{_INDENT}login: {_account(data['sign_in'])}; what was generated shows"
        yield f"{_INDENT}  {_shows(data['sign_in'], name, namespace, shlex.quote(str(path)))}"
    elif data.get("first_login"):
        yield f"{_INDENT}login: {data['first_login']}"
    elif data.get("login"):
        yield f"{_INDENT}login: it has one of its own"
    elif data:
        yield f"{_INDENT}login: none; every program of this machine reaches it while this runs"
    yield f"{_INDENT}leads to {name} until Ctrl-C"


def deployed_lines(
    outcome: Outcome, workload: Workload | Bundle, *, plan: bool, passwords: Mapping[str, str] | None = None
) -> Iterator[str]:
    """What runs now and how it is used, or what failed.

    passwords: by workload, what this run has generated for people.
    """
    told = outcome.result.summary.get("workload")
    if told is None or not outcome.result.ok:
        yield from summary.lines(outcome)
        return
    everything = outcome.result.summary.get("workloads") or [told]
    for one in everything:
        yield from _made(one, plan=plan)
        yield ""
    if plan:
        yield from summary.plan_lines(outcome)
        return
    changed = sorted({change.task for change in outcome.result.changes})
    yield f"Changed: {', '.join(changed)}" if changed else "Nothing was changed."
    yield ""
    path = shlex.quote(str(outcome.session.inventory.path))
    if told["plan"].get("kind", "service") != "service":
        yield from _commands(told["plan"], path)
    else:
        yield from _addresses(outcome, workload, everything, path)
        for one in everything:
            yield from _sign_in(one, (passwords or {}).get(one["plan"]["name"], ""), path)
    for host, reason in outcome.session.missing.items():
        yield f"{host} was left out: {reason}"
    yield f"Log: {outcome.result.log_path}"


def _addresses(
    outcome: Outcome, workload: Workload | Bundle, everything: Sequence[Mapping[str, Any]], path: str
) -> Iterator[str]:
    """How services are reached and removed."""
    last = everything[-1]["plan"]
    parts = {part.name: part for part in (workload.parts if isinstance(workload, Bundle) else (workload,))}
    for one in everything:
        part = parts[one["plan"]["name"]]
        if one["ready"]:
            yield from _usage(part, one["plan"], one["ready"], outcome)
        elif one["plan"].get("expose") and not part.data["login"]:
            yield f"warning: {part.title} has no login: anybody who reaches it from outside can use it"
    if not everything[-1]["ready"]:
        yield f"Not waited for. How far it is: edgectl logs {last['name']} {path}{_in(last)}"
    else:
        yield f"From here       edgectl open {last['name']} {path}{_in(last)}"
        yield f"Remove it       edgectl undeploy {workload.name} {path}{_in(last)}  (--purge: with its data)"


def _sign_in(told: Mapping[str, Any], password: str, path: str) -> Iterator[str]:
    """With what people sign in: shown when it was made, and else how it is shown again."""
    known = told.get("sign_in")
    if not known:
        return
    made = told["plan"]
    if (told["answer"] or {}).get("signed_in") is False:
        yield f"Sign in         as before; the password that was generated for {known['user']} is not taken (any more)"
        return
    if password:
        yield f"Sign in         {_account(known)} {password}"
        yield f"                shown this once; {_AGAIN}"
    else:
        yield f"Sign in         {_account(known)}: {_AGAIN}"
    yield f"                {_shows(known, made['name'], made['namespace'], path)}"


def _account(known: Mapping[str, Any]) -> str:
    return f"{known['user']}, password" if known.get("user") else "token"


def _shows(known: Mapping[str, Any], name: str, namespace: str, path: str) -> str:
    """The command that shows what was generated."""
    secret = content.module_util("edgectl_workload_objects").secret_name(name)
    value = "{{.data." + known["secret"] + "|base64decode}}"
    return f"edgectl kubectl -i {path} -- -n {namespace} get secret {secret} -o go-template='{value}'"


def _made(told: Mapping[str, Any], *, plan: bool) -> Iterator[str]:
    made, ready, answer = told["plan"], told["ready"], told["answer"]
    simulated = " (simulated)" if made["simulated"] else ""
    kind, several = made.get("kind", "service"), made.get("replicas", 1)
    does = _WOULD.get(kind, "would run") if plan else _DOES.get(kind, "runs")
    ended = ready.get("exit_code") is not None if ready else False
    yield f"{made['title']} {'ran' if ended else does} on {made['node']}, {made['platform']}{simulated}"
    slots = f"{made.get('gpus', 1)} {made['resource']}{' each' if several > 1 else ''}"
    rows = [
        ("image", made["image"]),
        *([("pods", str(several))] if several > 1 else []),
        ("GPU", slots if made["gpu"] else "none"),
        ("memory", _memory(made)),
        *([("data", _data(made))] if made.get("volumes", True) else []),
        *([("ended", f"with exit code {ready['exit_code']}")] if ended else []),
        *([("answer", _printable(answer["answer"])), ("proof", _proof(answer))] if answer else []),
        *([("usual", _usual(made["expected"]))] if made.get("expected") else []),
    ]
    yield from (f"{_INDENT}{key:8}{text}" for key, text in rows)
    if ready and ready.get("log"):
        yield f"{_INDENT}log"
        yield from (_INDENT * 2 + "".join(s if s.isprintable() else " " for s in line) for line in _log(ready))


def _in(made: Mapping[str, Any]) -> str:
    return f" --namespace {made['namespace']}" if made["namespace"] != "workloads" else ""


def _log(ready: Mapping[str, Any]) -> list[str]:
    return str(ready["log"]).splitlines()


def _data(made: Mapping[str, Any]) -> str:
    return str(made["data"]) if made["data"].startswith("StorageClass") else f"{made['data']} on {made['node']}"


def _commands(made: Mapping[str, Any], path: str) -> Iterator[str]:
    """How one without a Service is looked at and removed."""
    name, namespace = made["name"], made["namespace"]
    look = f"get jobs -l app.kubernetes.io/name={name}" if made["kind"] == "cronjob" else f"logs {_LOGS[made['kind']]}"
    yield f"Look at it      edgectl kubectl -i {path} -- -n {namespace} {look.format(name=name)}"
    yield f"Remove it       edgectl undeploy {name} {path}{_in(made)}"


def _usage(workload: Workload, made: Mapping[str, Any], ready: Mapping[str, Any], outcome: Outcome) -> Iterator[str]:
    domain = outcome.session.inventory.option("cluster_domain", "cluster.local")
    yield f"In the cluster  {_scheme(workload.data)}://{workload.name}.{made['namespace']}.svc.{domain}:{ready['port']}"
    if _scheme(workload.data) == "http":
        yield f"On any node     {curl(workload, made['parameters'], ready)}"
    url = _outside(workload, made, ready, outcome)
    if url:
        yield f"From outside    {url}"
        if not workload.data["login"]:
            yield f"warning: {workload.title} has no login: anybody who reaches {url} can use it"


def _outside(workload: Workload, made: Mapping[str, Any], ready: Mapping[str, Any], outcome: Outcome) -> str:
    """Where it is reached from outside the cluster; empty for one that is not exposed."""
    way, domain = content.module_util("edgectl_workload_objects").exposure(made.get("expose", ""))
    if way == "ingress":
        return f"http://{domain}"
    if way != "nodeport" or not ready.get("node_port"):
        return ""
    inventory = outcome.session.inventory
    remembered = inventory.state.hosts.get(made["node"])
    lan = inventory.host(made["node"]).option("cluster_lan_address", None)
    address = lan or (remembered and remembered.lan_address) or outcome.session.targets[made["node"]].address
    return f"{_scheme(workload.data)}://{bracketed(str(address))}:{ready['node_port']}"


def _scheme(data: Mapping[str, Any]) -> str:
    return "http" if content.module_util("edgectl_workload_entry").speaks_http(data) else "tcp"


def curl(workload: Workload, parameters: Mapping[str, Any], ready: Mapping[str, Any]) -> str:
    """A command line that uses it, on a node."""
    how = workload.data.get("try_it") or {"path": "/"}
    url = f"http://{ready['address']}:{ready['port']}{how['path']}"
    if "data" not in how:
        return f"curl {url}"
    body = {key: _filled(value, parameters) for key, value in how["data"].items()}
    return f"curl {url} -d {shlex.quote(json.dumps(body))}"


def _filled(value: object, parameters: Mapping[str, Any]) -> object:
    if isinstance(value, str) and value.startswith("{") and value.endswith("}"):
        return parameters.get(value[1:-1], value)
    return value


def _memory(made: Mapping[str, Any]) -> str:
    need = made["memory_mib"]
    parts = [f"{need[what]} {what}" for what in ("runtime", "model", "cache") if need[what]]
    each = " each" if made.get("replicas", 1) > 1 else ""
    return f"{made['request_mib']} MiB{each} of {made['free_mib']} left ({' + '.join(parts)})"


def _proof(answer: Mapping[str, Any]) -> str:
    if answer["kind"] == "open-webui":
        return f"{answer['where']} in {answer['seconds']} s"
    if answer["kind"] != "ollama":
        return f"{answer['where']} in {answer['seconds']} s"
    rate = f"{answer['tokens']} tokens, {answer['tokens_per_s']} tokens/s"
    return f"{answer['where']}: {rate}, in {answer['seconds']} s; {answer['model']}, Ollama {answer['version']}"


def _usual(expected: Mapping[str, Any]) -> str:
    return f"about {expected['tokens_per_s']} tokens/s on an {expected['board']} ({expected['source']})"


def _printable(text: str) -> str:
    """The beginning of an answer: a model may say anything, control characters too."""
    plain = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
    return plain if len(plain) <= 80 else plain[:79] + "…"


def deployed_document(outcome: Outcome) -> dict[str, Any]:
    """The run as one JSON document; what was deployed is in `summary`."""
    return summary.document(outcome)


def exit_code(outcome: Outcome, *, plan: bool) -> ExitCode:
    """As everywhere; a plan with something to do has its own."""
    if plan and outcome.exit_code is ExitCode.OK and outcome.result.changes:
        return ExitCode.CHANGES
    return outcome.exit_code


def removed_lines(outcome: Outcome, workload: Workload | Bundle, *, purge: bool) -> Iterator[str]:
    """What is gone, and what stays."""
    removed = outcome.result.summary.get("removed")
    if removed is None or not outcome.result.ok:
        yield from summary.lines(outcome)
        return
    near = f" Did you mean {workload.data['near']}?" if workload.data.get("near") and not removed else ""
    yield f"{workload.title}: removed {', '.join(removed)}" if removed else f"{workload.title} was not there.{near}"
    if purge:
        yield "Its data is deleted on every host that answered."
    elif "images" in workload.data or isinstance(workload, Bundle):
        yield "Its data stays for the next deploy; --purge deletes it."
    elif removed:
        yield "What it kept in volumes stays; --purge deletes it."
    for host, reason in outcome.session.missing.items():
        yield f"{host} was left out: {reason}"
    yield f"Log: {outcome.result.log_path}"
