"""Recording a host: what is sent to it, and what becomes of its answer."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import edgectl
from edgectl import content
from edgectl.errors import EdgectlError, UnreachableError, UsageError
from edgectl.recording import model
from edgectl.recording.model import Recording
from edgectl.ssh.probe import PROBE_IMPORTS, ProbeFailure

_LOADER = """\
import sys, types
for name, source in {sources!r}:
    module = sys.modules[name] = types.ModuleType(name)
    exec(compile(source, name + ".py", "exec"), module.__dict__)
module.main()
"""


def script() -> str:
    """A program for `python3 -` on the host: the recorder; its answer are clean parts."""
    return piped("edgectl_recorder")


def piped(name: str) -> str:
    """A program for `python3 -`: a module of plugins/module_utils that goes by the probe, and all that it imports."""
    directory = content.root() / "plugins" / "module_utils"
    modules = (*PROBE_IMPORTS, "edgectl_probe", name)
    sources = [(module, (directory / f"{module}.py").read_text(encoding="utf-8")) for module in modules]
    return _LOADER.format(sources=sources)


def recording(answer: dict[str, Any]) -> Recording:
    """The recording from a host's answer. Its document is what the probe says of the clean parts, and of no others."""
    parts = {name: answer[name] for name in ("taken_out", "not_readable", "files", "present", "commands", "measured")}
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    bare = Recording("captured", "", today, edgectl.__version__, **parts)
    document = bare.replay()
    return Recording("captured", title(document), today, edgectl.__version__, **parts, document=document)


def check(host: str, path: Path) -> None:
    """Refuse what cannot be recorded before a host is asked."""
    if not host:
        raise UsageError("--record needs the name of one host", fix=f"edgectl probe HOST --record {path}")
    if path.exists():
        raise UsageError(f"{path} exists", fix="give --record the name of a new file")


def save(answer: dict[str, Any] | ProbeFailure, path: Path) -> list[str]:
    """Write the recording from a host's answer; lines that say what is in it and what was taken out."""
    if isinstance(answer, ProbeFailure):
        kind = UnreachableError if answer.trouble else EdgectlError
        raise kind(f"{answer.host} could not be recorded", answer.reason, f"edgectl probe {answer.host}")
    made = recording(answer)
    model.save(made, path)
    lines = [f"recorded   {made.title}"]
    lines += [f"taken out  {what}" for what in made.taken_out]
    lines += [f"not read   {what}" for what in made.not_readable]
    return [*lines, f"written    {path}; it is plain text: look through it before you send it"]


def title(document: dict[str, Any]) -> str:
    """What the host is, in a line: its board or architecture, its system, its kernel."""
    kernel, system, jetson = (document.get(name) or {} for name in ("kernel", "os", "jetson"))
    if not kernel.get("release") or not system.get("id"):
        raise EdgectlError(
            "the host could not be recorded",
            "; ".join(document.get("errors") or []) or "the probe found neither a kernel nor a system",
        )
    jetpack = f", JetPack {jetson['jetpack']}" if jetson.get("jetpack") else ""
    return f"{jetson.get('model') or kernel['arch']}, {system.get('name')}{jetpack}, kernel {kernel.get('release')}"
