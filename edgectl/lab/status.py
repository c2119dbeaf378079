"""What `edgectl lab status` says: a document, and the same as a table."""

from __future__ import annotations

from typing import Any

from edgectl.lab import nodes, record
from edgectl.lab.record import Lab

SCHEMA_VERSION = 1


def document(name: str | None = None) -> dict[str, Any]:
    """All labs, or one that must exist."""
    labs = record.load_all() if name is None else [record.require(name)]
    return {"schema_version": SCHEMA_VERSION, "labs": [_lab(lab) for lab in labs]}


def _lab(lab: Lab) -> dict[str, Any]:
    states = nodes.states(lab)
    return {
        "name": lab.name,
        "subnet": lab.subnet,
        "inventory": lab.inventory,
        "nodes": [
            {
                "name": node.name,
                "role": node.role,
                "platform": node.platform,
                "recording": node.recording or None,
                "address": node.address,
                "state": states.get(node.name, "missing"),
            }
            for node in lab.nodes
        ],
    }


def table(document: dict[str, Any]) -> str:
    """The document for people."""
    if not document["labs"]:
        return "no lab; start one: edgectl lab up"
    lines = []
    for lab in document["labs"]:
        lines.append(f"{lab['name']}  {lab['subnet']}  {lab['inventory']}")
        rows = [[node[key] for key in ("name", "role", "platform", "address", "state")] for node in lab["nodes"]]
        widths = [max(len(row[column]) for row in rows) for column in range(5)] if rows else []
        lines += ["  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    return "\n".join(line.rstrip() for line in lines)
