"""`edgectl kubectl -- ...`: kubectl on the control plane, with nothing set up locally."""

from __future__ import annotations

from typing import Annotated

import typer

from edgectl.commands import options

# What follows belongs to kubectl, its options included.
CONTEXT_SETTINGS = {"allow_extra_args": True, "ignore_unknown_options": True}


def kubectl(
    arguments: Annotated[list[str] | None, typer.Argument(metavar="-- ARGS...", help="kubectl's arguments.")] = None,
    inventory: options.InventoryOption = options.DEFAULT_INVENTORY,
    vault_password_file: options.VaultPasswordFile = None,
) -> None:
    """Run kubectl on the control plane, over SSH: `edgectl kubectl -- get nodes`.

    Standard input and a terminal are passed on, and kubectl's exit code comes back.
    """
    from edgectl.cluster import kubectl as remote
    from edgectl.inventory import read
    from edgectl.output.dialog import TerminalDialog, can_ask
    from edgectl.ssh import secrets

    ask = TerminalDialog().password if can_ask() else None
    vault = secrets.find_vault(inventory, vault_password_file, ask)
    raise typer.Exit(remote.run(read(inventory, vault=vault), arguments or ["--help"]))
