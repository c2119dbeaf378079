"""`edgectl kubeconfig`: the administrator's kubeconfig, for kubectl and other tools on this machine."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from edgectl.commands import options
from edgectl.errors import UsageError

if TYPE_CHECKING:
    from edgectl.cluster.kubeconfig import Document, Merged


def kubeconfig(
    inventory: options.InventoryArgument = options.DEFAULT_INVENTORY,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write it to a file that only you can read.")
    ] = None,
    merge: Annotated[
        bool, typer.Option("--merge", help="Add it to your own ($KUBECONFIG or ~/.kube/config), keeping a backup.")
    ] = False,
    use: Annotated[bool, typer.Option("--use", help="With --merge: make its context the current one.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace another cluster of the same name, or another file.")
    ] = False,
    tunnel: Annotated[
        bool, typer.Option("--tunnel", help="Reach the API through SSH, for as long as this command runs.")
    ] = False,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="With --tunnel: the local port; 0 takes a free one.")
    ] = 0,
    accept_new_host_keys: options.AcceptNewHostKeys = False,
    ask_become_pass: options.AskBecomePass = False,
    vault_password_file: options.VaultPasswordFile = None,
) -> None:
    """Print a kubeconfig for the cluster, or merge it into your own: `edgectl kubeconfig inventory --merge --use`.

    Its context has the cluster's name. It holds an administrator's key: whoever reads it can do everything there.
    """
    from edgectl.cluster import kubeconfig as library
    from edgectl.cluster.remote import login
    from edgectl.commands.opening import open_inventory

    _refuse_contradictions(output=output, merge=merge, use=use, tunnel=tunnel, port=port)
    loaded, dialog = open_inventory(inventory, vault_password_file)
    who = login(
        f"edgectl kubeconfig {shlex.quote(str(inventory))}", dialog,
        accept_new_host_keys=accept_new_host_keys, ask_become_password=ask_become_pass,
    )  # fmt: skip
    administrator = library.fetch(loaded, who)

    def deliver(document: Document) -> None:
        if merge:
            _show(library.merge_into(library.default_file(), document, use=use, force=force), administrator.name, use)
        elif output is not None:
            library.write(output, document, force=force)
            typer.echo(f"wrote {output}; use it: kubectl --kubeconfig {shlex.quote(str(output))} get nodes", err=True)
        else:
            typer.echo(library.text(document), nl=False)

    if not tunnel:
        address = library.locate(loaded, administrator)
        deliver(administrator.document(address))
        if address.trouble:
            typer.echo(f"warning: the API does not answer from here ({address.trouble})", err=True)
            typer.echo("  fix: add --tunnel to go through SSH", err=True)
        return
    with library.tunnel(administrator, port) as (address, forwarded):
        deliver(administrator.document(address))
        typer.echo(f"{address.url} leads to the API of {administrator.name} until Ctrl-C", err=True)
        forwarded.hold()


def _refuse_contradictions(*, output: Path | None, merge: bool, use: bool, tunnel: bool, port: int) -> None:
    if output is not None and merge:
        raise UsageError(
            "--output and --merge exclude each other",
            "one writes a file of its own, the other adds to yours",
            f"to add to that file: KUBECONFIG={shlex.quote(str(output))} edgectl kubeconfig ... --merge",
        )
    if use and not merge:
        raise UsageError(
            "--use goes with --merge", "by itself it has no kubeconfig to choose a context in", "add --merge"
        )
    if port and not tunnel:
        raise UsageError("--port goes with --tunnel", "it is the tunnel's local port", "add --tunnel")


def _show(merged: Merged, name: str, used: bool) -> None:
    typer.echo(f"merged into {merged.file}" if merged.changed else f"{merged.file} has it already", err=True)
    if merged.backup is not None:
        typer.echo(f"as it was before: {merged.backup}", err=True)
    typer.echo(f"use it: kubectl {'' if used else f'--context {name} '}get nodes", err=True)
