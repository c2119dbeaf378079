"""Filter that writes items of evidence, as module_utils/edgectl_evidence.py describes them."""

from __future__ import annotations


def item(value, kind, prefix=""):
    """`/etc/x` -> {"file": "/etc/x"}; for lists of things of one kind."""
    return {kind: f"{prefix}{value}"}


class FilterModule:
    def filters(self):
        return {"edgectl_item": item}
