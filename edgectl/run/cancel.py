"""Ctrl-C during a run: the first one asks Ansible to stop, the second one kills it.

Ansible runs on a terminal of its own, so the keyboard's signal reaches only us. Stopping it does not stop a task
that is already running on a host.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

# A host in the middle of a package installation is left alone for so long before Ansible is killed.
PATIENCE = 15.0

# A closed terminal is an interruption too: else Ansible would go on alone, and the passwords' files would stay.
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Canceller:
    """Whether and how urgently the run is to stop. `pid` is ansible-playbook's, once an event has told it."""

    def __init__(self, on_cancel: Callable[[], None] | None = None) -> None:
        self.requested = False
        self.pid: int | None = None
        self._kill = False
        self._since = 0.0
        self._on_cancel = on_cancel

    def request(self) -> None:
        """Ask to stop; asked again, do it at once."""
        if self.requested:
            self._kill = True
            return
        self.requested = True
        self._since = time.monotonic()
        if self._on_cancel is not None:
            self._on_cancel()
        if self.pid is None:
            self._kill = True
            return
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(os.getpgid(self.pid), signal.SIGINT)

    def must_kill(self) -> bool:
        """For ansible-runner, which kills the whole process group when this becomes true."""
        return self._kill or (self.requested and time.monotonic() - self._since > PATIENCE)


@contextmanager
def on_interrupt(canceller: Canceller) -> Iterator[None]:
    """Route the signals that mean "stop" to the canceller, and restore the handlers that were there."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handle(_number: int, _frame: FrameType | None) -> None:
        canceller.request()

    before = {number: signal.signal(number, handle) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
