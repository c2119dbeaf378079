"""The probe's documents for people: a table of all hosts that fits 80 columns, and one host in detail."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from edgectl.output.jsonl import SCHEMA_VERSION
from edgectl.output.summary import table
from edgectl.output.words import count, duration, listing
from edgectl.ssh.probe import Document, ProbeFailure, section

WIDTH = 80
_LABEL_WIDTH = 13
_GIB_IN_KIB = 1024 * 1024
_GB = 1000**3

# A handshake is renewed every two minutes while packets flow; three without one is a dead tunnel (wg(8)).
STALE_HANDSHAKE_S = 180

_CLOCK: dict[bool | None, str] = {True: "synchronised", False: "not synchronised"}


def overview(answers: Mapping[str, Document | ProbeFailure]) -> Iterator[str]:
    """One line a host, and below it what asks for attention."""
    header = ("HOST", "SYSTEM", "MEMORY", "DISK FREE", "TUNNELS", "KUBERNETES")
    documents = {name: answer for name, answer in answers.items() if not isinstance(answer, ProbeFailure)}
    if documents:
        rows = [_row(name, document) for name, document in documents.items()]
        too_wide = max(len(line) for line in table(header, rows)) - WIDTH
        longest = max(len(name) for name in documents) - max(too_wide, 0)
        yield from table(header, [(_shortened(name, longest), *facts) for name, *facts in rows])
    notes = [f"{name}: {note}" for name, answer in answers.items() for note in _notes(answer)]
    if documents and notes:
        yield ""
    for note in notes:
        yield from textwrap.wrap(note, WIDTH, initial_indent="  ", subsequent_indent="    ")


def document(answers: Mapping[str, Document | ProbeFailure]) -> dict[str, Any]:
    """The same as one JSON document; a host that gave none has the reason instead."""
    hosts = {
        name: {"error": answer.reason, "trouble": answer.trouble and answer.trouble.value}
        if isinstance(answer, ProbeFailure)
        else answer
        for name, answer in answers.items()
    }
    return {"schema_version": SCHEMA_VERSION, "kind": "probe", "hosts": hosts}


def details(name: str, document: Document, peers: Mapping[str, str]) -> Iterator[str]:
    """Everything about one host that a person may want to know. peers: WireGuard public key -> host."""
    yield f"{name}: {section(document, 'os').get('name') or 'unknown system'}"
    for label, text in _facts(document, peers):
        if text:
            yield from textwrap.wrap(
                text,
                WIDTH,
                initial_indent=f"  {label:<{_LABEL_WIDTH}}",
                subsequent_indent=" " * (_LABEL_WIDTH + 2),
                break_on_hyphens=False,
            )
    for note in _notes(document):
        yield from textwrap.wrap(note, WIDTH, initial_indent="  ! ", subsequent_indent="    ")


def _row(name: str, document: Document) -> tuple[str, ...]:
    return (
        name,
        _system(document),
        _memory(document),
        _disk_free(document),
        _tunnels(document),
        _kubernetes(document),
    )


def _shortened(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _system(document: Document) -> str:
    jetson, system = section(document, "jetson"), section(document, "os")
    if jetson:
        return f"JetPack {jetson['jetpack']}" if jetson.get("jetpack") else f"L4T {jetson.get('l4t') or '?'}"
    return f"{str(system.get('id') or '?').title()} {system.get('version_id') or ''}".strip()[:14]


def _memory(document: Document) -> str:
    total = section(document, "memory").get("total_kib")
    return f"{total / _GIB_IN_KIB:.{0 if total >= 10 * _GIB_IN_KIB else 1}f} GiB" if total else "?"


def _disk_free(document: Document) -> str:
    disk = next((disk for disk in document.get("disks") or [] if disk["path"] == "/var/lib"), None)
    return f"{disk['free_bytes'] / _GB:.0f} GB" if disk else "?"


def _tunnels(document: Document) -> str:
    peers = [peer for interface in _interfaces(document).values() for peer in interface["peers"]]
    if not peers:
        return "-"
    return f"{sum(_is_alive(peer) for peer in peers)}/{len(peers)} up"


def _interfaces(document: Document) -> dict[str, Any]:
    return section(document, "wireguard").get("interfaces") or {}


def _is_alive(peer: Mapping[str, Any]) -> bool:
    age = peer.get("handshake_age_s")
    return age is not None and age <= STALE_HANDSHAKE_S


def _kubernetes(document: Document) -> str:
    kubernetes = section(document, "kubernetes")
    role = {"control_plane": "control plane", "worker": "worker"}.get(kubernetes.get("role") or "", "")
    if not role:
        foreign = kubernetes.get("k3s") or {}
        return f"k3s {foreign.get('version') or ''}".strip() if kubernetes.get("k3s_present") else "-"
    return f"{role} {kubernetes.get('kubelet_version') or ''}".strip()


def _facts(document: Document, peers: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    identity, kernel, network = (section(document, name) for name in ("identity", "kernel", "network"))
    yield "Identity", f"hostname {identity.get('hostname')}, machine-id {identity.get('machine_id')}"
    yield "Kernel", f"{kernel.get('release')} on {kernel.get('arch')}, {_features(document)}"
    yield "Board", _board(document)
    yield "GPU", listing([str(gpu.get("name") or gpu.get("kind")) for gpu in document.get("gpus") or []])
    yield "Memory", _memory_and_swap(document)
    yield "Disks", _disks(document)
    yield "Clock", _clock(document)
    yield "Network", f"{network.get('default_address') or 'no address'} on {network.get('default_interface') or '-'}"
    yield "Firewall", _firewall(document)
    for name, interface in _interfaces(document).items():
        kind = "wireguard-go" if interface.get("userspace") else "kernel"
        yield "WireGuard", f"{name} ({kind}), port {interface.get('listen_port')}, {_tunnels(document)}"
        for peer in interface["peers"]:
            yield "", _peer(peer, peers)
    yield "containerd", _containerd(document)
    yield "Kubernetes", _kubernetes(document)
    yield "Services", _services(document)
    yield "Not readable", "; ".join(document.get("errors") or [])


def _features(document: Document) -> str:
    cgroup, available = section(document, "cgroup"), section(document, "kernel").get("module_available") or {}
    missing = [name for name, there in available.items() if there is False]
    return f"cgroup v{cgroup.get('version')}" + (f", without {listing(missing)}" if missing else "")


def _board(document: Document) -> str:
    jetson = section(document, "jetson")
    if not jetson:
        return ""
    mode = f", power mode {jetson['power_mode']}" if jetson.get("power_mode") else ""
    pretended = section(document, "lab").get("simulated") or []
    simulated = f" (simulated: {', '.join(pretended)})" if pretended else ""
    return f"{jetson.get('model')}, {_system(document)}, L4T {jetson.get('l4t')}{mode}{simulated}"


def _memory_and_swap(document: Document) -> str:
    available = section(document, "memory").get("available_kib") or 0
    swap = document.get("swap") or []
    size = sum(entry["size_kib"] for entry in swap) / _GIB_IN_KIB
    kind = "zram" if swap and all(entry["zram"] for entry in swap) else "swap"
    return f"{available / _GIB_IN_KIB:.1f} of {_memory(document)} available, " + (
        f"{size:.1f} GiB {kind}" if swap else "no swap"
    )


def _disks(document: Document) -> str:
    seen = {disk["mount"]: disk for disk in document.get("disks") or []}
    return ", ".join(
        f"{mount} {disk['free_bytes'] / _GB:.0f} of {disk['size_bytes'] / _GB:.0f} GB free"
        for mount, disk in seen.items()
    )


def _clock(document: Document) -> str:
    clock = section(document, "clock")
    said = _CLOCK.get(clock.get("synchronized"), "nothing tells whether it is right")
    return f"{said} ({clock['service']})" if clock.get("service") else said


def _firewall(document: Document) -> str:
    firewall = section(document, "firewall")
    said = [f"iptables {firewall['iptables_backend']}" if firewall.get("iptables_backend") else "no iptables"]
    said += ["ufw active"] if firewall.get("ufw_active") else []
    said += ["Docker drops forwarded packets"] if firewall.get("docker_forward_drop") else []
    return ", ".join(said)


def _peer(peer: Mapping[str, Any], names: Mapping[str, str]) -> str:
    name = names.get(str(peer.get("public_key")), f"unknown {str(peer.get('public_key'))[:8]}…")
    age = peer.get("handshake_age_s")
    heard = "no handshake yet" if age is None else f"handshake {duration(age)} ago"
    return f"{name} at {peer.get('endpoint') or 'no endpoint'}, {heard}, carries {listing(peer['allowed_ips'])}"


def _containerd(document: Document) -> str:
    containerd = section(document, "containerd")
    if not containerd.get("present"):
        return ""
    said = [f"{containerd.get('version')} ({containerd.get('package') or 'no package'})"]
    said += ["used by Docker"] if containerd.get("docker_owned") else []
    said += [f"switched off: {listing(containerd['disabled_plugins'])}"] if containerd.get("disabled_plugins") else []
    said += [] if containerd.get("systemd_cgroup") else ["without systemd's cgroups"]
    return ", ".join(said)


def _services(document: Document) -> str:
    units = section(document, "units")
    return ", ".join(
        f"{name.removesuffix('.service')} {unit['active']}"
        for name, unit in units.items()
        if unit["active"] in ("active", "activating", "failed") and unit["load"] == "loaded"
    )


def _notes(answer: Document | ProbeFailure) -> Iterator[str]:
    if isinstance(answer, ProbeFailure):
        yield answer.reason
        return
    holder, lock = section(answer, "apt").get("lock_holder"), section(answer, "lock")
    if section(answer, "identity").get("root") is False:
        yield "seen without root rights, so some of it is not known"
    if lock:
        yield f"locked by a run of {lock.get('owner')}, process {lock.get('pid')}"
    if holder:
        yield f"installing packages: process {holder['pid']}, {holder['command']}"
    if section(answer, "reboot").get("required"):
        yield "waits for a reboot"
    failed = [name for name, unit in section(answer, "units").items() if unit["active"] == "failed"]
    if failed:
        yield f"{count(len(failed), 'unit')} failed: {listing(failed)}"
