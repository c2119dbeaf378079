"""By which labels a workload's objects are known. Standard library only, Python 3.8 upwards."""

from __future__ import annotations

NAME = "app.kubernetes.io/name"
PART_OF = "app.kubernetes.io/part-of"
WORKLOADS = "edgectl-workloads"
# Where workloads run unless somebody wants them elsewhere.
NAMESPACE = "workloads"
MANAGED = {"app.kubernetes.io/managed-by": "edgectl"}


def identity(name: str) -> dict[str, str]:
    """What the pods of a workload have, and nobody else's."""
    return {NAME: name, PART_OF: WORKLOADS}


def labels(name: str) -> dict[str, str]:
    """What each of its objects has."""
    return {**MANAGED, **identity(name)}


def selector(name: str) -> str:
    """For kubectl's --selector."""
    return ",".join("{}={}".format(key, value) for key, value in identity(name).items())
