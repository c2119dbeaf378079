"""One run at a time on a host: who gets the lock, who is refused, and what a refusal says."""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import time
from types import SimpleNamespace

import pytest

from tests.unit.preflight.conftest import load_plugin

module = load_plugin("modules", "edgectl_lock")
action = load_plugin("action", "edgectl_lock")


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "edgectl.lock")


def record(name):
    return {"owner": name, "id": name}


def take(path, name, replace=None, break_lock=False):
    return module.take(path, record(name), replace, break_lock)["id"]


def test_a_free_lock_is_taken_and_released_without_a_trace(path, tmp_path):
    assert take(path, "ana") == "ana"
    assert json.loads((tmp_path / "edgectl.lock").read_text()) == record("ana")
    assert module.release(path, "ana") == {}
    assert list(tmp_path.iterdir()) == []


def test_a_held_lock_is_refused_and_stays(path):
    take(path, "ana")
    assert take(path, "ben") == "ana"
    assert module.holder_of(path) == record("ana")


def test_the_same_run_may_take_it_again(path):
    take(path, "ana")
    assert take(path, "ana") == "ana"


def test_the_lock_of_a_run_that_is_over_is_taken_over(path):
    take(path, "dead run")
    assert take(path, "ben", replace="dead run") == "ben"


def test_a_stale_lock_that_another_was_quicker_to_replace_is_theirs(path):
    take(path, "dead run")
    take(path, "cleo", replace="dead run")
    assert take(path, "ben", replace="dead run") == "cleo"


def test_a_lock_is_broken_on_request(path):
    take(path, "ana")
    assert take(path, "ben", break_lock=True) == "ben"


def test_only_ones_own_lock_is_released(path):
    take(path, "ana")
    assert module.release(path, "ben") == record("ana")
    assert module.holder_of(path) == record("ana")


def test_a_damaged_lock_is_held_by_somebody_unknown(path, tmp_path):
    (tmp_path / "edgectl.lock").write_text("")
    assert module.take(path, record("ben"), None, False)["owner"].startswith("unknown")


def test_of_many_takers_at_once_one_wins_and_all_know_who(path):
    with multiprocessing.get_context("fork").Pool(8) as pool:
        winners = set(pool.starmap(take, [(path, f"run {number}") for number in range(8)]))
    assert winners == {module.holder_of(path)["id"]}


def holder(**changes):
    pid = os.getpid()
    return {
        "controller": action.controller_id(), "pid": pid, "pid_started": action.start_of_process(pid), **changes,
    }  # fmt: skip


def test_a_living_run_of_this_controller_is_not_over():
    assert action.is_over(holder()) is False


def test_a_run_whose_process_is_gone_is_over():
    child = subprocess.Popen(["true"])
    child.wait()
    assert action.is_over(holder(pid=child.pid)) is True


def test_a_process_that_only_has_the_same_number_does_not_keep_a_lock():
    assert action.is_over(holder(pid_started="1")) is True


def test_a_run_of_another_controller_is_never_thought_over():
    assert action.is_over(holder(controller="another", pid=2**22 + 1)) is False


def test_a_refusal_names_owner_process_and_start_and_the_way_out():
    started = time.mktime((2026, 11, 21, 15, 49, 0, 0, 0, -1))
    held = {"owner": "ana@laptop", "cluster": "home", "pid": 4711, "started": started}
    found = action.refusal(held, "nuc1")
    assert found.host == "nuc1"
    assert found.evidence.startswith("ana@laptop, cluster home, process 4711, since 2026-11-21 15:49 (")
    assert "if it is certainly dead, run this again with -e edgectl_break_lock=true" in found.fix


def test_a_refusal_says_for_how_long():
    assert action.refusal({"started": time.time() - 630}, "nuc1").evidence.endswith(" (10 min)")


def test_a_living_run_on_this_machine_is_not_to_be_robbed_of_its_lock():
    found = action.refusal(holder(owner="ana@laptop"), "nuc1")
    assert found.fix == f"wait for it to end, or stop it (it runs on this machine): kill {os.getpid()}"


def test_an_unknown_holder_can_be_spoken_of_too():
    assert "since an unknown time" in action.refusal(dict(module.UNKNOWN_HOLDER), "nuc1").evidence


def test_a_lock_without_an_id_is_somebodys_too(path, tmp_path):
    (tmp_path / "edgectl.lock").write_text(json.dumps({"owner": "ana"}))
    assert module.take(path, record("ben"), None, False) == {"owner": "ana"}


@pytest.fixture
def asking(monkeypatch):
    """Asks for a lock; returns the answer, and what a host was asked for it."""

    def ask(check_mode=False, **args):
        asked = []
        plugin = action.ActionModule(
            task=SimpleNamespace(args=args, async_val=0, action="edgectl_lock", check_mode=check_mode, diff=False),
            connection=SimpleNamespace(_shell=SimpleNamespace(tmpdir=None)),
            play_context=None,
            loader=None,
            templar=None,
            shared_loader_obj=None,
        )

        def host(_name, module_args, task_vars):
            asked.append(module_args["state"])
            return {"changed": False, "holder": holder(id="other")}

        monkeypatch.setattr(plugin, "_execute_module", host)
        return plugin.run(task_vars={"inventory_hostname": "nuc1"}), asked

    return ask


def test_a_lock_that_the_first_look_at_the_host_got_costs_no_second(asking):
    own = action.record_of_this_run({}, {})
    assert asking(state="taken", holder=own) == ({"changed": False, "holder": own}, [])


def test_a_lock_that_the_first_look_did_not_get_is_asked_for_and_refused(asking):
    answer, asked = asking(state="tried")
    assert not answer.get("failed")
    answer, asked = asking(state="taken", holder=answer["holder"])
    assert asked == ["taken"]
    assert answer["failed"] is True
    assert answer["findings"][0]["id"] == "I-LOCKED"


def test_a_plan_reads_hosts_and_takes_no_lock(asking):
    assert asking(check_mode=True, state="tried")[1] == ["tried"]
    assert asking(check_mode=True, state="taken")[1] == []
