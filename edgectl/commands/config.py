"""`edgectl config`: the options that are in effect, and where they come from."""

from __future__ import annotations

import json as json_library
from typing import Annotated

import typer

from edgectl.commands import options

app = typer.Typer(help="The options in effect, and where they come from.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def _config() -> None:
    pass


@app.command()
def show(
    inventory: options.InventoryArgument = options.DEFAULT_INVENTORY,
    host: Annotated[str, typer.Option("--host", metavar="NAME", help="Only this host.")] = "",
    origin: Annotated[bool, typer.Option("--origin", help="Name file and line, or role, of each value.")] = False,
    json: options.JsonDocument = False,
    vault_password_file: options.VaultPasswordFile = None,
) -> None:
    """Show the options in effect for each host: role defaults, group_vars, host_vars and the state file.

    Touches no host. Secrets are shown as ********.
    """
    from edgectl.commands.opening import open_inventory
    from edgectl.inventory.effective import effective
    from edgectl.output import config as output

    loaded, _ = open_inventory(inventory, vault_password_file, ask=not json)
    hosts = [loaded.host(host)] if host else loaded.hosts
    found = {one.name: effective(loaded, one) for one in hosts}
    if json:
        typer.echo(json_library.dumps(output.document(inventory, found), indent=2))
        return
    for line in output.lines(found, origin=origin):
        typer.echo(line)
