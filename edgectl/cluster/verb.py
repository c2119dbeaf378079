"""A playbook run as a verb on the cluster: the run itself, then what a reader needs to know about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any

from edgectl import content
from edgectl.cluster import journal, locks
from edgectl.cluster.session import Session
from edgectl.exitcodes import ExitCode
from edgectl.output.renderer import Renderer
from edgectl.run.playbook import run_playbook
from edgectl.run.redact import Redactor
from edgectl.run.result import RunResult, RunStatus

# Hosts that a task must not be delegated to, because they did not answer before the run.
UNREACHABLE_VARIABLE = "edgectl_unreachable_hosts"


@dataclass(frozen=True)
class Outcome:
    """A run, the hosts that were left out of it, and the journal lines that explain its failures.

    repeat: the verb that makes up for what was missed, where that is another one.
    arguments: the user's own `-e` values, which the next run needs too.
    """

    verb: str
    session: Session
    result: RunResult
    journal: Mapping[str, list[str]] = field(default_factory=dict)
    repeat: str = ""
    arguments: tuple[str, ...] = ()

    @property
    def exit_code(self) -> ExitCode:
        if self.result.status is RunStatus.CANCELED:
            return ExitCode.INTERRUPTED
        if self.result.status is RunStatus.FAILED:
            return ExitCode.FAILED
        if self.result.status is RunStatus.UNREACHABLE or self.session.missing:
            return ExitCode.UNREACHABLE
        return ExitCode.OK


def carry_out(
    verb: str,
    session: Session,
    renderer: Renderer,
    *,
    limited: bool,
    extra_vars: Mapping[str, Any] | None = None,
    arguments: tuple[str, ...] = (),
    check: bool = False,
    on_cancel: Callable[[], None] | None = None,
    repeat: str = "",
) -> Outcome:
    """Run the verb's playbook on the session's hosts.

    check: only say what would be changed.
    limited: the user named hosts, so that Ansible gets a limit even when all of these answer.
    """
    inventory = session.inventory
    variables = {**(extra_vars or {}), UNREACHABLE_VARIABLE: sorted(session.left_out)}
    entered: AbstractContextManager[Renderer] = renderer
    with entered as shown:
        result = run_playbook(
            content.playbook(verb),
            inventory.path.absolute(),
            limit=",".join(session.ready) if limited or session.missing else "",
            extra_vars=variables,
            arguments=arguments,
            check=check,
            secrets=session.secrets,
            known_hosts=inventory.known_hosts.absolute(),
            on_event=shown.take,
            on_cancel=on_cancel,
            hosts=len(inventory.hosts),
            verb="plan" if check else verb,
        )
    if result.ok:
        return Outcome(verb, session, result, repeat=repeat, arguments=arguments)
    result = _with_names(result, session)
    reachable = [session.targets[name] for name in session.targets if name not in session.left_out]
    redact = Redactor(session.secrets.values())
    found = journal.of_failures(result.failures, session.targets, result.started)
    lines = {host: [redact(line) for line in said] for host, said in found.items()}
    locks.release(reachable, result.run_id)
    return Outcome(verb, session, result, lines, repeat, arguments)


def _with_names(result: RunResult, session: Session) -> RunResult:
    """Ansible tells the address of the host that a task was delegated to; people know its name."""
    names = {target.address: name for name, target in session.targets.items()}
    failures = (replace(f, delegated_to=names.get(f.delegated_to, f.delegated_to)) for f in result.failures)
    return replace(result, failures=tuple(failures))
