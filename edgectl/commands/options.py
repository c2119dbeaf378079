"""Options that several verbs share, each defined once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from edgectl.commands import completion

InventoryArgument = Annotated[
    Path, typer.Argument(envvar="EDGECTL_INVENTORY", help="Inventory directory.", show_default=True)
]
InventoryOption = Annotated[
    Path, typer.Option("-i", "--inventory", envvar="EDGECTL_INVENTORY", help="Inventory directory.")
]
Limit = Annotated[
    str,
    typer.Option(
        "--limit",
        "-l",
        metavar="HOSTS",
        help="Only these hosts or groups (a,b or workers or '!a').",
        autocompletion=completion.hosts_and_groups,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON documents, one a line, and ask nothing.")]
JsonDocument = Annotated[bool, typer.Option("--json", help="Print one JSON document and ask nothing.")]
Plain = Annotated[bool, typer.Option("--plain", help="Print plain lines instead of the live display.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Show every task and whole messages.")]
AcceptNewHostKeys = Annotated[
    bool, typer.Option("--accept-new-host-keys", help="Trust hosts met for the first time (changed keys never).")
]
AskBecomePass = Annotated[
    bool,
    typer.Option(
        "--ask-become-pass", "-K", help="Ask for the sudo password first. (EDGECTL_BECOME_PASSWORD_FILE holds it too.)"
    ),
]
VaultPasswordFile = Annotated[
    Path | None, typer.Option("--vault-password-file", metavar="FILE", help="File with the Ansible Vault password.")
]
ExtraVars = Annotated[
    list[str] | None, typer.Option("-e", "--extra-vars", metavar="KEY=VALUE", help="Override a variable; repeatable.")
]

DEFAULT_INVENTORY = Path("inventory")
