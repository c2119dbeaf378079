#!/usr/bin/python
"""Bring several systemd units into their state in one go."""

from __future__ import annotations

import os

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.edgectl_evidence import started_before

DOCUMENTATION = r"""
module: edgectl_units
short_description: Brings several systemd units into their state in one go
description:
  - What C(ansible.builtin.systemd_service) does in a task for each unit, this does in one for all, in their order.
  - systemd is asked to read its unit files again where it says that one of these units needs it.
  - A unit is restarted where it was started before what it reads was changed. That is seen on the host, not remembered
    by the run, so a run that was killed between a change and the restart is made good by the next.
options:
  units:
    description: The units, in the order in which they are stopped, enabled and started.
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description: Name with its ending, such as C(containerd.service).
        type: str
        required: true
      state:
        description: Without it the unit is left running or stopped as it is.
        type: str
        choices: [started, stopped]
      enabled:
        description: Whether it is started at every boot. Without it this stays as it is.
        type: bool
      after:
        description: Files. A unit that was started before one of them was changed is restarted.
        type: list
        elements: path
        default: []
      changed:
        description:
          - Whether this run has changed what the unit reads. A dry run, in which no file changes, knows only this of
            the restart that it foretells.
        type: bool
        default: false
      makes:
        description: A path that is there while the unit works. A unit that is active without it is restarted.
        type: path
      reload:
        description: Whether a unit that runs already, and is not restarted, reads its configuration again.
        type: bool
        default: false
      optional:
        description: Whether a host may lack the unit.
        type: bool
        default: false
  read_again:
    description: Have systemd read all unit files again, as after some were removed.
    type: bool
    default: false
attributes:
  check_mode:
    support: full
author: [edgectl]
"""

EXAMPLES = r"""
- name: Running, with the present configuration
  edgectl_units:
    units:
      - name: containerd.service
        enabled: true
        state: started
        after: [/etc/containerd/config.toml]
        changed: "{{ containerd_configuration is changed }}"
"""

RETURN = r"""
done: {description: "What was done to which units, by verb: enabled, disabled, started, stopped, restarted, reloaded.",
       type: dict, returned: always}
"""

PROPERTIES = (
    "LoadState,ActiveState,UnitFileState,NeedDaemonReload,ExecMainStartTimestampMonotonic,ActiveEnterTimestampMonotonic"
)


class Systemd:
    """What systemctl says and does; nothing is done in a dry run."""

    def __init__(self, module: AnsibleModule) -> None:
        self.module = module
        self.done = {}  # type: dict[str, list[str]]

    def show(self, names: "list[str]") -> "dict[str, dict[str, str]]":
        """Properties of each unit, by the name that was asked for."""
        _, out, _ = self.module.run_command(
            ["systemctl", "show", "--no-pager", "--property", PROPERTIES, *names], check_rc=True
        )
        blocks = [dict(line.partition("=")[::2] for line in block.splitlines()) for block in out.split("\n\n")]
        return dict(zip(names, blocks))

    def read_again(self) -> None:
        self._run(["daemon-reload"], "read the unit files")

    def act(self, verb: str, name: str, past: str) -> None:
        self.done.setdefault(past, []).append(name)
        self._run([verb, name], "{} {}".format(verb, name))

    def _run(self, arguments: "list[str]", doing: str) -> None:
        if self.module.check_mode:
            return
        rc, out, err = self.module.run_command(["systemctl", *arguments])
        if rc != 0:
            reason = (err or out).strip() or "systemctl ended with {}".format(rc)
            self.module.fail_json(msg="cannot {}: {}".format(doing, reason), done=self.done, changed=bool(self.done))


def settle(systemd: Systemd, unit: "dict[str, object]", shown: "dict[str, str]") -> None:
    """Bring one unit into its state."""
    name = str(unit["name"])
    if shown["LoadState"] == "not-found" and unit["optional"]:
        return
    # A dry run has not laid the unit's file.
    if shown["LoadState"] == "not-found" and not systemd.module.check_mode:
        systemd.module.fail_json(msg="there is no unit {}".format(name), done=systemd.done, changed=bool(systemd.done))
    active = shown["ActiveState"] in ("active", "reloading")
    if unit["state"] == "stopped" and shown["ActiveState"] not in ("inactive", "failed"):
        systemd.act("stop", name, "stopped")
    enabled = shown["UnitFileState"] in ("enabled", "enabled-runtime")
    if unit["enabled"] is not None and unit["enabled"] != enabled and shown["UnitFileState"] != "static":
        verb = "enable" if unit["enabled"] else "disable"
        systemd.act(verb, name, verb + "d")
    if unit["state"] != "started":
        return
    missing = bool(unit["makes"]) and not os.path.lexists(str(unit["makes"]))
    if not active:
        systemd.act("start", name, "started")
    elif missing or unit["changed"] or started_before(shown, unit["after"]):
        systemd.act("restart", name, "restarted")
    elif unit["reload"]:
        systemd.act("reload", name, "reloaded")


def main() -> None:
    unit = {
        "name": {"type": "str", "required": True},
        "state": {"type": "str", "choices": ["started", "stopped"]},
        "enabled": {"type": "bool"},
        "after": {"type": "list", "elements": "path", "default": []},
        "changed": {"type": "bool", "default": False},
        "makes": {"type": "path"},
        "reload": {"type": "bool", "default": False},
        "optional": {"type": "bool", "default": False},
    }
    module = AnsibleModule(
        argument_spec={
            "units": {"type": "list", "elements": "dict", "default": [], "options": unit},
            "read_again": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    systemd = Systemd(module)
    units = module.params["units"]
    names = [str(unit["name"]) for unit in units]
    if module.params["read_again"]:
        systemd.read_again()
    shown = systemd.show(names) if names else {}
    unread = [name for name in names if shown[name]["NeedDaemonReload"] == "yes"]
    # A unit that another one names stays unknown to systemd after its file has come.
    unknown = [unit["name"] for unit in units if not unit["optional"] and shown[unit["name"]]["LoadState"] != "loaded"]
    if unread or unknown:
        systemd.read_again()
        shown = systemd.show(names)
    for unit in units:
        settle(systemd, unit, shown[unit["name"]])
    module.exit_json(changed=bool(systemd.done), done=systemd.done)


if __name__ == "__main__":
    main()
