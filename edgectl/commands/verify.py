"""`edgectl verify`: proofs that what was set up really works."""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from edgectl.commands import completion, options

app = typer.Typer(help="Prove that what was set up works.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def _group() -> None:
    """Keeps the name of its only command."""


@app.command()
def gpu(
    inventory: options.InventoryArgument = options.DEFAULT_INVENTORY,
    host: Annotated[
        list[str] | None,
        typer.Option(
            "--host",
            "--limit",
            "-l",
            metavar="NAME",
            help="Only this host or group; repeatable.",
            autocompletion=completion.hosts_and_groups,
        ),
    ] = None,
    json: options.Json = False,
    plain: options.Plain = False,
    accept_new_host_keys: options.AcceptNewHostKeys = False,
    ask_become_pass: options.AskBecomePass = False,
    vault_password_file: options.VaultPasswordFile = None,
    extra_vars: options.ExtraVars = None,
    verbose: options.Verbose = False,
) -> None:
    """Prove that pods can use each GPU: a program computes in every free slot, and one pod more has to wait.

    Takes no slot that is in use, and removes its pods; those of a GPU that fails stay to be looked at. Exit code 5
    when one fails.
    """
    from edgectl.cluster import gpus
    from edgectl.cluster.session import Request, open_session
    from edgectl.cluster.verb import carry_out
    from edgectl.commands.running import Show, renderer_for, say_stopping, show_end
    from edgectl.output import gpus as shown
    from edgectl.output.dialog import terminal_dialog

    named = [word for name in host or () for word in ("--host", name)]
    request = Request(
        inventory,
        shlex.join(["edgectl", "verify", "gpu", str(inventory), *named]),
        limit=",".join(host or ()),
        accept_new_host_keys=accept_new_host_keys,
        ask_become_password=ask_become_pass,
        vault_password_file=vault_password_file,
    )
    session = open_session(request, terminal_dialog(wanted=not json))
    renderer = renderer_for(session, gpus.VERB, Show(json=json, plain=plain, verbose=verbose))
    outcome = carry_out(
        gpus.VERB, session, renderer, limited=bool(host), arguments=tuple(extra_vars or ()), repeat="verify gpu",
        on_cancel=say_stopping,
    )  # fmt: skip
    found = gpus.found(outcome.result)
    show_end(renderer, lambda: shown.document(outcome, found), lambda: shown.lines(outcome, found))
    raise typer.Exit(int(gpus.exit_code(outcome, found)))
