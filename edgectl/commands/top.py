"""`edgectl top`: who uses what on each host."""

from __future__ import annotations

import json as json_library
import shlex
import shutil

import typer

from edgectl.commands import options


def top(
    inventory: options.InventoryArgument = options.DEFAULT_INVENTORY,
    json: options.JsonDocument = False,
    accept_new_host_keys: options.AcceptNewHostKeys = False,
    ask_become_pass: options.AskBecomePass = False,
    vault_password_file: options.VaultPasswordFile = None,
) -> None:
    """Show each host's GPU slots and who holds them, memory, temperature and power.

    `1/4` is one slot used of four. On a Jetson the GPU's memory is a part of RAM. REQUESTED is what pods asked for.
    "-" is what a machine does not tell.
    """
    from edgectl.cluster import top as library
    from edgectl.cluster.remote import login
    from edgectl.commands.opening import leave_for_failures, open_inventory
    from edgectl.output import top as output

    loaded, dialog = open_inventory(inventory, vault_password_file, ask=not json)
    who = login(
        shlex.join(["edgectl", "top", str(inventory)]), dialog,
        accept_new_host_keys=accept_new_host_keys, ask_become_password=ask_become_pass,
    )  # fmt: skip
    found = library.look(loaded, who)
    if json:
        typer.echo(json_library.dumps(output.document(found), indent=2))
    else:
        for line in output.lines(found, shutil.get_terminal_size().columns):
            typer.echo(line)
    leave_for_failures(found.answers)
