"""`edgectl bootstrap`: machines -> one Kubernetes cluster over WireGuard."""

from __future__ import annotations

from typing import Annotated

import typer

from edgectl.commands import options


def bootstrap(
    inventory: options.InventoryArgument = options.DEFAULT_INVENTORY,
    limit: options.Limit = "",
    json: options.Json = False,
    plain: options.Plain = False,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Ask nothing: go on only with what needs no answer.")
    ] = False,
    full: Annotated[
        bool, typer.Option("--full", help="Run every role on every host, whatever its receipts say.")
    ] = False,
    accept_new_host_keys: options.AcceptNewHostKeys = False,
    ask_become_pass: options.AskBecomePass = False,
    vault_password_file: options.VaultPasswordFile = None,
    extra_vars: options.ExtraVars = None,
    verbose: options.Verbose = False,
) -> None:
    """Make one Kubernetes cluster of the inventory's machines, or bring it up to date.

    Looks at all hosts first and changes nothing until none has a problem. Can be repeated at any time: what is
    as it should be is measured and left alone.
    """
    from edgectl.cluster import verified
    from edgectl.commands.proof import show_proof

    everything = not (limit or extra_vars or full)
    if everything and (proof := verified.look(inventory)):
        show_proof(proof, json=json)
        return
    from edgectl.commands.running import Show, run_verb

    outcome = run_verb(
        "bootstrap",
        inventory=inventory,
        limit=limit,
        show=Show(json=json, plain=plain, verbose=verbose),
        ask=not (yes or json),
        accept_new_host_keys=accept_new_host_keys,
        ask_become_password=ask_become_pass,
        vault_password_file=vault_password_file,
        arguments=tuple(extra_vars or ()),
        variables={"edgectl_full": True} if full else verified.before_a_run(inventory) if everything else {},
    )
    if everything and outcome.result.ok:
        verified.remember(outcome)
    raise typer.Exit(int(outcome.exit_code))
