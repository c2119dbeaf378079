"""Controller side of module edgectl_wireguard_peers: another host that is switched off is no failure of this one."""

from __future__ import annotations

from typing import Any

from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.action import ActionBase


class ActionModule(ActionBase):
    """Runs the module; with `optional`, a host that cannot be reached gives `told: false` instead of unreachable."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars)
        arguments = dict(self._task.args)
        optional = arguments.pop("optional", False)
        try:
            result.update(self._execute_module(module_args=arguments, task_vars=task_vars))
        except AnsibleConnectionFailure as error:
            if not optional:
                raise
            result.update(changed=False, told=False, msg=str(error))
        return result
