"""How the commands begin that only look: with the inventory, half-right ones too, and somebody who can be asked."""

from __future__ import annotations

from pathlib import Path

from edgectl.inventory import Inventory, read
from edgectl.output.dialog import TerminalDialog, terminal_dialog
from edgectl.ssh import secrets


def open_inventory(
    path: Path, vault_password_file: Path | None, *, ask: bool = True
) -> tuple[Inventory, TerminalDialog | None]:
    """The inventory, its vault opened, and the dialog for further questions; None where there is nobody to ask."""
    dialog = terminal_dialog(wanted=ask)
    vault = secrets.find_vault(path, vault_password_file, dialog.password if dialog else None)
    return read(path, vault=vault), dialog
