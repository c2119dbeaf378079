"""The options in effect as YAML: what all hosts share once, then what is each host's own. Or one JSON document."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from edgectl.inventory.effective import Effective
from edgectl.output.jsonl import SCHEMA_VERSION

WIDTH = 80
Options = Mapping[str, Sequence[Effective]]


def lines(options: Options, *, origin: bool) -> Iterator[str]:
    """YAML with a comment for each origin; a comment goes above a value that leaves it no room in 80 columns."""
    shared = _shared(options) if len(options) > 1 else []
    for title, group in (("all hosts", shared), *options.items()):
        own = [one for one in group if group is shared or one not in shared]
        if own:
            yield f"{title}:"
        for one in own:
            yield from _entry(one, origin=origin)


def document(inventory: Path, options: Options) -> dict[str, Any]:
    """Every option of every host with its origin; a secret's value is the mask, one not known yet is null."""
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": "config",
        "inventory": str(inventory),
        "hosts": {host: {one.name: _json(one) for one in group} for host, group in options.items()},
    }


def _shared(options: Options) -> list[Effective]:
    first, *others = options.values()
    return [one for one in first if all(one in group for group in others)]


def _entry(one: Effective, *, origin: bool) -> Iterator[str]:
    text = f"  {one.name}: {_value(one)}".rstrip()
    comment = f"  # {one.origin}"
    if not origin:
        yield text
    elif len(text) + len(comment) <= WIDTH:
        yield text + comment
    else:
        yield comment
        yield text


def _value(one: Effective) -> str:
    if one.unknown:
        return json.dumps(f"(not known yet: {one.unknown})", ensure_ascii=False)
    if isinstance(one.value, str) and one.value == one.value.strip() and _reads_back(one.value):
        return one.value
    return json.dumps(one.value, ensure_ascii=False)


def _reads_back(text: str) -> bool:
    """Whether YAML would read the bare text as the same text."""
    import yaml

    try:
        return bool(yaml.safe_load(text) == text)
    except yaml.YAMLError:
        return False


def _json(one: Effective) -> dict[str, Any]:
    place = one.origin.place
    return {
        "value": one.value,
        "secret": one.secret,
        "unknown": one.unknown or None,
        "origin": {
            "kind": one.origin.kind,
            "role": one.origin.role or None,
            "file": str(place.file) if place else None,
            "line": place.line if place else None,
        },
    }
