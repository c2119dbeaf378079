"""The verified path of bootstrap: when nothing can have changed, prove it with the probe alone, without Ansible.

It is taken when the inventory and edgectl's own content are byte for byte those of the last complete run from here,
and every host, measured again now, says the same: its stamp is of that run and of this very machine, its receipts are
those of the stamp, the facts that they were made from are as they were, and all their evidence holds. In any doubt it
is not taken.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from edgectl import content

if TYPE_CHECKING:
    from edgectl.cluster.verb import Outcome
    from edgectl.ssh.target import Target

STAMP_VARIABLE = "edgectl_stamp"


@dataclass(frozen=True)
class Proof:
    """What was measured. `nodes` is the summary of the run that made them so."""

    hosts: tuple[str, ...]
    evidence: int
    seconds: float
    nodes: tuple[Mapping[str, Any], ...] = ()


def before_a_run(inventory: Path) -> dict[str, str]:
    """Variables by which a complete run leaves stamps; none for an inventory whose files don't tell all."""
    digest = _inputs().inventory_digest(inventory.resolve(), with_state=False) if inventory.is_dir() else None
    return {STAMP_VARIABLE: digest} if digest else {}


def remember(outcome: Outcome, nodes: Sequence[Mapping[str, Any]] = ()) -> None:
    """After a complete run: keep how its hosts are reached, so that the next look needs no Ansible.

    Nothing is kept where a password is part of that. nodes: what is known of them, where the run itself does not say.
    """
    session = outcome.session
    targets = [session.targets[name] for name in session.selected]
    complete = len(targets) == len(session.inventory.hosts) and not session.left_out
    secret = any(target.password or target.become_password for target in targets)
    digest = _inputs().stamp_digest(session.inventory.path.resolve()) if complete and not secret else None
    if digest is None:
        _memory(session.inventory.path).unlink(missing_ok=True)
        return
    document = {
        "digest": digest,
        "targets": [_plain(target) for target in targets],
        "nodes": outcome.result.summary.get("nodes") or list(nodes),
    }
    place = _memory(session.inventory.path)
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    partial = place.with_suffix(f".{os.getpid()}")
    partial.write_text(json.dumps(document), encoding="utf-8")
    partial.replace(place)


def look(inventory: Path) -> Proof | None:
    """Prove that nothing is to do; None where that can't be proved this way."""
    started = time.monotonic()
    try:
        memory = json.loads(_memory(inventory).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    digest = _inputs().stamp_digest(inventory.resolve()) if inventory.is_dir() else None
    if digest is None or memory.get("digest") != digest:
        return None
    from edgectl.ssh.probe import probe_targets

    targets = [_target(plain) for plain in memory["targets"]]
    documents = probe_targets(targets)
    measured = [_evidence(target.name, documents[target.name], digest) for target in targets]
    if None in measured or _twins(documents.values()):
        return None
    return Proof(
        hosts=tuple(target.name for target in targets),
        evidence=sum(number for number in measured if number is not None),
        seconds=time.monotonic() - started,
        nodes=tuple(memory.get("nodes") or ()),
    )


def _evidence(name: str, document: object, digest: str) -> int | None:
    """How many items of evidence hold on a host; None when one does not, or the stamp is of something else."""
    inputs = _inputs()
    if not isinstance(document, Mapping):
        return None
    stamp, receipts = document.get("stamp") or {}, document.get("receipts") or {}
    if stamp.get("digest") != digest or not receipts or document.get("lock"):
        return None
    if stamp.get("machine") != inputs.machine(name, document):
        return None
    if stamp.get("receipts") != {role: receipt["inputs"] for role, receipt in receipts.items()}:
        return None
    if any(receipt["status"] != "done" or receipt["drift"] for receipt in receipts.values()):
        return None
    facts = [entry for receipt in receipts.values() for entry in receipt["facts"].items()]
    if any(inputs.fact(document, path) != value for path, value in facts):
        return None
    return sum(int(receipt["evidence"]) for receipt in receipts.values())


def _twins(documents: Iterable[Any]) -> bool:
    """Whether two hosts have the same machine-id: one disk was copied to both."""
    found = [_inputs().fact(document, "identity/machine_id") for document in documents]
    return len(set(found)) < len(found)


def _plain(target: Target) -> dict[str, Any]:
    return {key: str(value) if isinstance(value, Path) else value for key, value in asdict(target).items()}


def _target(plain: Mapping[str, Any]) -> Target:
    from edgectl.ssh.target import Target

    values = {**plain, "known_hosts": Path(plain["known_hosts"]), "ssh_args": tuple(plain["ssh_args"])}
    return Target(**values)


def _memory(inventory: Path) -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    name = hashlib.sha256(str(inventory.resolve()).encode()).hexdigest()[:16]
    return Path(cache).expanduser() / "edgectl" / "verified" / f"{name}.json"


def _inputs() -> ModuleType:
    """The module that the receipts' own digests come from."""
    return content.module_util("edgectl_inputs")
