"""What running a command on a host came to: its own exit code, or the reason why it never ran."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from edgectl.ssh.known_hosts import HostKey


class Trouble(StrEnum):
    """Why no answer came, each with another remedy."""

    UNREACHABLE = "unreachable"
    AUTHENTICATION = "authentication"
    HOST_KEY = "host key"
    TIMEOUT = "timeout"


@dataclass(frozen=True)
class Result:
    """The answer of one host. `rc` is None exactly when `trouble` is set; `reason` is one line for people."""

    rc: int | None = None
    stdout: str = ""
    stderr: str = ""
    trouble: Trouble | None = None
    reason: str = ""

    @property
    def ok(self) -> bool:
        return self.rc == 0


class ConnectionTrouble(Exception):
    """Raised inside this package when a host cannot be used; leaves it as a `Result`."""

    def __init__(self, trouble: Trouble, reason: str, offered: HostKey | None = None) -> None:
        super().__init__(reason)
        self.trouble = trouble
        self.reason = reason
        self.offered = offered

    def result(self) -> Result:
        return Result(trouble=self.trouble, reason=self.reason)
