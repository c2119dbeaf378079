"""Read and replace small text files, as modules do that edit somebody else's configuration and remember what it was."""

from __future__ import annotations

import os

# Stands in a file of ours whose directory goes with it.
_NOTE = "# Its directory was made for it.\n"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def read(path: str) -> str:
    """What a file says, with its line ends as they are; empty where there is none."""
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8", newline="") as stream:
        return stream.read()


def write(module: Any, path: str, text: str, mode: int) -> None:
    """Replace a file as a whole. A directory that is missing for it is as private as the file."""
    os.makedirs(os.path.dirname(path), mode=0o755 if mode & 0o077 else 0o700, exist_ok=True)
    temporary = path + ".edgectl-new"
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    with open(handle, "w", encoding="utf-8", newline="") as stream:
        stream.write(text)
    os.chmod(temporary, mode)
    module.atomic_move(temporary, path)


def noted(path: str, text: str) -> str:
    """The text of a whole file of ours, with a note where its directory has to be made, or was. It begins with a
    comment."""
    if os.path.isdir(os.path.dirname(path)) and _NOTE not in read(path):
        return text
    return text.replace("\n", "\n" + _NOTE, 1)


def take_away(path: str) -> None:
    """Remove a whole file of ours, and its directory where that was made for it and holds nothing else."""
    ours = read(path)
    os.unlink(path)
    if _NOTE in ours and not os.listdir(os.path.dirname(path)):
        os.rmdir(os.path.dirname(path))
