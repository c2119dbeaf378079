"""One JSON document a line on standard output, each with its `schema_version`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TextIO

from edgectl.run.events import Event

SCHEMA_VERSION = 1


def document(event: Event) -> dict[str, Any]:
    """An event as JSON: `kind` is its class in snake case (`host_done`), the rest its fields."""
    kind = re.sub(r"(?<!^)(?=[A-Z])", "_", type(event).__name__).lower()
    return {"schema_version": SCHEMA_VERSION, "kind": kind, **as_json(event, without=("result",))}


def as_json(value: object, without: tuple[str, ...] = ()) -> Any:  # noqa: ANN401 - JSON is of any type
    """Dataclasses, enums and paths as plain JSON values."""
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: as_json(getattr(value, f.name)) for f in fields(value) if f.name not in without}
    if isinstance(value, Mapping):
        return {str(key): as_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(item) for item in value]
    if isinstance(value, Enum):
        return value.value
    return str(value) if isinstance(value, Path) else value


class JsonLinesRenderer:
    """Writes each event as it comes; what is meant for people is left out."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stream.flush()

    def take(self, event: Event) -> None:
        self.write(document(event))

    def note(self, text: str) -> None:
        self.write({"schema_version": SCHEMA_VERSION, "kind": "note", "text": text})

    def write(self, value: Mapping[str, Any]) -> None:
        """Write one document, such as the result at the end."""
        self._stream.write(json.dumps(value, ensure_ascii=False) + "\n")
        self._stream.flush()
