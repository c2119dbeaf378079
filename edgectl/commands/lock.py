"""`edgectl lock`: which releases the inventory's wishes stand for, and their checksums, written down."""

from __future__ import annotations

import json as json_library
from typing import Annotated

import typer

from edgectl.commands import options
from edgectl.exitcodes import ExitCode


def lock(
    inventory: options.InventoryArgument = options.DEFAULT_INVENTORY,
    upgrade: Annotated[bool, typer.Option("--upgrade", help="Ask upstream anew for all that is locked.")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit code 3 where the lock would move.")
    ] = False,
    json: options.JsonDocument = False,
    vault_password_file: options.VaultPasswordFile = None,
) -> None:
    """Write down which releases the inventory asks for, and upstream's checksums.

    cluster_version may be a release ("1.35.4"), a minor ("1.35"), stable or latest (k3s only). What it stands for goes
    to .edgectl/artifacts.lock.yml of the inventory, with address, size and sha256 of each file, for amd64 and arm64:
    k3s or kubeadm, kubectl and kubelet, with their images; helm and NVIDIA's chart where device_plugin_install is
    chart. Commit that file.

    What is locked stays until the inventory asks for something else, or with --upgrade. Touches no host.

    Examples:

        edgectl lock my-lab

        edgectl lock my-lab --upgrade --check
    """
    from edgectl.commands.opening import open_inventory
    from edgectl.output import lock as output
    from edgectl.upstream import lock as library

    loaded, _ = open_inventory(inventory, vault_password_file, ask=not json)
    old = library.read(inventory)
    new = library.resolve(loaded, old, upgrade=upgrade)
    moves = library.moves(old, new)
    pending = check and old != new
    if old != new and not check:
        library.write(inventory, new)
    if json:
        shown = output.document(library.path(inventory), new, moves, written=old != new and not check)
        typer.echo(json_library.dumps(shown, indent=2))
    else:
        for line in output.lines(library.path(inventory), new, moves, changed=old != new, check=check):
            typer.echo(line)
    raise typer.Exit(int(ExitCode.CHANGES if pending else ExitCode.OK))
