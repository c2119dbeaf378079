"""What bootstrap and reset share: get ready, run the playbook in view, print the summary, end with its exit code."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgectl import content
from edgectl.cluster.session import Request, Session, open_session
from edgectl.cluster.verb import Outcome, carry_out
from edgectl.inventory import load, read, schema
from edgectl.output import summary
from edgectl.output.dialog import confirm, terminal_dialog
from edgectl.output.jsonl import JsonLinesRenderer
from edgectl.output.renderer import Renderer, Style, choose_style, make
from edgectl.output.words import listing
from edgectl.run.former import phase_times
from edgectl.run.playbook import phases


@dataclass(frozen=True)
class Show:
    """How the user wants to see it."""

    json: bool = False
    plain: bool = False
    verbose: bool = False


def run_verb(
    verb: str,
    *,
    inventory: Path,
    limit: str,
    show: Show,
    ask: bool,
    accept_new_host_keys: bool,
    ask_become_password: bool,
    vault_password_file: Path | None,
    arguments: tuple[str, ...],
    variables: Mapping[str, Any] | None = None,
    check: bool = False,
    destroys: bool = False,
    yes: bool = False,
) -> Outcome:
    """Run a verb from the command line, in view, to the last line of its summary.

    check: change nothing, and tell what would be changed.
    variables: extra variables of edgectl's own; arguments: the user's.
    """
    words = ["edgectl", verb, str(inventory), *(["--limit", limit] if limit else [])]
    request = Request(
        inventory=inventory,
        command=shlex.join(words),
        limit=limit,
        accept_new_host_keys=accept_new_host_keys,
        ask_become_password=ask_become_password,
        vault_password_file=vault_password_file,
        need_control_plane=not destroys,
    )
    # A reset must work on an inventory that has become wrong in the meantime.
    session = open_session(request, terminal_dialog(wanted=ask), read if destroys else load)
    if destroys:
        confirm(*_what_is_lost(session, limited=bool(limit)), yes=yes, command=request.command)
    style = choose_style(json=show.json, plain=show.plain)
    renderer = renderer_for(session, verb, show)
    if not destroys and (remark := schema.remark(inventory)):
        renderer.note(f"note: {remark}")
    outcome = carry_out(
        verb, session, renderer, limited=bool(limit), extra_vars=variables, arguments=arguments, check=check,
        on_cancel=say_stopping,
    )  # fmt: skip
    if isinstance(renderer, JsonLinesRenderer):
        renderer.write(summary.document(outcome))
    else:
        if style is Style.LIVE or outcome.result.phases:
            print()
        for line in summary.plan_lines(outcome) if check else summary.lines(outcome):
            print(line)
    return outcome


def renderer_for(session: Session, verb: str, show: Show) -> Renderer:
    """A renderer for the verb's playbook that has said already who is left out."""
    style = choose_style(json=show.json, plain=show.plain)
    renderer = make(
        style,
        phases=phases(content.playbook(verb)),
        hosts=session.ready,
        former=phase_times(verb, len(session.ready)) if style is Style.LIVE else None,
        verbose=show.verbose,
    )
    for host, reason in session.missing.items():
        renderer.note(f"{host} is left out: {reason}")
    return renderer


def show_end(renderer: Renderer, document: Callable[[], Mapping[str, Any]], lines: Callable[[], Iterable[str]]) -> None:
    """What a run came to, below what the renderer has shown: its JSON document or its lines, whichever is wanted."""
    if isinstance(renderer, JsonLinesRenderer):
        renderer.write(document())
        return
    print()
    for line in lines():
        print(line)


def say_stopping() -> None:
    """The answer to the first Ctrl-C."""
    print("\nstopping; hosts may be in the middle of a task. Ctrl-C again kills Ansible at once.", file=sys.stderr)


def _what_is_lost(session: Session, *, limited: bool) -> tuple[str, str]:
    if limited:
        names = ",".join(session.ready)
        return names, f"This removes {listing(session.ready)} from the cluster, with all data in their pods"
    name = str(session.inventory.option("cluster_name", "edgectl"))
    return name, f"This destroys the cluster {name} on {listing(session.ready)}, with everything in it"
