"""`edgectl schema`: JSON Schema of an inventory's files, for editors and CI."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Annotated

import typer


class Kind(StrEnum):
    """Which file of the inventory."""

    hosts = "hosts"
    vars = "vars"


def schema(
    kind: Annotated[
        Kind, typer.Argument(help="hosts: hosts.yml. vars: files in group_vars/ and host_vars/.")
    ] = Kind.hosts,
) -> None:
    """Print the JSON Schema (draft 7) of hosts.yml, or of a file of variables.

    `edgectl init` writes both to `.edgectl/` of a new inventory, where editors find them.
    """
    from edgectl.inventory import schema as library

    typer.echo(json.dumps(library.schema(kind.value), indent=2))
