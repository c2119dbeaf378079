"""Objects of the API, asked of a control plane over SSH in one connection."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from typing import Any

from edgectl.cluster import kubectl
from edgectl.cluster.remote import Login, control_plane, open_and_run
from edgectl.errors import EdgectlError, UnreachableError
from edgectl.inventory import Inventory
from edgectl.ssh.target import Target

Objects = list[dict[str, Any]]


def get(inventory: Inventory, login: Login, *queries: Sequence[str]) -> tuple[list[Objects], Target]:
    """The objects of each query, and the control plane that told them, with the password that its sudo takes.

    A query is what follows `kubectl get`, such as ("pods", "--all-namespaces"). Raises UnreachableError where the
    control plane is silent, EdgectlError where it has no cluster to ask.
    """
    target = control_plane(inventory)
    # Each answer is one line.
    asked = (
        kubectl.command_line(inventory, ["get", *query, "--output=json", "--request-timeout=20s"]) for query in queries
    )
    command = " && echo && ".join(f"{line} | tr -d '\\n'" for line in asked)
    answers, targets = open_and_run(inventory, [target], command, login)
    answer = answers[target.name]
    if answer.trouble is not None:
        raise UnreachableError(
            f"the control plane {target.name} cannot be reached",
            answer.reason,
            f"see that it is switched on, then: {login.command}",
        )
    try:
        lists = [list(json.loads(line)["items"]) for line in answer.stdout.splitlines() if line.strip()]
        if len(lists) != len(queries):
            raise ValueError(f"{len(lists)} answers")  # noqa: TRY301
    except (ValueError, KeyError, TypeError) as error:
        said = (answer.stderr.strip() or "it gave no answer").splitlines()[-1]
        raise EdgectlError(
            f"{target.name} does not tell of a cluster",
            said,
            f"edgectl bootstrap {shlex.quote(str(inventory.path))}",
        ) from error
    return lists, targets[0]
