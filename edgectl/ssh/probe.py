"""The probe on all hosts at once: the script goes in through `python3 -`, a JSON document comes out."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from edgectl import content
from edgectl.ssh.everywhere import run_everywhere
from edgectl.ssh.result import Result, Trouble
from edgectl.ssh.target import Target, of_inventory

if TYPE_CHECKING:
    from edgectl.inventory import Inventory
    from edgectl.ssh.secrets import Secrets

Document = dict[str, Any]
# What the probe imports, all of plugins/module_utils.
PROBE_IMPORTS = ("edgectl_evidence", "edgectl_k3s_found")


def section(document: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A section of a document; empty when the probe could not read it."""
    return document.get(name) or {}


@dataclass(frozen=True)
class ProbeFailure:
    """A host that gave no document. `trouble` is None when it was reached but the probe did not run."""

    host: str
    trouble: Trouble | None
    reason: str


def probe_all(inventory: Inventory, secrets: Secrets | None = None) -> dict[str, Document | ProbeFailure]:
    """Read the state of every host of an inventory at once."""
    from edgectl.ssh.secrets import with_password

    password = secrets.become_password if secrets else None
    return probe_targets(with_password(of_inventory(inventory), password))


def probe_targets(targets: Iterable[Target], script: str = "") -> dict[str, Document | ProbeFailure]:
    """Read the state of every target in parallel, as root where the login or sudo allows it.

    Without root the probe still answers, with null where it may not look. script: another program for `python3 -`
    that looks at the host and prints one JSON document, in place of the probe.
    """
    wanted = list(targets)
    script = script or piped_script()
    results = run_everywhere(wanted, "python3 -", stdin=script, as_root=True)
    refused = [target for target in wanted if _sudo_refused(results[target.name])]
    results |= run_everywhere(refused, "python3 -", stdin=script)
    return {target.name: read(target.name, results[target.name]) for target in wanted}


def piped_script() -> str:
    """The probe for `python3 -`: one text, in which the modules that it imports have been put in front."""
    directory = content.root() / "plugins" / "module_utils"
    *imported, probe = (
        (name, (directory / f"{name}.py").read_text(encoding="utf-8")) for name in (*PROBE_IMPORTS, "edgectl_probe")
    )
    return (
        "import sys, types\n"
        f"for name, source in {imported!r}:\n"
        "    module = sys.modules[name] = types.ModuleType(name)\n"
        "    exec(compile(source, name + '.py', 'exec'), module.__dict__)\n"
        f"exec(compile({probe[1]!r}, 'edgectl_probe.py', 'exec'), {{'__name__': '__main__'}})\n"
    )


def _sudo_refused(result: Result) -> bool:
    return result.rc not in (0, None) and "sudo" in result.stderr


def read(host: str, result: Result) -> Document | ProbeFailure:
    """Turn an answer into a document; a login banner before the JSON is passed over."""
    if result.trouble is not None:
        return ProbeFailure(host, result.trouble, result.reason)
    if not result.ok:
        last = (result.stderr.strip() or "no message").splitlines()[-1]
        return ProbeFailure(host, None, f"the probe ended with {result.rc}: {last}")
    try:
        document = json.loads(result.stdout[result.stdout.index("{") :])
    except ValueError as error:
        return ProbeFailure(host, None, f"the probe's answer is no JSON: {error}")
    return document if isinstance(document, dict) else ProbeFailure(host, None, "the probe's answer is no document")
