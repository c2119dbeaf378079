"""What edgectl's exit codes mean; the same table stands in `edgectl --help` and in the docs."""

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes of every command."""

    OK = 0
    FAILED = 1
    USAGE = 2
    CHANGES = 3
    UNREACHABLE = 4
    UNHEALTHY = 5
    INTERRUPTED = 130
