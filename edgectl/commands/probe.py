"""`edgectl probe`: the state of all hosts at a glance, one host in detail, or a recording of it."""

from __future__ import annotations

import json as json_library
from pathlib import Path
from typing import Annotated

import typer

from edgectl.commands import completion, options
from edgectl.exitcodes import ExitCode


def probe(
    host: Annotated[
        str, typer.Argument(help="Show this host in detail.", show_default=False, autocompletion=completion.hosts)
    ] = "",
    inventory: options.InventoryOption = options.DEFAULT_INVENTORY,
    json: Annotated[
        bool, typer.Option("--json", help="Print everything the probe found as one JSON document.")
    ] = False,
    record: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Save what the probe read of HOST, without what identifies it, to send it to us."
        ),
    ] = None,
    accept_new_host_keys: options.AcceptNewHostKeys = False,
    ask_become_pass: options.AskBecomePass = False,
    vault_password_file: options.VaultPasswordFile = None,
) -> None:
    """Look at the hosts: system, memory, disks, tunnels, Kubernetes. Changes nothing."""
    from edgectl.cluster.observe import observe
    from edgectl.inventory import read
    from edgectl.output import hosts
    from edgectl.output.dialog import TerminalDialog, can_ask
    from edgectl.recording import capture
    from edgectl.ssh import secrets
    from edgectl.ssh.probe import ProbeFailure
    from edgectl.ssh.target import of_inventory

    dialog = TerminalDialog() if can_ask() else None
    ask = dialog.password if dialog else None
    loaded = read(inventory, vault=secrets.find_vault(inventory, vault_password_file, ask))
    password = ask("sudo password: ") if ask_become_pass and ask else secrets.find_become_password()
    wanted = {loaded.host(host).name} if host else {known.name for known in loaded.hosts}
    targets = [t for t in secrets.with_password(of_inventory(loaded), password) if t.name in wanted]
    command = f"edgectl probe -i {inventory}"
    if record:
        capture.check(host, record)
        answers = observe(
            loaded, targets, dialog, accept_new_host_keys=accept_new_host_keys, command=command, script=capture.script()
        )
        for line in capture.save(answers[host], record):
            typer.echo(line, err=True)
        return
    answers = observe(loaded, targets, dialog, accept_new_host_keys=accept_new_host_keys, command=command)

    failures = [answer for answer in answers.values() if isinstance(answer, ProbeFailure)]
    if json:
        typer.echo(json_library.dumps(hosts.document(answers), indent=2))
    else:
        answer = answers[host] if host else None
        shown = (
            hosts.overview(answers)
            if answer is None or isinstance(answer, ProbeFailure)
            else hosts.details(host, answer, loaded.state.names_by_public_key)
        )
        for line in shown:
            typer.echo(line)
    if failures:
        reached = all(failure.trouble is None for failure in failures)
        raise typer.Exit(int(ExitCode.FAILED if reached else ExitCode.UNREACHABLE))
