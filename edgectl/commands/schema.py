"""`edgectl schema`: JSON Schema of an inventory's files, for editors and CI."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from edgectl.errors import UsageError


class Kind(StrEnum):
    """Which file of the inventory."""

    hosts = "hosts"
    vars = "vars"


def schema(
    kind: Annotated[
        Kind, typer.Argument(help="hosts: hosts.yml. vars: files in group_vars/ and host_vars/.")
    ] = Kind.hosts,
    write: Annotated[
        Path | None, typer.Option(metavar="INVENTORY", help="Write both to this inventory instead, over older ones.")
    ] = None,
) -> None:
    """Print the JSON Schema (draft 7) of hosts.yml, or of a file of variables.

    `edgectl init` writes both to `.edgectl/` of a new inventory, where editors find them.
    """
    from edgectl.inventory import init
    from edgectl.inventory import schema as library

    if write is None:
        typer.echo(json.dumps(library.schema(kind.value), indent=2))
        return
    if not write.is_dir():
        raise UsageError(f"{write}: there is no such inventory directory", fix=f"edgectl init {write} writes one")
    for file in init.write(write, library.files()):
        typer.echo(f"wrote  {file}")
