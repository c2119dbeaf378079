"""A file of upstream's as the lock has it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

ARCHITECTURES = ("amd64", "arm64")


@dataclass(frozen=True)
class File:
    """kind, name, version, arch: as in an artifacts directory's manifest.

    path: below that directory. url, sha256, size (bytes, None if not known): of what upstream has. member: where that
    is an archive and `path` one file of it, that file's name there. images: the names in an archive of images.
    """

    name: str
    kind: str
    version: str
    arch: str
    path: str
    url: str
    sha256: str
    size: int | None = None
    member: str = ""
    images: tuple[str, ...] = ()

    def document(self) -> dict[str, Any]:
        """As it stands in the lock; what is not known is left out."""
        fields = {key: getattr(self, key) for key in self.__dataclass_fields__}
        return {key: list(value) if isinstance(value, tuple) else value for key, value in fields.items() if value}

    @staticmethod
    def of(document: dict[str, Any]) -> File:
        """Back from the lock. What a newer edgectl has added there is passed over."""
        known = {key: value for key, value in document.items() if key in File.__dataclass_fields__}
        return File(**{**known, "images": tuple(known.get("images") or ())})
