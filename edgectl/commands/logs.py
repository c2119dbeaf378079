"""`edgectl logs`: what a workload says."""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from edgectl.commands import completion, options


def logs(
    name: Annotated[str, typer.Argument(help="Which workload.", autocompletion=completion.workloads)],
    inventory: options.InventoryArgument = options.DEFAULT_INVENTORY,
    namespace: Annotated[str, typer.Option("--namespace", "-n", help="Where it runs.")] = "workloads",
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with what it says, until Ctrl-C.")] = False,
    tail: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Only the last N lines of each pod.", show_default=False)
    ] = None,
    previous: Annotated[bool, typer.Option("--previous", "-p", help="What it said before its last restart.")] = False,
    accept_new_host_keys: options.AcceptNewHostKeys = False,
    ask_become_pass: options.AskBecomePass = False,
    vault_password_file: options.VaultPasswordFile = None,
) -> None:
    """Print the log of a workload's pods; where there are several, each line with its pod.

    Says why there is nothing to read yet: what the scheduler waits for, an image that can't be fetched.
    """
    from edgectl.cluster.remote import login
    from edgectl.commands.opening import open_inventory
    from edgectl.workloads import deployed

    loaded, dialog = open_inventory(inventory, vault_password_file)
    who = login(
        shlex.join(["edgectl", "logs", name, str(inventory)]), dialog,
        accept_new_host_keys=accept_new_host_keys, ask_become_password=ask_become_pass,
    )  # fmt: skip
    found = deployed.look(loaded, who, name, namespace)
    raise typer.Exit(deployed.logs(loaded, found, deployed.Log(follow, tail, previous)))
