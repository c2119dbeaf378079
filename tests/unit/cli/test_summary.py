"""The end of a run in words."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from edgectl.cluster.journal import of_failures, what_matters
from edgectl.cluster.session import Session
from edgectl.cluster.verb import Outcome
from edgectl.exitcodes import ExitCode
from edgectl.output import summary
from edgectl.run.events import Failure
from edgectl.run.result import Change, RunResult, RunStatus
from edgectl.ssh.secrets import Secrets


class Named:
    """As much of a host, or of an inventory, as a summary looks at."""

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)


HOSTS = tuple(Named(name=name) for name in ("nuc1", "nuc2", "orin1"))
INVENTORY = cast("Any", Named(path=Path("my lab"), hosts=HOSTS, control_plane=HOSTS[:1]))


def outcome(status: RunStatus, *, missing: dict[str, str] | None = None, **fields: Any) -> Outcome:
    session = Session(INVENTORY, Secrets(), {}, ("nuc1", "nuc2", "orin1"), missing or {})
    journal = fields.pop("journal", {})
    result = RunResult("id", status, 12.0, 0.0, Path("/log"), **fields)
    return Outcome("bootstrap", session, result, journal)


def text(of: Outcome) -> str:
    return "\n".join(summary.lines(of))


def test_preflight_shows_every_problem_of_every_host_with_its_fix() -> None:
    findings = (
        {"host": "nuc1", "severity": "error", "what": "the clock is wrong", "evidence": "9 s", "fix": "timedatectl"},
        {"host": "orin1", "severity": "warning", "what": "little memory", "evidence": "", "fix": ""},
    )
    shown = text(
        outcome(RunStatus.FAILED, failures=(Failure("nuc1", "Preflight", "Every problem", findings=findings),))
    )
    assert "1 problem found before anything was changed:" in shown
    assert "  nuc1: error: the clock is wrong\n    seen: 9 s\n    fix: timedatectl" in shown
    assert "  orin1: warning: little memory" in shown
    assert "run again: edgectl bootstrap 'my lab'" in shown


def test_notes_are_told_once_with_all_their_hosts() -> None:
    notes = {"silent: nuc3": ("nuc1", "nuc2"), "ufw is active": ("orin1",)}
    shown = text(outcome(RunStatus.SUCCESSFUL, notes=notes))
    assert "\nnote on nuc1 and nuc2: silent: nuc3\nnote on orin1: ufw is active\n" in shown


def test_the_command_to_repeat_has_the_users_own_variables() -> None:
    failures = (Failure("nuc1", "Machine", "Swap", message="no"),)
    told = replace(outcome(RunStatus.FAILED, failures=failures), arguments=('{"a": 1}', "b=2"))
    assert """edgectl bootstrap 'my lab' -e '{"a": 1}' -e b=2""" in text(told)


def test_a_failed_worker_is_repeated_alone_and_a_failed_control_plane_with_everybody() -> None:
    worker = text(outcome(RunStatus.FAILED, failures=(Failure("orin1", "Runtime", "Start", message="no"),)))
    assert "nuc1 and nuc2 went on without orin1." in worker
    assert "edgectl bootstrap 'my lab' --limit orin1" in worker
    control = text(outcome(RunStatus.FAILED, failures=(Failure("nuc1", "Runtime", "Start", message="no"),)))
    assert "run again: edgectl bootstrap 'my lab'\n" in control


def test_the_journal_of_the_failed_host_follows_its_failure() -> None:
    failure = Failure("orin1", "Cluster", "Join", role="kubeadm", message="timed out", delegated_to="nuc1")
    shown = text(outcome(RunStatus.FAILED, failures=(failure,), journal={"nuc1": ["kubelet: no such node"]}))
    assert "orin1 failed in phase Cluster (working on nuc1): Join\n  timed out\n" in shown
    assert "what nuc1's journal says:\n    kubelet: no such node" in shown


def test_a_fix_names_the_inventory_as_it_is_called_here() -> None:
    message = "the GPU of orin1 is not proved: no answer\nfix: edgectl bootstrap INVENTORY --limit orin1 --full"
    shown = text(outcome(RunStatus.FAILED, failures=(Failure("orin1", "Verify", "Pods compute", message=message),)))
    assert "\n  the GPU of orin1 is not proved: no answer\n  fix: edgectl bootstrap 'my lab' --limit orin1" in shown


def test_a_canceled_run_says_who_may_be_busy_and_what_to_run() -> None:
    stopped = outcome(RunStatus.CANCELED, busy={"nuc2": "Install containerd"})
    assert "  nuc2: Install containerd" in text(stopped)
    assert "To go on: edgectl bootstrap 'my lab'" in text(stopped)
    assert stopped.exit_code is ExitCode.INTERRUPTED


def test_hosts_are_told_in_the_order_of_the_inventory_whoever_was_done_first() -> None:
    changes = tuple(Change(host, "Cluster", "Options") for host in ("orin1", "nuc1"))
    hosts: dict[str, dict[str, int]] = {"orin1": {}, "nuc2": {}, "nuc1": {}}
    shown = text(outcome(RunStatus.SUCCESSFUL, changes=changes, hosts=hosts))
    assert "  nuc1   1 change: Cluster 1\n  nuc2   nothing\n  orin1  1 change: Cluster 1\n" in shown


def test_services_that_were_restarted_are_named() -> None:
    changes = (Change("orin1", "Runtime", "Configuration"), Change("nuc2", "Runtime", "Configuration"))
    restarts = {"containerd.service": ("orin1", "nuc2")}
    shown = text(outcome(RunStatus.SUCCESSFUL, changes=changes, hosts={"orin1": {}, "nuc2": {}}, restarts=restarts))
    assert "  orin1  1 change: Runtime 1\n  restarted containerd on nuc2 and orin1\n" in shown


def test_hosts_left_out_make_the_code_4_and_get_their_own_command() -> None:
    left = outcome(RunStatus.SUCCESSFUL, missing={"nuc2": "no answer"})
    assert left.exit_code is ExitCode.UNREACHABLE
    assert "nuc2 was left out: no answer" in text(left)
    assert "edgectl bootstrap 'my lab' --limit nuc2" in text(left)
    assert "when it is back: edgectl deploy ollama 'my lab'\n" in text(replace(left, repeat="deploy ollama"))


def test_a_run_that_never_began_shows_what_ansible_said() -> None:
    assert "  ERROR! 'tsks' is not valid" in text(outcome(RunStatus.FAILED, output=("ERROR! 'tsks' is not valid",)))


def test_the_json_document_holds_the_same() -> None:
    failure = Failure("orin1", "Runtime", "Start", message="no", findings=({"host": "orin1"},))
    document = summary.document(outcome(RunStatus.FAILED, failures=(failure,)))
    assert json.loads(json.dumps(document))["failures"][0]["findings"] == [{"host": "orin1"}]
    assert (document["schema_version"], document["kind"], document["exit_code"]) == (1, "result", 1)


def entry(message: Any, priority: int = 6, unit: str = "kubelet.service") -> str:
    return json.dumps({"MESSAGE": message, "PRIORITY": str(priority), "_SYSTEMD_UNIT": unit})


def test_of_a_journal_only_what_is_bad_is_shown_and_each_thing_once() -> None:
    journal = "\n".join(
        [
            entry('E1121 08:39:16.336960    2771 kubelet.go:3130] "network not ready"'),
            entry('I1121 08:39:17.336960    2771 kubelet.go:1] "error in the text of an information"'),
            entry('time="2026-11-21T08:39:17Z" level=info msg="fine"', unit="containerd.service"),
            entry('time="2026-11-21T08:39:18Z" level=error msg="no shim"', unit="containerd.service"),
            entry('E1121 08:39:19.000000    2771 kubelet.go:3130] "network not ready"'),
            entry("Main process exited, code=exited", priority=4, unit="init.scope"),
            entry(list(b"failed \xff"), unit=""),
            "not json",
        ]
    )
    assert what_matters(journal) == [
        'containerd: time="2026-11-21T08:39:18Z" level=error msg="no shim"',
        'kubelet: E1121 08:39:19.000000    2771 kubelet.go:3130] "network not ready"',
        "Main process exited, code=exited",
        "failed \ufffd",
    ]


def test_a_kernel_without_wireguard_is_told_only_where_nothing_takes_its_place() -> None:
    tunnel = "wg-quick@wg0.service"
    missing = entry("Error: Unknown device type.", unit=tunnel)
    fallen_back = "[!] Missing WireGuard kernel module. Falling back to slow userspace implementation."
    assert what_matters(missing) == ["wg-quick@wg0: Error: Unknown device type."]
    assert what_matters(f"{missing}\n{entry(fallen_back, unit=tunnel)}") == []


def test_a_tunnel_that_its_watch_restarted_is_told() -> None:
    restarted = "wg0 does not answer: restarting wg-quick@wg0"
    unit = "edgectl-wireguard-watch@wg0"
    assert what_matters(entry(restarted, unit=f"{unit}.service")) == [f"{unit}: {restarted}"]


def test_a_role_without_units_asks_no_journal() -> None:
    assert of_failures([Failure("nuc1", "Machine", "Packages", role="machine")], {}, 0.0) == {}
