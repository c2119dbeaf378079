"""Everything before the first playbook: inventory, passwords, host keys, and who answers at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Protocol

from edgectl.errors import EdgectlError, Problems, UnreachableError, UsageError
from edgectl.inventory import Inventory, load
from edgectl.inventory.documents import did_you_mean
from edgectl.ssh import hostkeys, secrets
from edgectl.ssh.everywhere import run_everywhere
from edgectl.ssh.hostkeys import Stranger
from edgectl.ssh.result import Result, Trouble
from edgectl.ssh.secrets import Secrets
from edgectl.ssh.target import Target, of_inventory


class Dialog(Protocol):
    """Asks the user. Where there is nobody to ask, there is no dialog."""

    def password(self, prompt: str) -> str: ...

    def trust(self, strangers: Sequence[Stranger]) -> bool: ...


@dataclass(frozen=True)
class Request:
    """What the user asked for, as far as it concerns getting ready. `command` is repeated in messages."""

    inventory: Path
    command: str
    limit: str = ""
    accept_new_host_keys: bool = False
    ask_become_password: bool = False
    vault_password_file: Path | None = None
    need_control_plane: bool = True


@dataclass(frozen=True)
class Session:
    """Hosts that are ready to be worked on. `left_out` are those that are not, each with the reason."""

    inventory: Inventory
    secrets: Secrets
    targets: Mapping[str, Target]
    selected: tuple[str, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)

    @property
    def ready(self) -> tuple[str, ...]:
        """The selected hosts that answer."""
        return tuple(name for name in self.selected if name not in self.left_out)

    @property
    def missing(self) -> dict[str, str]:
        """The selected hosts that do not answer, and why."""
        return {name: self.left_out[name] for name in self.selected if name in self.left_out}


def open_session(request: Request, dialog: Dialog | None, read: Callable[..., Inventory] = load) -> Session:
    """Read the inventory, find the passwords, know the host keys, and see who answers.

    Raises UsageError or Problems before anything on any host was changed. A host that cannot be reached is left
    out, unless it is the control plane, or the hub, and the verb needs it.
    """
    ask = dialog.password if dialog else None
    vault = secrets.find_vault(request.inventory, request.vault_password_file, ask)
    inventory = read(request.inventory, vault=vault)
    selected = select(inventory, request.limit)
    password = secrets.become_password(ask, ask_first=request.ask_become_password)
    targets = secrets.with_password(of_inventory(inventory), password)
    answers = _meet(targets, request, dialog, inventory)
    password = _open_sudo(targets, answers, password, ask)
    left_out = {name: answer.reason for name, answer in answers.items() if answer.trouble is not None}
    if request.need_control_plane:
        _require_foundation(inventory, left_out, targets)
    if all(name in left_out for name in selected):
        raise Problems([_unreachable(t, left_out[t.name]) for t in targets if t.name in selected])
    hidden = frozenset(filter(None, (p for t in targets for p in (t.password, t.become_password))))
    return Session(
        inventory,
        Secrets(become_password=password, vault=vault, hidden=hidden),
        {target.name: target for target in secrets.with_password(targets, password)},
        selected,
        left_out,
    )


def select(inventory: Inventory, limit: str) -> tuple[str, ...]:
    """The hosts that `--limit` names: hosts, groups or patterns with `*`, after commas; `!` takes away."""
    names = [host.name for host in inventory.hosts]
    if not limit:
        return tuple(names)
    chosen: set[str] = set()
    removed: set[str] = set()
    parts = [part.strip() for part in limit.replace(":", ",").split(",") if part.strip()]
    for part in parts:
        word = part.lstrip("!")
        matching = set(names) if word == "all" else set(inventory.groups.get(word, ()))
        matching |= {name for name in names if fnmatchcase(name, word)}
        if not matching:
            near = did_you_mean(word, [*names, *inventory.groups])
            raise UsageError(
                f"--limit {part}: the inventory has no such host or group",
                f"its hosts: {', '.join(names)}",
                f"did you mean {near}?" if near else "",
            )
        (removed if part.startswith("!") else chosen).update(matching)
    if all(part.startswith("!") for part in parts):
        chosen = set(names)
    result = tuple(name for name in names if name in chosen - removed)
    if not result:
        raise UsageError(f"--limit {limit} leaves no host", f"the inventory's hosts: {', '.join(names)}")
    return result


def _meet(
    targets: Sequence[Target], request: Request, dialog: Dialog | None, inventory: Inventory
) -> dict[str, Result]:
    """Log in everywhere and try sudo. Only hosts whose key is not known are looked at more closely."""
    answers = run_everywhere(targets, "true", as_root=True)
    strangers = [target for target in targets if answers[target.name].trouble is Trouble.HOST_KEY]
    if not strangers:
        return answers
    silent = hostkeys.ensure(
        strangers,
        accept_new=request.accept_new_host_keys,
        ask=dialog.trust if dialog else None,
        recorded={name: state.ssh_host_keys for name, state in inventory.state.hosts.items()},
        command=request.command,
    )
    answers |= {name: trouble.result() for name, trouble in silent.items()}
    return answers | run_everywhere([t for t in strangers if t.name not in silent], "true", as_root=True)


def _open_sudo(
    targets: Sequence[Target], answers: Mapping[str, Result], password: str | None, ask: secrets.Ask | None
) -> str | None:
    problems: list[EdgectlError] = []
    locked: list[Target] = []
    for target in targets:
        answer = answers[target.name]
        if answer.trouble is not None or answer.ok:
            continue
        if not secrets.wants_password(answer):
            said = (answer.stderr.strip() or f"exit code {answer.rc}").splitlines()[-1]
            problems.append(_no_root(target, said))
        elif target.become_password is not None:
            problems.append(secrets.wrong_password(target))
        else:
            locked.append(target)
    if problems:
        raise Problems(problems)
    return password if not locked else secrets.ask_for_sudo(locked, ask)


def _no_root(target: Target, said: str) -> UsageError:
    user = target.user or "your user"
    return UsageError(
        f"{target.name}: {user} cannot become root there",
        said,
        f"log in as root once and run: adduser {user} sudo  (or set ansible_user: root for this host)",
    )


def _unreachable(target: Target, reason: str, what: str = "") -> UnreachableError:
    login = f"{target.user}@{target.address}" if target.user else target.address
    port = f" -p {target.port}" if target.port not in (None, 22) else ""
    return UnreachableError(
        what or f"{target.name} cannot be reached",
        reason,
        f"see that it is switched on and that `ssh{port} {login}` logs in, then run the command again",
    )


def _require_foundation(inventory: Inventory, left_out: Mapping[str, str], targets: Sequence[Target]) -> None:
    """Without a control plane, and without the hub through which all others talk, nobody can go on."""
    needed = {host.name: "hub" for host in inventory.hub}
    planes = {host.name for host in inventory.control_plane}
    # A cluster that stands needs one of them; one that is to be made begins with all.
    if not (inventory.state.cluster.ca_hash and planes - set(left_out)):
        needed |= dict.fromkeys(planes, "control plane")
    if not set(needed) & set(left_out):
        return
    lost = [target for target in targets if target.name in left_out]
    raise Problems(
        [
            _unreachable(
                target,
                left_out[target.name],
                f"the {needed[target.name]} {target.name} cannot be reached, so nothing was started"
                if target.name in needed
                else "",
            )
            for target in sorted(lost, key=lambda target: target.name not in needed)
        ]
    )
