"""Who uses what on each host: GPU slots and memory as the API counts them, and what the host itself measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from edgectl import content
from edgectl.cluster import objects
from edgectl.cluster.observe import observe
from edgectl.cluster.remote import Login
from edgectl.errors import EdgectlError
from edgectl.inventory import Inventory
from edgectl.recording import capture
from edgectl.ssh.probe import Document, ProbeFailure
from edgectl.ssh.target import of_inventory

_KIB_IN_MIB = 1024


@dataclass(frozen=True)
class Slots:
    """How often a node offers its GPU, by which name, and which pods (`namespace/name`) hold how many."""

    resource: str
    offered: int
    held_by: Mapping[str, int]

    @property
    def used(self) -> int:
        return sum(self.held_by.values())


@dataclass(frozen=True)
class Host:
    """A host. What nobody knows is None or empty.

    slots, requested_mib, workloads: None for a host that is no node, and where the API is silent. gpu_mib: used and, of
    a GPU with memory of its own, all of it. gpu_processes: name -> MiB. silent: why the host itself did not answer.
    power_of: `board`, `rails` or `gpus`.
    """

    name: str
    silent: str = ""
    platform: str = ""
    simulated: bool = False
    slots: Slots | None = None
    gpu_mib: tuple[int, int | None] | None = None
    gpu_processes: Mapping[str, int] = field(default_factory=dict)
    gpu_load_percent: float | None = None
    memory_mib: tuple[int, int] | None = None
    requested_mib: int | None = None
    workloads: tuple[str, ...] | None = None
    temperature_c: float | None = None
    power_w: float | None = None
    power_of: str = ""


@dataclass(frozen=True)
class Top:
    """All hosts, the answers that they gave, and why the API gave none."""

    hosts: tuple[Host, ...]
    answers: Mapping[str, Document | ProbeFailure]
    no_api: str = ""


def look(inventory: Inventory, login: Login) -> Top:
    """Ask all hosts at once, then the API. One that is silent keeps no other from being shown."""
    answers = observe(inventory, of_inventory(inventory), login, script=capture.piped("edgectl_usage"))
    nodes: Sequence[dict[str, Any]] = ()
    pods: Sequence[dict[str, Any]] = ()
    no_api = ""
    try:
        (nodes, pods), _ = objects.get(inventory, login, ("nodes",), ("pods", "--all-namespaces"))
    except EdgectlError as error:
        no_api = f"{error.what}: {error.why}" if error.why else error.what
    by_name = {node["metadata"]["name"]: node for node in nodes}
    hosts = tuple(_host(name, answer, by_name.get(name), pods) for name, answer in answers.items())
    return Top(hosts, answers, no_api)


def _host(
    name: str, answer: Document | ProbeFailure, node: Mapping[str, Any] | None, pods: Sequence[dict[str, Any]]
) -> Host:
    known = _of_node(name, node, pods) if node else {}
    if isinstance(answer, ProbeFailure):
        return Host(name, silent=answer.reason, **known)
    memory = answer["memory"]
    nvmap = answer["nvmap"] or {}
    return Host(
        name,
        platform=answer["platform"] or "",
        simulated=bool(answer["simulated"]) and answer["platform"] != "cpu",
        gpu_mib=_gpu_memory(answer),
        gpu_processes=_by_process(nvmap.get("processes", ())),
        gpu_load_percent=_load(answer),
        memory_mib=None
        if not memory
        else ((memory["total_kib"] - memory["available_kib"]) // _KIB_IN_MIB, memory["total_kib"] // _KIB_IN_MIB),
        temperature_c=answer["temperature_c"],
        power_w=answer["power_w"],
        power_of=answer["power_of"],
        **known,
    )


def _by_process(rows: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """MiB by name: several processes of one program count together."""
    names = dict.fromkeys(row["process"] for row in rows)
    return {name: sum(row["kib"] for row in rows if row["process"] == name) // _KIB_IN_MIB for name in names}


def _of_node(name: str, node: Mapping[str, Any], pods: Sequence[dict[str, Any]]) -> dict[str, Any]:
    fit, gpu_pods = content.module_util("edgectl_workload_fit"), content.module_util("edgectl_gpu_pods")
    known = content.module_util("edgectl_workload_labels")
    here = gpu_pods.living(pods, name)
    resource, offered = fit.resource_of(node)
    labels = [pod["metadata"].get("labels") or {} for pod in here]
    running = sorted({of[known.NAME] for of in labels if of.get(known.PART_OF) == known.WORKLOADS})
    return {
        "slots": Slots(resource, offered, gpu_pods.holders(here, name, resource)) if offered else None,
        "requested_mib": sum(fit.requested_mib(pod) for pod in here),
        "workloads": tuple(running),
    }


def _gpu_memory(answer: Document) -> tuple[int, int | None] | None:
    if answer["nvmap"]:
        return answer["nvmap"]["total_kib"] // _KIB_IN_MIB, None
    cards = [card for card in answer["gpus"] or () if card["used_mib"] is not None]
    if not cards:
        return None
    totals = [card["total_mib"] for card in cards]
    return int(sum(card["used_mib"] for card in cards)), None if None in totals else int(sum(totals))


def _load(answer: Document) -> float | None:
    loads = [card["load_percent"] for card in answer["gpus"] or () if card["load_percent"] is not None]
    load: float | None = max(loads) if loads else answer["gpu_load_percent"]
    return load
