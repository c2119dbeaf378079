"""`edgectl init`: a commented inventory of your machines, from questions or from options."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from edgectl.errors import UsageError

if TYPE_CHECKING:
    from edgectl.output.dialog import TerminalDialog
    from edgectl.ssh.scan import SshServer


def init(
    directory: Annotated[Path, typer.Argument(help="Where to write the inventory.")] = Path("inventory"),
    host: Annotated[
        list[str] | None, typer.Option(metavar="NAME=USER@ADDRESS[:PORT]", help="A machine; repeatable.")
    ] = None,
    control_plane: Annotated[
        str, typer.Option(metavar="NAME", help="Which machine runs the Kubernetes API; the first by default.")
    ] = "",
    cluster_name: Annotated[str, typer.Option(metavar="NAME", help="Name of the cluster.")] = "",
    distribution: Annotated[
        Literal["kubeadm", "k3s"] | None,
        typer.Option(help="Who makes the cluster of them; kubeadm by default."),
    ] = None,
    scan: Annotated[
        str, typer.Option(metavar="CIDR", help="Look for SSH servers in this network first, at most a /22.")
    ] = "",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Scan without asking.")] = False,
) -> None:
    """Write an inventory to start from: hosts.yml, group_vars/all.yml and their schema for editors.

    Asks for the machines at a terminal, or takes them from --host. Never overwrites anything.
    """
    from edgectl.inventory import init as library
    from edgectl.output import interview
    from edgectl.output.dialog import terminal_dialog

    library.require_free(directory)
    machines = [library.parse_machine(text) for text in host or ()]
    dialog = terminal_dialog()
    found = _scan(scan, yes=yes, dialog=dialog) if scan else []
    if not machines and dialog:
        answers = interview.ask(dialog, found, control_plane, cluster_name, distribution)
    else:
        answers = interview.Answers(machines, control_plane, cluster_name, distribution or "kubeadm")
    if not answers.machines and scan:
        typer.echo(f"\nnothing was written; name them: {_next_command(directory, found)}")
        return
    written = library.create(
        directory, answers.machines, answers.control_plane, answers.cluster_name, answers.distribution
    )
    for file in written:
        typer.echo(f"wrote  {file}")
    # k3s comes from upstream by a lock.
    command = "lock" if answers.distribution == "k3s" else "bootstrap"
    typer.echo(f"next   edgectl {command} {shlex.quote(str(directory))}")


def _scan(cidr: str, *, yes: bool, dialog: TerminalDialog | None) -> list[SshServer]:
    from edgectl.ssh import scan as library

    network = library.parse_network(cidr)
    question = f"Connect to port 22 of {network.num_addresses} addresses in {network}, to see which speak SSH?"
    if not yes and dialog is None:
        raise UsageError("--scan asks first, and there is no terminal", question, "--yes, if that network is yours")
    if not yes and dialog is not None and not dialog.agrees(question):
        raise UsageError("not scanned, nothing was written")
    found = library.scan(network)
    typer.echo(f"{network}: {len(found) or 'no'} SSH server{'' if len(found) == 1 else 's'}")
    for server in found:
        typer.echo(f"  {server.address!s:<15}  {server.banner}")
    return found


def _next_command(directory: Path, found: Sequence[SshServer]) -> str:
    hosts = [f"--host NAME=USER@{server.address}" for server in found] or ["--host NAME=USER@ADDRESS"]
    return " ".join(["edgectl init", shlex.quote(str(directory)), *hosts])
