"""Which hosts there are, and in which groups they stand."""

from __future__ import annotations

from collections.abc import Iterator

from edgectl.inventory.documents import VARIABLE_DIRECTORIES, did_you_mean, variable_files
from edgectl.inventory.model import Inventory
from edgectl.inventory.problem import Problem

OUR_GROUPS = ("cluster", "control_plane", "workers", "hub")
_SKELETON = "cluster: {children: {control_plane: {hosts: {nuc1: {ansible_host: 192.168.1.11}}}}}"


def problems(inventory: Inventory) -> Iterator[Problem]:
    """A cluster needs an odd number of control planes, and each of its hosts one place."""
    misspelt = dict(_misspelt_groups(inventory))
    yield from misspelt.values()
    if not inventory.groups.get("cluster"):
        yield _empty(inventory)
    elif not misspelt:
        yield from _control_plane(inventory)
        yield from _one_place_each(inventory)
    yield from _orphaned_variable_files(inventory)


def _misspelt_groups(inventory: Inventory) -> Iterator[tuple[str, Problem]]:
    for group in inventory.groups:
        nearest = did_you_mean(group.replace("-", "_").lower(), OUR_GROUPS)
        missing = nearest and not inventory.groups.get(nearest)
        if nearest and missing and group not in OUR_GROUPS and inventory.groups[group]:
            place = inventory.documents.groups.get(group) or inventory.path
            yield (
                group,
                Problem(
                    place,
                    f"group {group} means nothing to edgectl",
                    f"its groups are {', '.join(OUR_GROUPS)}",
                    f"did you mean {nearest}?",
                ),
            )


def _empty(inventory: Inventory) -> Problem:
    others = [name for name in inventory.groups if name not in ("all", "ungrouped", *OUR_GROUPS)]
    outside = [name for name in inventory.groups.get("all", ()) if name not in inventory.groups.get("hub", ())]
    if outside:
        evidence = f"hosts outside it: {', '.join(outside)}" + (f" (groups: {', '.join(others)})" if others else "")
    else:
        evidence = "the inventory has no hosts at all"
    return Problem(inventory.path, "group cluster has no hosts", evidence, f"start with: {_SKELETON}")


def _control_plane(inventory: Inventory) -> Iterator[Problem]:
    names = [host.name for host in inventory.control_plane]
    if not names:
        yield Problem(
            inventory.documents.groups.get("cluster") or inventory.path,
            "no host is in group control_plane",
            f"one of {', '.join(inventory.groups['cluster'])} must run the Kubernetes API",
            "put that one under `cluster: children: control_plane: hosts:`",
        )
    elif len(names) % 2 == 0:
        place = inventory.documents.groups.get("control_plane") or inventory.path
        yield Problem(
            place,
            f"control_plane has {len(names)} hosts, an even number",
            f"its hosts: {', '.join(names)}; etcd goes on as long as more than half of its members live, so"
            f" {len(names)} survive no more losses than {len(names) - 1} would, and have one more to lose",
            f"move {names[-1]} to workers, or add a host to control_plane",
        )


def _one_place_each(inventory: Inventory) -> Iterator[Problem]:
    control_plane, workers = ({host.name for host in group} for group in (inventory.control_plane, inventory.workers))
    for host in inventory.hosts:
        place = host.place() or inventory.path
        if host.name in control_plane & workers:
            yield Problem(
                place,
                f"{host.name} is in control_plane and workers",
                "a node has one place: control_plane or workers",
                "take it out of workers",
            )
        elif "cluster" in host.groups and host.name not in control_plane | workers:
            yield Problem(
                place,
                f"{host.name} is in cluster, but neither in control_plane nor in workers",
                f"its groups: {', '.join(host.groups)}",
                f"put {host.name} under `cluster: children: workers: hosts:`",
            )


def _orphaned_variable_files(inventory: Inventory) -> Iterator[Problem]:
    known = {"group": set(inventory.groups), "host": set(inventory.groups.get("all", ()))}
    seen = set()
    for file, scope, owner in variable_files(inventory.path):
        nearest = did_you_mean(owner, known[scope])
        # A file for a group that is not there today may be meant; one that is nearly right is a slip.
        if owner in known[scope] or nearest is None or owner in seen:
            continue
        seen.add(owner)
        directory = VARIABLE_DIRECTORIES[0 if scope == "group" else 1]
        yield Problem(
            file,
            f"there is no {scope} {owner}, so Ansible would pass over this file",
            fix=f"did you mean {directory}/{nearest}?",
        )
