"""What a deploy has generated for people, read from the cluster so that no run and no log of it ever holds it."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from edgectl import content
from edgectl.cluster import objects
from edgectl.cluster.remote import Login
from edgectl.errors import EdgectlError
from edgectl.inventory import Inventory


def made(inventory: Inventory, login: Login, told: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """By workload, the passwords and tokens that were made just now; none where the cluster does not answer again.

    told: the workloads of a run's summary.
    """
    fresh = {one["plan"]["name"]: one for one in told if (one.get("sign_in") or {}).get("made")}
    if not fresh:
        return {}
    (namespace,) = {one["plan"]["namespace"] for one in fresh.values()}
    labels = content.module_util("edgectl_workload_labels")
    query = ("secrets", "--namespace", namespace, "--selector", f"{labels.PART_OF}={labels.WORKLOADS}")
    try:
        (found,), _ = objects.get(inventory, login, query)
    except EdgectlError:
        return {}
    secret_name = content.module_util("edgectl_workload_objects").secret_name
    data = {one["metadata"]["name"]: one.get("data", {}) for one in found}
    return {
        name: base64.b64decode(data[secret_name(name)][one["sign_in"]["secret"]]).decode()
        for name, one in fresh.items()
        if one["sign_in"]["secret"] in data.get(secret_name(name), {})
    }
