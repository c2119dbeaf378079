"""Looking at hosts without touching them: the probe everywhere, strangers' host keys asked about first."""

from __future__ import annotations

from collections.abc import Sequence

from edgectl.cluster.remote import Login
from edgectl.inventory import Inventory
from edgectl.ssh import hostkeys, secrets
from edgectl.ssh.probe import Document, ProbeFailure, probe_targets
from edgectl.ssh.result import Trouble
from edgectl.ssh.target import Target


def observe(
    inventory: Inventory, targets: Sequence[Target], login: Login, *, script: str = ""
) -> dict[str, Document | ProbeFailure]:
    """The probe's document of every target, or why there is none, in the order of the targets.

    One round trip when all keys are known. Raises like `hostkeys.ensure` on keys that are changed or not accepted.
    script: what asks the hosts, in place of the probe.
    """
    targets = secrets.with_password(targets, login.become_password)
    answers = probe_targets(targets, script)
    strangers = [target for target in targets if _has_strange_key(answers[target.name])]
    if not strangers:
        return answers
    silent = hostkeys.ensure(
        strangers,
        accept_new=login.accept_new_host_keys,
        ask=login.dialog.trust if login.dialog else None,
        recorded={name: state.ssh_host_keys for name, state in inventory.state.hosts.items()},
        command=login.command,
    )
    return answers | probe_targets([target for target in strangers if target.name not in silent], script)


def _has_strange_key(answer: Document | ProbeFailure) -> bool:
    return isinstance(answer, ProbeFailure) and answer.trouble is Trouble.HOST_KEY
