"""`edgectl probe`: the state of all hosts at a glance, one host in detail, or a recording of it."""

from __future__ import annotations

import json as json_library
import shlex
from pathlib import Path
from typing import Annotated

import typer

from edgectl.commands import completion, options


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
    from edgectl.cluster.remote import login
    from edgectl.commands.opening import leave_for_failures, open_inventory
    from edgectl.output import hosts
    from edgectl.recording import capture
    from edgectl.ssh.probe import ProbeFailure
    from edgectl.ssh.target import of_inventory

    loaded, dialog = open_inventory(inventory, vault_password_file)
    wanted = {loaded.host(host).name} if host else {known.name for known in loaded.hosts}
    targets = [target for target in of_inventory(loaded) if target.name in wanted]
    who = login(
        shlex.join(["edgectl", "probe", "-i", str(inventory)]), dialog,
        accept_new_host_keys=accept_new_host_keys, ask_become_password=ask_become_pass,
    )  # fmt: skip
    if record:
        capture.check(host, record)
        for line in capture.save(observe(loaded, targets, who, script=capture.script())[host], record):
            typer.echo(line, err=True)
        return
    answers = observe(loaded, targets, who)
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
    leave_for_failures(answers)
