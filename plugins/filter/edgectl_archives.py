"""Filter over what an artifacts directory has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def archives(artifacts: Iterable[Mapping[str, Any]], directory: str) -> list[dict[str, Any]]:
    """The image archives among entries of a manifest, for module edgectl_images."""
    return [
        {"src": f"{directory}/{artifact['path']}", "sha256": artifact["sha256"], "images": artifact["images"]}
        for artifact in artifacts
        if artifact["kind"] == "images"
    ]


class FilterModule:
    """Makes the filter known to Ansible."""

    def filters(self) -> dict[str, Any]:
        return {"edgectl_archives": archives}
