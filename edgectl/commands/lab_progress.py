"""Shows long work, such as the lab's, on stderr: a line when a phase ends, and a sign of life every ten seconds."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

HEARTBEAT = 10.0


class PhaseLines:
    """Plain lines, the same on a terminal, in a pipe and in a CI log. who: whose work it is."""

    def __init__(self, who: str = "lab") -> None:
        self._who = who

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Name, elapsed seconds, and how it ended."""
        started = time.monotonic()
        ended = threading.Event()

        def beat() -> None:
            while not ended.wait(HEARTBEAT):
                self.line(f"{name} ... {time.monotonic() - started:.0f} s")

        self.line(f"{name} ...")
        heart = threading.Thread(target=beat, daemon=True)
        heart.start()
        try:
            yield
        except BaseException:
            self.line(f"{name}: failed after {time.monotonic() - started:.0f} s")
            raise
        else:
            self.line(f"{name}: done in {time.monotonic() - started:.0f} s")
        finally:
            ended.set()

    def line(self, text: str) -> None:
        """One line."""
        print(f"[{self._who}] {text}", file=sys.stderr, flush=True)
