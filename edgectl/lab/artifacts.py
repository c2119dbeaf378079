"""The artifact directory: all parts under one manifest, as `cluster_artifacts_dir` wants them."""

from __future__ import annotations

import hashlib
from pathlib import Path

from edgectl.lab import kubernetes, manifest, nvidia, ollama
from edgectl.lab.parts import Part, one_at_a_time
from edgectl.lab.paths import cache_dir
from edgectl.lab.progress import Progress


def _parts() -> tuple[Part, ...]:
    return kubernetes.part(), nvidia.part(), ollama.part()


def directory() -> Path:
    """Where the artifacts of these sources are, made or not."""
    names = " ".join(part.directory.name for part in _parts())
    return cache_dir() / f"artifacts-{hashlib.sha256(names.encode()).hexdigest()[:16]}"


def build(progress: Progress) -> Path:
    """Make the parts that are missing and the artifact directory of them; its path."""
    made = [part.build(progress) for part in _parts()]
    wanted = directory()
    with one_at_a_time(progress):
        if not manifest.complete(wanted):
            manifest.join(wanted, made)
    return wanted
