"""Finds a Go toolchain that can build the pinned modules, or fetches one through the Go module proxy."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from edgectl.errors import EdgectlError
from edgectl.lab.machine import run
from edgectl.lab.progress import Progress

# From 1.21 on a toolchain fetches a newer one by itself when go.mod asks for it.
OLDEST = (1, 21)


def find_or_fetch(progress: Progress) -> Path:
    """Path of a usable `go`."""
    candidates = [shutil.which("go"), "/usr/local/go/bin/go", *map(str, sorted(Path("/usr/lib").glob("go-*/bin/go")))]
    for candidate in candidates:
        if candidate and Path(candidate).exists() and version(Path(candidate)) >= OLDEST:
            return Path(candidate)
    raise EdgectlError("no Go toolchain", "Kubernetes is built with it", "edgectl lab setup")


def version(go: Path) -> tuple[int, ...]:
    """Version of a toolchain, as numbers."""
    said = run([go, "version"], env={"GOTOOLCHAIN": "local"}, check=False).stdout
    found = re.search(r"\bgo(\d+)\.(\d+)", said)
    return tuple(int(number) for number in found.groups()) if found else ()
