"""`edgectl undeploy`: take a workload out of the cluster."""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from edgectl.commands import options
from edgectl.commands.deploy import NameArgument, Namespace


def undeploy(
    name: NameArgument,
    inventory: options.InventoryArgument = options.DEFAULT_INVENTORY,
    namespace: Namespace = "workloads",
    purge: Annotated[bool, typer.Option("--purge", help="Delete its data too: models, accounts, settings.")] = False,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="With --purge: do not ask for the name to be typed.")
    ] = False,
    json: options.Json = False,
    plain: options.Plain = False,
    accept_new_host_keys: options.AcceptNewHostKeys = False,
    ask_become_pass: options.AskBecomePass = False,
    vault_password_file: options.VaultPasswordFile = None,
    extra_vars: options.ExtraVars = None,
    verbose: options.Verbose = False,
) -> None:
    """Remove a workload, or what `edgectl run` made; its data stays for the next time, unless --purge is given."""
    from edgectl.cluster.session import Request, open_session
    from edgectl.cluster.verb import carry_out
    from edgectl.commands.running import Show, renderer_for, say_stopping, show_end
    from edgectl.output import workloads as output
    from edgectl.output.dialog import confirm, terminal_dialog
    from edgectl.workloads import catalogue

    workload = catalogue.choose_or_own(name)
    words = ["undeploy", name, *(["--namespace", namespace] if namespace != "workloads" else [])]
    words += ["--purge"] if purge else []
    request = Request(
        inventory,
        shlex.join(["edgectl", *words, str(inventory)]),
        accept_new_host_keys=accept_new_host_keys,
        ask_become_password=ask_become_pass,
        vault_password_file=vault_password_file,
    )
    session = open_session(request, terminal_dialog(wanted=not (yes or json)))
    if purge:
        confirm(
            name,
            f"This deletes the data of {workload.title} in namespace {namespace}",
            yes=yes,
            command=request.command,
        )
    renderer = renderer_for(session, "undeploy", Show(json=json, plain=plain, verbose=verbose))
    outcome = carry_out(
        "undeploy", session, renderer, limited=False, arguments=tuple(extra_vars or ()), repeat=shlex.join(words),
        extra_vars={"workload": name, "workload_namespace": namespace, "workload_purge": purge},
        on_cancel=say_stopping,
    )  # fmt: skip
    show_end(
        renderer,
        lambda: output.deployed_document(outcome),
        lambda: output.removed_lines(outcome, workload, purge=purge),
    )
    raise typer.Exit(int(outcome.exit_code))
