"""`edgectl reset`: take the cluster, or single hosts of it, apart again."""

from __future__ import annotations

from typing import Annotated

import typer

from edgectl.commands import options


def reset(
    inventory: options.InventoryArgument = options.DEFAULT_INVENTORY,
    limit: options.Limit = "",
    json: options.Json = False,
    plain: options.Plain = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for the cluster's name to be typed.")] = False,
    accept_new_host_keys: options.AcceptNewHostKeys = False,
    ask_become_pass: options.AskBecomePass = False,
    vault_password_file: options.VaultPasswordFile = None,
    extra_vars: options.ExtraVars = None,
    verbose: options.Verbose = False,
) -> None:
    """Remove from the hosts what bootstrap installed and put back what was there before.

    Everything in the cluster is lost. Asks for the cluster's name (with --limit: the hosts' names) to be typed.
    """
    from edgectl.commands.running import Show, run_verb

    outcome = run_verb(
        "reset",
        inventory=inventory,
        limit=limit,
        show=Show(json=json, plain=plain, verbose=verbose),
        ask=not json,
        accept_new_host_keys=accept_new_host_keys,
        ask_become_password=ask_become_pass,
        vault_password_file=vault_password_file,
        arguments=tuple(extra_vars or ()),
        destroys=True,
        yes=yes,
    )
    raise typer.Exit(int(outcome.exit_code))
