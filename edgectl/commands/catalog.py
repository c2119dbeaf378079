"""`edgectl catalog`: the workloads that `edgectl deploy` knows."""

from __future__ import annotations

import json as json_library
import shlex
import shutil
from typing import Annotated

import typer

from edgectl.commands import completion, options


def catalog(
    name: Annotated[
        str | None,
        typer.Argument(
            help="Show this one with its parameters.", show_default=False, autocompletion=completion.workloads
        ),
    ] = None,
    fits: Annotated[
        bool, typer.Option("--fits", help="Ask the cluster which node fits, and why the others don't.")
    ] = False,
    inventory: options.InventoryOption = options.DEFAULT_INVENTORY,
    json: options.JsonDocument = False,
    accept_new_host_keys: options.AcceptNewHostKeys = False,
    ask_become_pass: options.AskBecomePass = False,
    vault_password_file: options.VaultPasswordFile = None,
) -> None:
    """List the workloads by category, or show one of them. With --fits: which node of the inventory it fits.

    PROVED tells what was seen of an entry: hardware (it ran on a board), lab (in the built-in lab), rendered (only its
    objects were made and checked).
    """
    from edgectl.output import workloads as output
    from edgectl.workloads import catalogue

    bundles = catalogue.bundles()
    if name in bundles:
        wanted = list(bundles[name].parts)
    else:
        wanted = [catalogue.find(name)] if name else list(catalogue.read().values())
    shown = [bundles[name]] if name in bundles else [] if name else list(bundles.values())
    found = None
    if fits:
        from edgectl.cluster.remote import login
        from edgectl.commands.opening import open_inventory
        from edgectl.workloads import fits as fitting

        loaded, dialog = open_inventory(inventory, vault_password_file, ask=not json)
        who = login(
            shlex.join(["edgectl", "catalog", "--fits", "-i", str(inventory)]), dialog,
            accept_new_host_keys=accept_new_host_keys, ask_become_password=ask_become_pass,
        )  # fmt: skip
        cluster = fitting.look(loaded, who)
        found = {workload.name: fitting.assess(workload, cluster) for workload in wanted}
    if json:
        typer.echo(json_library.dumps(output.document(wanted, found, shown), indent=2))
        return
    # What is piped has no width, and is searched rather than looked at.
    width = shutil.get_terminal_size((140, 24)).columns
    one = bool(name) and not shown
    for line in output.entry_lines(wanted[0]) if one else output.lines(wanted, shown, width=width):
        typer.echo(line)
    if found is not None:
        typer.echo()
        for line in output.fit_lines(found):
            typer.echo(line)
