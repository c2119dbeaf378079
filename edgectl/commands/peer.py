"""`edgectl peer`: your own machines, such as a laptop or a phone, in the cluster's WireGuard network."""

from __future__ import annotations

import json as json_library
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from edgectl.commands import options

if TYPE_CHECKING:
    from edgectl.cluster.session import Session
    from edgectl.inventory import Inventory
    from edgectl.output.renderer import Renderer

app = typer.Typer(
    help="Let your own machines, such as a laptop, into the tunnels.", no_args_is_help=True, rich_markup_mode=None
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the peer: lower-case letters, digits, hyphens.")]


@app.command()
def add(
    name: Name,
    inventory: options.InventoryOption = options.DEFAULT_INVENTORY,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Where to write its configuration; NAME.conf by default."),
    ] = None,
    qr: Annotated[bool, typer.Option("--qr", help="Also show it as a QR code, for the WireGuard app.")] = False,
    plain: options.Plain = False,
    accept_new_host_keys: options.AcceptNewHostKeys = False,
    ask_become_pass: options.AskBecomePass = False,
    vault_password_file: options.VaultPasswordFile = None,
    extra_vars: options.ExtraVars = None,
    verbose: options.Verbose = False,
) -> None:
    """Make a key pair here, tell the hosts its public half, and write the WireGuard configuration for it.

    The peer reaches the nodes and their pods. Its private key is in that file and nowhere else.
    """
    from edgectl.cluster import peer_file, peers
    from edgectl.commands.running import say_stopping
    from edgectl.output import summary

    file = output or Path(f"{name}.conf")
    session, renderer = _open(
        ["add", name], inventory, peers.readable(name, file), plain=plain, verbose=verbose,
        accept_new_host_keys=accept_new_host_keys, ask_become_password=ask_become_pass,
        vault_password_file=vault_password_file,
    )  # fmt: skip
    added = peers.add(
        session, name, file, renderer, arguments=tuple(extra_vars or ()),
        on_cancel=say_stopping,
    )  # fmt: skip
    typer.echo()
    for line in summary.lines(added.outcome):
        typer.echo(line)
    typer.echo(f"{name} is {added.address} in the tunnels; its private key is in {file} alone.")
    typer.echo(f"start it there: sudo wg-quick up {shlex.quote(str(file.absolute()))}, or import it into the app")
    for host in added.silent:
        typer.echo(f"note: nobody knows where to call {host}; set wireguard_endpoint for it", err=True)
    if qr:
        typer.echo(peer_file.qr_code(added.configuration), nl=False)
    raise typer.Exit(int(added.outcome.exit_code))


@app.command(name="list")
def list_(
    inventory: options.InventoryOption = options.DEFAULT_INVENTORY,
    json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
    accept_new_host_keys: options.AcceptNewHostKeys = False,
    ask_become_pass: options.AskBecomePass = False,
    vault_password_file: options.VaultPasswordFile = None,
) -> None:
    """Show the peers, and when each control plane, or the hub, last heard of them. Changes nothing."""
    from edgectl.cluster import peers
    from edgectl.cluster.remote import login
    from edgectl.commands.opening import open_inventory
    from edgectl.output import peers as shown

    loaded, dialog = open_inventory(inventory, vault_password_file)
    who = login(
        shlex.join(["edgectl", "peer", "list", "-i", str(inventory)]), dialog,
        accept_new_host_keys=accept_new_host_keys, ask_become_password=ask_become_pass,
    )  # fmt: skip
    found, silent = peers.peers(loaded, who)
    if json:
        typer.echo(json_library.dumps(shown.document(found, silent), indent=2))
        return
    for line in shown.lines(found, silent):
        typer.echo(line)


@app.command()
def remove(
    name: Name,
    inventory: options.InventoryOption = options.DEFAULT_INVENTORY,
    plain: options.Plain = False,
    accept_new_host_keys: options.AcceptNewHostKeys = False,
    ask_become_pass: options.AskBecomePass = False,
    vault_password_file: options.VaultPasswordFile = None,
    extra_vars: options.ExtraVars = None,
    verbose: options.Verbose = False,
) -> None:
    """Take a peer out of the tunnels; its configuration is worth nothing afterwards."""
    from edgectl.cluster import peers
    from edgectl.commands.running import say_stopping
    from edgectl.output import summary

    session, renderer = _open(
        ["remove", name], inventory, peers.removable(name), plain=plain, verbose=verbose,
        accept_new_host_keys=accept_new_host_keys, ask_become_password=ask_become_pass,
        vault_password_file=vault_password_file,
    )  # fmt: skip
    outcome = peers.remove(
        session, name, renderer, arguments=tuple(extra_vars or ()),
        on_cancel=say_stopping,
    )  # fmt: skip
    typer.echo()
    for line in summary.lines(outcome):
        typer.echo(line)
    late = "; the hosts named above still have it until they are told" if outcome.exit_code else ""
    typer.echo(f"{name} is no peer any more{late}.")
    raise typer.Exit(int(outcome.exit_code))


def _open(
    words: list[str],
    inventory: Path,
    read: Callable[..., Inventory],
    *,
    plain: bool,
    verbose: bool,
    accept_new_host_keys: bool,
    ask_become_password: bool,
    vault_password_file: Path | None,
) -> tuple[Session, Renderer]:
    from edgectl.cluster.peers import VERB
    from edgectl.cluster.session import Request, open_session
    from edgectl.commands.running import Show, renderer_for
    from edgectl.output.dialog import terminal_dialog

    request = Request(
        inventory,
        shlex.join(["edgectl", "peer", *words, "-i", str(inventory)]),
        accept_new_host_keys=accept_new_host_keys,
        ask_become_password=ask_become_password,
        vault_password_file=vault_password_file,
        need_control_plane=False,
    )
    session = open_session(request, terminal_dialog(), read)
    return session, renderer_for(session, VERB, Show(plain=plain, verbose=verbose))
