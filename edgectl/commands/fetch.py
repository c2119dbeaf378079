"""`edgectl fetch`: a directory with all that the lock names, for sites without internet."""

from __future__ import annotations

import json as json_library
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from edgectl.commands import options


class Architecture(StrEnum):
    """Of hosts."""

    amd64 = "amd64"
    arm64 = "arm64"


def fetch(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Directory to fill; made where it is not there.")],
    inventory: options.InventoryArgument = options.DEFAULT_INVENTORY,
    arch: Annotated[
        list[Architecture] | None,
        typer.Option("--arch", help="Only files for these hosts; repeatable. Both by default."),
    ] = None,
    json: options.JsonDocument = False,
    vault_password_file: options.VaultPasswordFile = None,
) -> None:
    """Fill a directory with what the lock names, for cluster_artifacts_dir.

    Each file is checked by the sha256 in the lock (edgectl lock). What is there and right is not fetched again, and a
    file that was broken off goes on where it ended. Take the directory to a machine without internet, and set
    cluster_artifacts_dir to it. Touches no host.

    Example:

        edgectl fetch /srv/edgectl/artifacts my-lab --arch arm64
    """
    from edgectl.commands.lab_progress import PhaseLines
    from edgectl.commands.opening import open_inventory
    from edgectl.output import lock as output
    from edgectl.upstream import directory as library
    from edgectl.upstream import lock

    loaded, _ = open_inventory(inventory, vault_password_file, ask=not json)
    files = library.wanted(lock.current(loaded), [one.value for one in arch or Architecture])
    fetched = library.fetch(files, directory, lock.web(loaded), PhaseLines("fetch"))
    if json:
        typer.echo(json_library.dumps(output.fetched_document(directory, fetched), indent=2))
        return
    for line in output.fetched_lines(directory, fetched):
        typer.echo(line)
