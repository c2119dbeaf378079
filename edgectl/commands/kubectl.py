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
    from edgectl.commands.opening import open_inventory

    loaded, _ = open_inventory(inventory, vault_password_file)
    raise typer.Exit(remote.run(loaded, arguments or ["--help"]))
