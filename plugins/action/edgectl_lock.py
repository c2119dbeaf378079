"""The controller's half of edgectl_lock: says who asks, and knows which of its own runs are still alive."""

from __future__ import annotations

import getpass
import os
import socket
import sys
import time
from pathlib import Path

from ansible.module_utils.parsing.convert_bool import boolean
from ansible.plugins.action import ActionBase

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "module_utils"))

from edgectl_checks import Finding


class ActionModule(ActionBase):
    """Takes or releases the lock of one host."""

    _VALID_ARGS = frozenset(("state", "break_lock", "cluster", "holder", "path"))

    def run(self, tmp=None, task_vars=None):
        result = super().run(tmp, task_vars)
        asked = dict(self._task.args)
        tried, holder = asked.get("state") == "tried", asked.pop("holder", {})
        if self._task.check_mode and not tried:
            return {**result, "changed": False, "holder": {}}
        asked["break_lock"] = boolean(asked.get("break_lock") or task_vars.get("edgectl_break_lock") or False)
        asked["record"] = record_of_this_run(asked, task_vars)
        if holder.get("id") == asked["record"]["id"]:
            return {**result, "changed": False, "holder": holder}
        answer = self._execute_module("edgectl_lock", module_args=asked, task_vars=task_vars)
        if answer.get("failed") or tried or asked.get("state", "taken") == "released":
            return answer
        if is_over(answer["holder"]):
            asked["replace"] = answer["holder"]["id"]
            answer = self._execute_module("edgectl_lock", module_args=asked, task_vars=task_vars)
        if not answer.get("failed") and answer["holder"].get("id") != asked["record"]["id"]:
            found = refusal(answer["holder"], task_vars["inventory_hostname"])
            said = f"{found.what}: {found.evidence}; {found.fix}"
            answer.update(failed=True, msg=said, findings=[found.as_dict()])
        return answer


def record_of_this_run(asked: dict, task_vars: dict) -> dict:
    """Who holds the lock: enough for a person to find the other one, and for us to know whether it still runs."""
    pid = os.getppid()  # tasks run in workers that are forked from ansible-playbook
    started = start_of_process(pid)
    return {
        "owner": f"{getpass.getuser()}@{socket.gethostname()}",
        "controller": controller_id(),
        "cluster": str(asked.get("cluster", "")),
        "pid": pid,
        "pid_started": started,
        "id": f"{controller_id()}:{pid}:{started}",
        "run_id": str(task_vars.get("edgectl_run_id", "")),
        "started": int(time.time()),
    }


def controller_id() -> str:
    """The machine-id, or the name of a controller that has none (macOS, a container)."""
    try:
        return Path("/etc/machine-id").read_text(encoding="ascii").strip() or socket.gethostname()
    except OSError:
        return socket.gethostname()


def start_of_process(pid: int) -> str:
    """What tells a process from a later one with the same number; empty where /proc can't say."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def is_over(holder: dict) -> bool:
    """Whether the run that holds a lock is known to be dead: it ran here, and its process is gone."""
    if holder.get("controller") != controller_id() or not holder.get("pid"):
        return False
    try:
        os.kill(holder["pid"], 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass
    return start_of_process(holder["pid"]) != holder.get("pid_started", "")


def refusal(holder: dict, host: str) -> Finding:
    """Why the lock is not ours, and what to do about it."""
    pid = holder.get("pid", "unknown")
    parts = [
        str(holder.get("owner", "unknown")),
        f"cluster {holder['cluster']}" if holder.get("cluster") else "",
        f"process {pid}",
        age(holder.get("started")),
    ]
    if holder.get("controller") == controller_id():
        way_out = f"wait for it to end, or stop it (it runs on this machine): kill {pid}"
    else:
        way_out = "wait for it to end; if it is certainly dead, run this again with -e edgectl_break_lock=true"
    return Finding(
        what="another run of edgectl is at work here",
        evidence=", ".join(filter(None, parts)),
        fix=way_out,
        host=host,
        layer="identity",
        id="I-LOCKED",
        docs="docs/checks.md#i-locked",
    )


def age(started: int | None) -> str:
    """`since 2026-11-21 15:49 (10 min)`, in this machine's time."""
    if not started:
        return "since an unknown time"
    moment = time.strftime("%Y-%m-%d %H:%M", time.localtime(started))
    return f"since {moment} ({int((time.time() - started) // 60)} min)"
