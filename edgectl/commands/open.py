"""`edgectl open`: a workload's Service behind a port of this machine."""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from edgectl.commands import completion, options


def open_(
    name: Annotated[str, typer.Argument(help="Which workload.", autocompletion=completion.workloads)],
    inventory: options.InventoryArgument = options.DEFAULT_INVENTORY,
    namespace: Annotated[str, typer.Option("--namespace", "-n", help="Where it runs.")] = "workloads",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The local port; 0 takes the workload's own, or a free one.")
    ] = 0,
    accept_new_host_keys: options.AcceptNewHostKeys = False,
    ask_become_pass: options.AskBecomePass = False,
    vault_password_file: options.VaultPasswordFile = None,
) -> None:
    """Reach a workload from this machine, through SSH, until Ctrl-C: `edgectl open ollama`.

    Only programs of this machine come in; nothing is opened on the nodes.
    """
    from edgectl.cluster.remote import login
    from edgectl.commands.opening import open_inventory
    from edgectl.output import workloads as output
    from edgectl.workloads import catalogue, deployed

    loaded, dialog = open_inventory(inventory, vault_password_file)
    who = login(
        shlex.join(["edgectl", "open", name, str(inventory)]), dialog,
        accept_new_host_keys=accept_new_host_keys, ask_become_password=ask_become_pass,
    )  # fmt: skip
    bundle = catalogue.bundles().get(name)
    name = bundle.parts[-1].name if bundle else name
    found = deployed.look(loaded, who, name, namespace)
    with deployed.opened(found, port) as way:
        for line in output.opened_lines(name, way, namespace, inventory):
            typer.echo(line)
        way.forward.hold()
