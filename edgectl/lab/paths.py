"""Where the lab keeps its things: the caller's own directories, and one that belongs to root."""

from __future__ import annotations

import os
from pathlib import Path

# Root's part: containers, volumes and networks, apart from the user's own podman.
SYSTEM = Path("/var/lib/edgectl-lab")
RUNTIME = Path("/run/edgectl-lab")


def _xdg(variable: str, fallback: str) -> Path:
    value = os.environ.get(variable, "")
    # The specification says that a relative path is to be ignored.
    return Path(value) if value.startswith("/") else Path.home() / fallback


def states_dir() -> Path:
    """The directory with one subdirectory for each lab of this user."""
    return _xdg("XDG_STATE_HOME", ".local/state") / "edgectl" / "lab"


def state_dir(lab: str) -> Path:
    """A lab's own directory: its record, its SSH key, its nodes' seeds and, unless told otherwise, its inventory."""
    return states_dir() / lab


def cache_dir() -> Path:
    """Artifacts, kept by content and shared by all labs."""
    return _xdg("XDG_CACHE_HOME", ".cache") / "edgectl" / "lab"
