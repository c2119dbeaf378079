"""What `edgectl lock` and `edgectl fetch` did, for people and as documents."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from edgectl.output.jsonl import SCHEMA_VERSION
from edgectl.output.summary import table
from edgectl.output.words import count
from edgectl.upstream.directory import Fetched
from edgectl.upstream.file import File
from edgectl.upstream.lock import Lock, Move


def lines(path: Path, lock: Lock, moves: Sequence[Move], *, changed: bool, check: bool) -> Iterator[str]:
    """What moved, and one line on the file."""
    if moves:
        rows = [(move.name, move.asked or "-", move.was or "-", move.now or "-") for move in moves]
        yield from table(("NAME", "ASKED FOR", "WAS", "IS NOW"), rows)
    size = f"{count(len(lock.files), 'file')}, {_size(lock.files)}"
    if not changed:
        held = ", ".join(f"{name} {one.version}" for name, one in sorted(lock.locked.items()))
        yield f"{path}: nothing moved ({held})"
    else:
        yield f"{'not written, because of --check' if check else 'wrote'}: {path} ({size})"


def document(path: Path, lock: Lock, moves: Sequence[Move], *, written: bool) -> dict[str, Any]:
    """The same as one JSON document; null where nothing was or is locked."""
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": "lock",
        "path": str(path),
        "written": written,
        "moved": [{key: value or None for key, value in asdict(move).items()} for move in moves],
        "locked": {name: asdict(one) for name, one in lock.locked.items()},
    }


def fetched_lines(directory: Path, fetched: Fetched) -> Iterator[str]:
    """One line on the directory, and what to do with it."""
    there = len(fetched.files) - len(fetched.new)
    yield f"{directory}: {count(len(fetched.new), 'file')} fetched ({_size(fetched.new)}), {there} there already"
    yield f"use it: cluster_artifacts_dir: {directory.absolute()}"


def fetched_document(directory: Path, fetched: Fetched) -> dict[str, Any]:
    """The same as one JSON document."""
    new = {one.path for one in fetched.new}
    files = [{"path": one.path, "sha256": one.sha256, "fetched": one.path in new} for one in fetched.files]
    return {"schema_version": SCHEMA_VERSION, "kind": "fetch", "directory": str(directory.absolute()), "files": files}


def _size(files: Collection[File]) -> str:
    return f"{sum(one.size or 0 for one in files) / 2**20:.0f} MiB"
