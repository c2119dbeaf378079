"""Questions to the user on a terminal: passwords, new host keys, a name to type before something is destroyed."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Sequence

from edgectl.errors import Interrupted, UsageError
from edgectl.ssh.hostkeys import Stranger


def can_ask() -> bool:
    """Whether somebody is there to read a question and answer it."""
    return sys.stdin.isatty() and sys.stderr.isatty()


class TerminalDialog:
    """Asks on standard error, so that standard output stays free for data."""

    def password(self, prompt: str) -> str:
        try:
            return getpass.getpass(prompt, stream=sys.stderr)
        except (EOFError, KeyboardInterrupt) as error:
            raise Interrupted("no password given, nothing was started") from error

    def trust(self, strangers: Sequence[Stranger]) -> bool:
        """Show all new keys in one table and ask once about all of them."""
        from rich.console import Console
        from rich.table import Table

        table = Table("host", "address", "type", "fingerprint", box=None, pad_edge=False, padding=(0, 2, 0, 0))
        for stranger in strangers:
            table.add_row(
                stranger.target.name, stranger.endpoint.known_hosts_name, stranger.key.short_type,
                stranger.key.fingerprint,
            )  # fmt: skip
        console = Console(stderr=True, highlight=False, soft_wrap=True)
        console.print("First contact with these hosts. Compare with `ssh-keygen -lf` on the hosts themselves:\n")
        console.print(table)
        return self._ask("\nAre these the right hosts? [y/N] ").lower() in ("y", "yes")

    def _ask(self, question: str) -> str:
        print(question, end="", file=sys.stderr, flush=True)
        try:
            return input().strip()
        except (EOFError, KeyboardInterrupt) as error:
            raise Interrupted("no answer, nothing was started") from error

    def answer(self, question: str, default: str = "") -> str:
        """What the user types, or the default for an empty line."""
        return self._ask(f"{question} [{default}] " if default else f"{question} ") or default

    def agrees(self, question: str) -> bool:
        """Yes or no; an empty line is no."""
        return self._ask(f"{question} [y/N] ").lower() in ("y", "yes")

    def typed(self, name: str, what: str) -> None:
        """Go on only when the user types the name."""
        answer = self._ask(f"{what}\nType {name} to go on: ")
        if answer != name:
            raise UsageError(f"that was not {name}; nothing was changed")


def terminal_dialog(*, wanted: bool = True) -> TerminalDialog | None:
    """The one who asks; None where nobody would answer, or where nothing is to be asked."""
    return TerminalDialog() if wanted and can_ask() else None


def confirm(name: str, what: str, *, yes: bool, command: str) -> None:
    """Before something is destroyed: `--yes`, or the name typed at a terminal."""
    if yes:
        return
    if not can_ask():
        raise UsageError(f"{what}, and there is no terminal to confirm it", fix=f"{command} --yes")
    TerminalDialog().typed(name, what)
