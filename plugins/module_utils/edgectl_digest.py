"""The digest by which a file is known to be the one that was meant. Standard library only, Python 3.8 upwards."""

from __future__ import annotations

import hashlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional


def file_digest(path: str) -> Optional[str]:
    """The sha256 of a file, in hexadecimal; None when there is no such file."""
    digest = hashlib.sha256()
    try:
        with open(path, "rb") as file:
            for block in iter(lambda: file.read(1 << 20), b""):
                digest.update(block)
    except FileNotFoundError:
        return None
    return digest.hexdigest()
