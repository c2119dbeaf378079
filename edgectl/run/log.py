"""The log of a run: `run.log` for people, `events.jsonl` for programs, the last 20 runs kept. No secret gets in."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TextIO

from edgectl.output.jsonl import document
from edgectl.output.plain import PlainRenderer
from edgectl.run.events import Event, HostDone
from edgectl.run.redact import Redactor

KEPT = 20
LATEST = "latest"

_RUN_DIRECTORY = re.compile(r"\d{8}T\d{6}\.\d{3}Z-[a-z_-]+")


def runs_directory(environment: Mapping[str, str] = os.environ) -> Path:
    """`$XDG_STATE_HOME/edgectl/runs`, by default below ~/.local/state."""
    state = environment.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(state).expanduser() / "edgectl" / "runs"


def new_run_directory(verb: str, base: Path | None = None) -> Path:
    """Make `<timestamp>-<verb>`, point `latest` at it, and remove the oldest beyond those kept."""
    base = base or runs_directory()
    base.mkdir(mode=0o700, parents=True, exist_ok=True)
    while True:
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%f")[:-3]
        directory = base / f"{stamp}Z-{verb}"
        try:
            directory.mkdir(mode=0o700)
        except FileExistsError:
            time.sleep(0.001)
            continue
        _point_latest(base, directory)
        _remove_oldest(base)
        return directory


def _point_latest(base: Path, directory: Path) -> None:
    new = base / f".{LATEST}.{os.getpid()}"
    new.unlink(missing_ok=True)
    new.symlink_to(directory.name)
    new.replace(base / LATEST)


def directories(base: Path | None = None) -> list[Path]:
    """The directories of the runs that are kept, the oldest first."""
    base = base or runs_directory()
    if not base.is_dir():
        return []
    return sorted(path for path in base.iterdir() if path.is_dir() and _RUN_DIRECTORY.fullmatch(path.name))


def _remove_oldest(base: Path) -> None:
    for old in directories(base)[:-KEPT]:
        shutil.rmtree(old, ignore_errors=True)


class RunLog:
    """Writes both files as events come; flushed at each line, so that a killed run leaves what it knew."""

    def __init__(self, directory: Path, redactor: Redactor) -> None:
        self.path = directory / "run.log"
        self._redactor = redactor
        self._text = _private(self.path)
        self._events = _private(directory / "events.jsonl")
        self._plain = PlainRenderer(self.write, verbose=True)

    def __enter__(self) -> RunLog:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._text.close()
        self._events.close()

    def write(self, text: str) -> None:
        """Add text of our own, such as the command that was run; masked as a whole, since a key may span lines."""
        stamp = time.strftime("%H:%M:%S")
        self._text.write("".join(f"{stamp} {line}\n" for line in self._redactor(text).splitlines() or [""]))
        self._text.flush()

    def take(self, event: Event) -> None:
        """Add one event to both files."""
        self._plain.take(event)
        if isinstance(event, HostDone) and event.failure is not None and event.failure.stderr:
            self.write(f"stderr of {event.host}, {event.task}:\n{event.failure.stderr}")
        json.dump(self._redactor.document(document(event)), self._events, ensure_ascii=False)
        self._events.write("\n")
        self._events.flush()


def _private(path: Path) -> TextIO:
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8")
