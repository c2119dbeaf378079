"""One command as root on some hosts: strangers' host keys asked about first, sudo's password when sudo wants it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from edgectl.cluster.session import Dialog
from edgectl.errors import UsageError
from edgectl.inventory import Inventory
from edgectl.ssh import hostkeys, secrets
from edgectl.ssh.everywhere import run_everywhere
from edgectl.ssh.result import Result, Trouble
from edgectl.ssh.target import Target, of_inventory

# One that was just taken out of the cluster, or is not in it yet, answers over SSH too.
# k3s has it inside of its one program; only servers have a unit of that name, and it is active when the API answers.
_RUNS_API_SERVER = "grep -qx kube-apiserver /proc/[0-9]*/comm || systemctl is-active --quiet k3s.service"


@dataclass(frozen=True)
class Login:
    """Who is asked, and what the user allowed. `command` is repeated in messages."""

    command: str
    dialog: Dialog | None = None
    accept_new_host_keys: bool = False
    become_password: str | None = field(default=None, repr=False)


def login(
    command: str, dialog: Dialog | None, *, accept_new_host_keys: bool = False, ask_become_password: bool = False
) -> Login:
    """A Login from the options that commands share; asks for sudo's password when the user wants that."""
    password = secrets.become_password(dialog.password if dialog else None, ask_first=ask_become_password)
    return Login(command, dialog, accept_new_host_keys, password)


def control_planes(inventory: Inventory) -> list[Target]:
    """The hosts that run the API, as SSH reaches them, in the order of the inventory."""
    names = {host.name for host in inventory.control_plane}
    if not names:
        raise UsageError(f"{inventory.path}: no host is in the group control_plane")
    return [target for target in of_inventory(inventory) if target.name in names]


def control_plane(inventory: Inventory) -> Target:
    """The first of them that runs an API server; the first of all where none does, so that the reason can be told."""
    wanted = control_planes(inventory)
    if len(wanted) == 1:
        return wanted[0]
    answers = run_everywhere(wanted, _RUNS_API_SERVER, connect_timeout=3)
    return next((target for target in wanted if answers[target.name].ok), wanted[0])


def run_as_root(
    inventory: Inventory, targets: Sequence[Target], command: str, login: Login, *, timeout: float = 30
) -> dict[str, Result]:
    """The answer of each target; a host that cannot be reached has its trouble instead.

    Raises like `hostkeys.ensure` on keys that are changed or not accepted, and Problems where sudo stays shut.
    """
    return open_and_run(inventory, targets, command, login, timeout=timeout)[0]


def open_and_run(
    inventory: Inventory, targets: Sequence[Target], command: str, login: Login, *, timeout: float = 30
) -> tuple[dict[str, Result], list[Target]]:
    """As run_as_root; also the targets with the password that their sudo takes, for what comes next."""
    wanted = secrets.with_password(targets, login.become_password)
    answers = run_everywhere(wanted, command, as_root=True, timeout=timeout)
    strangers = [target for target in wanted if answers[target.name].trouble is Trouble.HOST_KEY]
    if strangers:
        silent = hostkeys.ensure(
            strangers,
            accept_new=login.accept_new_host_keys,
            ask=login.dialog.trust if login.dialog else None,
            recorded={name: state.ssh_host_keys for name, state in inventory.state.hosts.items()},
            command=login.command,
        )
        known = [target for target in strangers if target.name not in silent]
        answers |= run_everywhere(known, command, as_root=True, timeout=timeout)
    locked = [target for target in wanted if secrets.wants_password(answers[target.name])]
    if locked:
        password = secrets.ask_for_sudo(locked, login.dialog.password if login.dialog else None)
        wanted = secrets.with_password(wanted, password)
        names = {target.name for target in locked}
        again = [target for target in wanted if target.name in names]
        answers |= run_everywhere(again, command, as_root=True, timeout=timeout)
    return answers, wanted
