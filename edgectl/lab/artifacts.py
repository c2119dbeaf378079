"""The artifact directory: all parts under one manifest, as `cluster_artifacts_dir` wants them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from edgectl.lab import k3s, kubernetes, manifest, nvidia, ollama, workloads
from edgectl.lab.parts import Part, one_at_a_time
from edgectl.lab.paths import cache_dir
from edgectl.lab.progress import Progress
from edgectl.lab.spec import Distribution


def _parts(entries: Sequence[str], distribution: Distribution) -> tuple[Part, ...]:
    of_k3s = (k3s.part(),) if distribution == "k3s" else ()
    return kubernetes.part(), nvidia.part(), ollama.part(), *of_k3s, *(workloads.part(entry) for entry in entries)


def directory(entries: Sequence[str] = (), distribution: Distribution = "kubeadm") -> Path:
    """Where the artifacts of these sources are, made or not. entries: whose images are among them."""
    names = " ".join(part.directory.name for part in _parts(entries, distribution))
    return cache_dir() / f"artifacts-{hashlib.sha256(names.encode()).hexdigest()[:16]}"


def build(progress: Progress, entries: Sequence[str] = (), distribution: Distribution = "kubeadm") -> Path:
    """Make the parts that are missing and the artifact directory of them; its path."""
    made = [part.build(progress) for part in _parts(entries, distribution)]
    wanted = directory(entries, distribution)
    if not manifest.complete(wanted):
        with one_at_a_time("artifacts", progress):
            manifest.join(wanted, made)
    return wanted
