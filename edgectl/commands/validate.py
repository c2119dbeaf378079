"""`edgectl validate`: everything that is wrong with an inventory, at once, before any host is touched."""

from __future__ import annotations

import json as json_library

import typer

from edgectl.commands import options
from edgectl.errors import Problems
from edgectl.exitcodes import ExitCode


def validate(
    inventory: options.InventoryArgument = options.DEFAULT_INVENTORY,
    json: options.JsonDocument = False,
    vault_password_file: options.VaultPasswordFile = None,
) -> None:
    """Check the inventory by the rules that bootstrap applies first. Touches no host.

    Every problem is shown at once, with its file and line, what is allowed and how to mend it; exit code 2.
    """
    from edgectl.inventory import validation
    from edgectl.inventory.vault import Vault
    from edgectl.output import validation as output
    from edgectl.output.dialog import terminal_dialog
    from edgectl.ssh import secrets

    dialog = terminal_dialog(wanted=not json)
    ask = dialog.password if dialog else None

    def find_vault() -> Vault | None:
        return secrets.find_vault(inventory, vault_password_file, ask) if ask or vault_password_file else None

    verdict = validation.validate(inventory, find_vault)
    if json:
        typer.echo(json_library.dumps(output.document(verdict), indent=2))
        raise typer.Exit(int(ExitCode.USAGE if verdict.problems else ExitCode.OK))
    typer.echo(output.line(verdict), err=bool(verdict.problems))
    if verdict.remark:
        typer.echo(f"note: {verdict.remark}", err=True)
    if verdict.problems:
        raise Problems(verdict.problems)
