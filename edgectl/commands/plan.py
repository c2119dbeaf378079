"""`edgectl plan`: what bootstrap would change, without changing anything."""

from __future__ import annotations

import typer

from edgectl.commands import options
from edgectl.exitcodes import ExitCode


def plan(
    inventory: options.InventoryArgument = options.DEFAULT_INVENTORY,
    limit: options.Limit = "",
    json: options.Json = False,
    plain: options.Plain = False,
    accept_new_host_keys: options.AcceptNewHostKeys = False,
    ask_become_pass: options.AskBecomePass = False,
    vault_password_file: options.VaultPasswordFile = None,
    extra_vars: options.ExtraVars = None,
    verbose: options.Verbose = False,
) -> None:
    """Show what bootstrap would change on each host, and which services that would restart.

    Changes nothing, and takes no receipt's word for anything: every role looks at every host. Exit code 0 when
    nothing would be changed, 3 when something would.
    """
    from edgectl.commands.running import Show, run_verb

    outcome = run_verb(
        "bootstrap",
        inventory=inventory,
        limit=limit,
        show=Show(json=json, plain=plain, verbose=verbose),
        ask=not json,
        accept_new_host_keys=accept_new_host_keys,
        ask_become_password=ask_become_pass,
        vault_password_file=vault_password_file,
        arguments=tuple(extra_vars or ()),
        check=True,
    )
    pending = outcome.exit_code is ExitCode.OK and outcome.result.changes
    raise typer.Exit(int(ExitCode.CHANGES if pending else outcome.exit_code))
