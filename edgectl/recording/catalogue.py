"""The recordings that edgectl brings along, in lab/recordings: boards to try things on without having them."""

from __future__ import annotations

from pathlib import Path

from edgectl import content
from edgectl.errors import UsageError
from edgectl.recording import model
from edgectl.recording.model import Recording


def directory() -> Path:
    """Where they are."""
    return content.root() / "lab" / "recordings"


def names() -> list[str]:
    """Names of all recordings, in order."""
    return sorted(path.stem for path in directory().glob("*.yml"))


def path(wanted: str) -> Path:
    """The file of a recording by its name, or by a path of the user's own: one with a slash in it or with .yml."""
    if "/" in wanted or wanted.endswith(".yml"):
        file = Path(wanted).expanduser().resolve()
        if not file.is_file():
            raise UsageError(f"there is no recording {file}", fix="edgectl probe HOST --record FILE makes one")
        return file
    if wanted not in names():
        raise UsageError(
            f"there is no recording {wanted!r}",
            f"edgectl brings {', '.join(names())}; a file of your own needs a slash or .yml in its name",
            "edgectl lab recordings",
        )
    return directory() / f"{wanted}.yml"


def load(wanted: str) -> Recording:
    """A recording by its name or path."""
    return model.load(path(wanted))


def table() -> str:
    """All recordings for people."""
    found = {name: load(name) for name in names()}
    width = max(map(len, found), default=0)
    return "\n".join(f"{name:<{width}}  {recording.kind:<11}  {recording.title}" for name, recording in found.items())
