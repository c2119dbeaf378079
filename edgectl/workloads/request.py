"""What `edgectl deploy` was asked for, as the playbook's variables and as the words that repeat it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgectl import content
from edgectl.errors import UsageError
from edgectl.inventory import Inventory
from edgectl.inventory.documents import did_you_mean
from edgectl.workloads.catalogue import Bundle, Workload

PLATFORMS = ("jetson", "dgpu", "cpu")


@dataclass(frozen=True)
class Wish:
    """Where and how it is to run; empty means whatever fits best."""

    node: str = ""
    platform: str = ""
    namespace: str = "workloads"
    cpu: bool = False
    storage_class: str = ""
    wait: bool = True
    replicas: int = 1
    expose: str = ""


def variables(workload: Workload | Bundle, given: Mapping[str, str], wish: Wish) -> dict[str, Any]:
    """The playbook's variables. Raises UsageError or Problems for what can't be meant."""
    if wish.platform and wish.platform not in PLATFORMS:
        near = did_you_mean(wish.platform, PLATFORMS)
        raise UsageError(
            f"--platform {wish.platform}: there is no such platform",
            f"there are {', '.join(PLATFORMS)}",
            f"did you mean {near}?" if near else "",
        )
    parts = workload.parts if isinstance(workload, Bundle) else (workload,)
    chosen = workload.values(given) if isinstance(workload, Bundle) else {workload.name: workload.values(given)}
    _check_sharing(workload, parts, wish)
    _check_exposure(parts[-1], wish.expose)
    parameters: dict[str, Any] = {}
    for part in parts:
        for key in given:
            if key in chosen[part.name]:
                kind = part.data["parameters"][key]["type"]
                value = chosen[part.name][key]
                parameters[key] = str(_file(key, value)) if kind == "file" else value
    return {
        "workload": workload.name,
        "workload_parameters": parameters,
        "workload_node": wish.node,
        "workload_platform": wish.platform,
        "workload_namespace": wish.namespace,
        "workload_cpu": wish.cpu,
        "workload_storage_class": wish.storage_class,
        "workload_wait": wish.wait,
        "workload_replicas": wish.replicas,
        "workload_expose": wish.expose,
    }


def _check_sharing(workload: Workload | Bundle, parts: Sequence[Workload], wish: Wish) -> None:
    if wish.replicas == 1:
        return
    if len(parts) > 1:
        raise UsageError(
            f"--replicas {wish.replicas}: {workload.name} is several workloads", fix="deploy them one by one"
        )
    why = content.module_util("edgectl_workload_entry").single(parts[0].data, wish.storage_class)
    if why:
        raise UsageError(
            f"--replicas {wish.replicas}: there can be only one {workload.name}", why, "leave out --replicas"
        )


def _check_exposure(workload: Workload, wanted: str) -> None:
    try:
        way, _ = content.module_util("edgectl_workload_objects").exposure(wanted)
    except ValueError as error:
        raise UsageError(f"--expose {error}", fix="--expose nodeport, or --expose ingress=chat.example.org") from error
    if way == "ingress" and not content.module_util("edgectl_workload_entry").speaks_http(workload.data):
        raise UsageError(f"--expose ingress: {workload.name} speaks no HTTP", fix="--expose nodeport")


def words(given: Sequence[str], wish: Wish) -> list[str]:
    """The options that repeat the request."""
    usual = Wish()
    found = [word for setting in given for word in ("--set", setting)]
    for option, value, default in (
        ("--node", wish.node, usual.node),
        ("--platform", wish.platform, usual.platform),
        ("--namespace", wish.namespace, usual.namespace),
        ("--storage-class", wish.storage_class, usual.storage_class),
        ("--replicas", str(wish.replicas), str(usual.replicas)),
        ("--expose", wish.expose, usual.expose),
    ):
        found += [option, value] if value != default else []
    return [*found, *(["--cpu"] if wish.cpu else []), *([] if wish.wait else ["--no-wait"])]


def kind_of_run(*, job: bool, schedule: str, interactive: bool, port: int, rm: bool, plan: bool) -> str:
    """The kind of entry that options of `edgectl run` mean. Raises UsageError for those that exclude each other."""
    wanted = {"--job": job, "--schedule": bool(schedule), "-it": interactive, "--port": bool(port)}
    given = [option for option, there in wanted.items() if there]
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)}: only one of them", fix="leave one out")
    if rm and given not in (["--job"], ["-it"]):
        raise UsageError("--rm: only what ends can go by itself", fix="with --job or -it; else edgectl undeploy NAME")
    kinds = {"--job": "job", "--schedule": "cronjob", "-it": "shell", "--port": "service"}
    return kinds[given[0]] if given else "pod"


def terminal_for(kind: str, *, there: bool, json: bool, plan: bool) -> None:
    """Refuse a shell where there is no terminal for it."""
    if kind == "shell" and not plan and (json or not there):
        raise UsageError("-it: there is no terminal here", fix="--job runs a command and tells what it said")


def known_node(inventory: Inventory, node: str) -> None:
    """Refuse a node that is no host of the inventory."""
    names = [host.name for host in inventory.hosts]
    if node and node not in names:
        near = did_you_mean(node, names)
        raise UsageError(
            f"--node {node}: {shlex.quote(str(inventory.path))} has no such host",
            f"its hosts: {', '.join(names)}",
            f"did you mean {near}?" if near else "",
        )


def _file(key: str, value: str) -> Path:
    path = Path(value).expanduser().absolute()
    why = content.module_util("edgectl_gguf").problem(str(path))
    if why:
        raise UsageError(f"--set {key}={value}: {why}", fix=f"--set {key}=FILE, a model in GGUF on this machine")
    return path
