"""How the commands begin and end that only look: the inventory, half-right ones too, somebody to ask, the exit code."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import typer

from edgectl.exitcodes import ExitCode
from edgectl.inventory import Inventory, read
from edgectl.output.dialog import TerminalDialog, terminal_dialog
from edgectl.ssh import secrets
from edgectl.ssh.probe import Document, ProbeFailure


def open_inventory(
    path: Path, vault_password_file: Path | None, *, ask: bool = True
) -> tuple[Inventory, TerminalDialog | None]:
    """The inventory, its vault opened, and the dialog for further questions; None where there is nobody to ask."""
    dialog = terminal_dialog(wanted=ask)
    vault = secrets.find_vault(path, vault_password_file, dialog.password if dialog else None)
    return read(path, vault=vault), dialog


def leave_for_failures(answers: Mapping[str, Document | ProbeFailure]) -> None:
    """Leave with the exit code for hosts that gave no document; return where all did."""
    failures = [answer for answer in answers.values() if isinstance(answer, ProbeFailure)]
    if failures:
        reached = all(failure.trouble is None for failure in failures)
        raise typer.Exit(int(ExitCode.FAILED if reached else ExitCode.UNREACHABLE))
