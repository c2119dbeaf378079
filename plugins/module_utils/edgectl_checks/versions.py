"""Comparing versions, and which containerd carries which Kubernetes."""

from __future__ import annotations

import re


def version_tuple(text: str) -> tuple[int, ...]:
    """`1.7.24~ds1` -> (1, 7, 24); `v1.35.4+k3s1` -> (1, 35, 4)."""
    numbers = re.match(r"v?(\d+(?:\.\d+)*)", text.strip())
    return tuple(int(part) for part in numbers.group(1).split(".")) if numbers else ()


def at_least(version: str, minimum: str) -> bool:
    """Whether a version is the minimum or newer; `1.35` is taken for `1.35.0`."""
    width = max(len(version_tuple(version)), len(version_tuple(minimum)))
    have, want = (version_tuple(v) + (0,) * (width - len(version_tuple(v))) for v in (version, minimum))
    return have >= want


# Below these kubelet does not start.
# 1.26: CRI v1 only, which containerd has since 1.6 (Kubernetes' page on container runtimes).
# 1.36: needs the CRI call RuntimeConfig, which containerd 1.x lacks (KEP-4033; announced with Kubernetes 1.35).
HARD_MINIMUM = (
    ("1.36", "2.0.0"),
    ("1.26", "1.6.0"),
)

# The oldest patch release of each containerd series that its makers test with a Kubernetes (containerd's RELEASES.md
# at 007244d, 2025-05). A later Kubernetes takes the newest row; a series that is newer than a row's fits.
TESTED = (
    ("1.33", {"1.6": "1.6.36", "1.7": "1.7.24", "2.0": "2.0.4"}),
    ("1.32", {"1.6": "1.6.36", "1.7": "1.7.24", "2.0": "2.0.1"}),
    ("1.31", {"1.6": "1.6.34", "1.7": "1.7.20"}),
    ("1.30", {"1.6": "1.6.28", "1.7": "1.7.13"}),
)


def hard_minimum(kubernetes: str) -> str | None:
    """The oldest containerd on which this Kubernetes starts at all."""
    return next((minimum for since, minimum in HARD_MINIMUM if at_least(kubernetes, since)), None)


def tested_minimum(kubernetes: str, containerd: str) -> str | None:
    """The oldest tested release within a containerd's own series; None where every one is."""
    series = ".".join(str(part) for part in version_tuple(containerd)[:2])
    return next((row.get(series) for since, row in TESTED if at_least(kubernetes, since)), None)
