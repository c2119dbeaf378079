"""The controller's half of edgectl_receipt: knows the role, and works out its inputs."""

from __future__ import annotations

import sys
from pathlib import Path

from ansible.plugins.action import ActionBase

PLUGINS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PLUGINS / "lookup"))
sys.path.insert(0, str(PLUGINS / "module_utils"))

from edgectl_due import inputs_digest, receipts_count_for_nothing  # noqa: E402
from edgectl_inputs import facts, inventory_digest, machine, stamp_digest  # noqa: E402


class ActionModule(ActionBase):
    """Keeps the receipt of one role on one host."""

    TRANSFERS_FILES = False
    _VALID_ARGS = frozenset(("state", "role", "evidence", "directory", "stamp", "probe"))

    def run(self, tmp=None, task_vars=None):
        result = super().run(tmp, task_vars)
        asked = dict(self._task.args)
        asked.setdefault("role", self._task._role.get_name() if self._task._role else "")
        if self._task.check_mode:
            return {**result, "changed": False}
        if asked["state"] == "begun":
            # For phase verify: something was done on this host.
            result["ansible_facts"] = {"edgectl_worked": True}
        if asked["state"] != "absent" and only_some_tasks(task_vars):
            # The roles that come after this one decide by what it leaves, receipt or not.
            if asked["state"] != "recorded":
                return {**result, "changed": False}
            return {**result, **self._execute_module("edgectl_facts", module_args={}, task_vars=task_vars)}
        if asked["state"] == "stamped":
            directory = Path(task_vars["inventory_dir"])
            if inventory_digest(directory, with_state=False) != task_vars["edgectl_stamp"]:
                return {**result, "changed": False}  # edited since this run began
            asked["inputs"] = stamp_digest(directory)
            asked["machine"] = machine(str(task_vars["inventory_hostname"]), task_vars["ansible_facts"]["edgectl"])
        if asked["state"] == "recorded":
            asked["inputs"] = inputs_digest(asked["role"], task_vars, self._loader)
            asked["facts"] = facts(asked["role"], task_vars["ansible_facts"]["edgectl"])
        return {**result, **self._execute_module("edgectl_receipt", module_args=asked, task_vars=task_vars)}


def only_some_tasks(task_vars) -> bool:
    """A full run records as any other does; one with tags has not done all of the role's work."""
    return receipts_count_for_nothing({**task_vars, "edgectl_full": False})
