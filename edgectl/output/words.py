"""Numbers, lists and durations as people write them."""

from __future__ import annotations

from collections.abc import Sequence


def duration(seconds: float) -> str:
    """`0.4 s`, `12 s`, `3 min 05 s`."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    return f"{whole} s" if whole < 120 else f"{whole // 60} min {whole % 60:02d} s"


def clock(seconds: float) -> str:
    """`4s`, `48s`, `3:05`, `1:02:03`: a duration where there is room for a few signs only."""
    whole = round(seconds)
    if whole < 100:
        return f"{whole}s"
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours}:{minutes:02d}:{whole % 60:02d}" if hours else f"{minutes}:{whole % 60:02d}"


def count(number: int, singular: str, plural: str = "") -> str:
    """`1 change`, `3 changes`."""
    return f"{number} {singular if number == 1 else plural or singular + 's'}"


def listing(names: Sequence[str], most: int = 6) -> str:
    """`a`, `a and b`, `a, b and c`, `a, b, c, d, e, f and 4 more`."""
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def first_line(text: str) -> str:
    """The first line that says something."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")
