"""`edgectl compat`: what runs on which JetPack, kernel and containerd; and what runs on your own machines."""

from __future__ import annotations

import json as json_library
import os
import shlex
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from edgectl.commands import options


def compat(
    inventory: Annotated[
        Path | None,
        typer.Argument(help="Inventory directory; without it the tables are shown.", show_default=False),
    ] = None,
    json: options.JsonDocument = False,
    accept_new_host_keys: options.AcceptNewHostKeys = False,
    ask_become_pass: options.AskBecomePass = False,
    vault_password_file: options.VaultPasswordFile = None,
) -> None:
    """Say what runs on what: JetPack releases, kernels, network stacks, containerd. Changes nothing.

    With INVENTORY it looks at your hosts and says of each: whether edgectl supports it, which network stacks its kernel
    can run, and which not for want of what. A kernel that tells its own options is believed; only where it does not,
    the tables of NVIDIA's stock kernels count.

    supported: what edgectl is written for. best effort: expected to work. refused: too old, or no system that edgectl
    knows.

    A host that does not answer is named, and stops no other: exit code 4 (1 where it answers and cannot be read).
    """
    from edgectl.compat import tables
    from edgectl.output import compat as output

    terminal = sys.stdout.isatty()
    width, colour = shutil.get_terminal_size().columns, terminal and "NO_COLOR" not in os.environ
    if inventory is None:
        known = tables.shipped()
        _print(output.document(known), output.lines(known, width=width, colour=colour), json=json)
        return

    from edgectl.cluster.observe import observe
    from edgectl.cluster.remote import login
    from edgectl.commands.opening import leave_for_failures, open_inventory
    from edgectl.compat.verdict import verdicts
    from edgectl.ssh.probe import ProbeFailure
    from edgectl.ssh.target import of_inventory

    loaded, dialog = open_inventory(inventory, vault_password_file, ask=not json)
    who = login(
        shlex.join(["edgectl", "compat", str(inventory)]), dialog,
        accept_new_host_keys=accept_new_host_keys, ask_become_password=ask_become_pass,
    )  # fmt: skip
    answers = observe(loaded, of_inventory(loaded), who)
    said = {name: answer if isinstance(answer, ProbeFailure) else verdicts(answer) for name, answer in answers.items()}
    _print(output.host_document(said), output.host_lines(said, width=width, colour=colour), json=json)
    leave_for_failures(answers)


def _print(document: dict[str, Any], lines: Iterable[str], *, json: bool) -> None:
    for line in [json_library.dumps(document, indent=2)] if json else lines:
        typer.echo(line)
