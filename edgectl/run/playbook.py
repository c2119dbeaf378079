"""Run a playbook through ansible-runner and tell, event by event, what happens."""

from __future__ import annotations

import queue
import shlex
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from edgectl.run import environment
from edgectl.run.cancel import Canceller, on_interrupt
from edgectl.run.events import Event
from edgectl.run.log import RunLog, new_run_directory
from edgectl.run.reader import EventReader
from edgectl.run.redact import Redactor
from edgectl.run.result import Gatherer, RunResult
from edgectl.ssh.secrets import Secrets

RUN_ID_VARIABLE = "edgectl_run_id"

_Raw = Mapping[str, Any]


def phases(playbook: Path) -> list[str]:
    """The names of a playbook's plays, in their order."""
    import yaml

    return [str(play["name"]) for play in yaml.safe_load(playbook.read_text(encoding="utf-8")) if "name" in play]


def run_playbook(
    playbook: Path,
    inventory: Path,
    *,
    limit: str = "",
    extra_vars: Mapping[str, Any] | None = None,
    tags: str = "",
    secrets: Secrets | None = None,
    known_hosts: Path | None = None,
    on_event: Callable[[Event], None] | None = None,
    on_cancel: Callable[[], None] | None = None,
    hosts: int = 0,
    verb: str = "",
    arguments: tuple[str, ...] = (),
    check: bool = False,
) -> RunResult:
    """Run it to its end and return what came of it; a failed run is a result, not an exception.

    check: change nothing, and say what would be changed and how (--check --diff).
    arguments: Ansible's own `-e` values from the user's command line, passed as they are.
    hosts: how many there are, so that all are worked on at once.
    on_event: called in a thread of its own, in order.
    on_cancel: called once, in a signal handler, when the user asks to stop.
    """
    secrets = secrets or Secrets()
    directory = new_run_directory(verb or playbook.stem)
    run_id = directory.name
    redactor = Redactor(secrets.values())
    started = time.time()
    canceller = Canceller(on_cancel)
    with RunLog(directory, redactor) as log, environment.private_directory() as private:
        log.write(f"playbook {playbook}, inventory {inventory}, limit {limit or 'none'}")
        environment.write_settings(private)
        variables = {**(extra_vars or {}), RUN_ID_VARIABLE: run_id}
        options = ["-e", f"@{environment.write_extra_vars(private, variables)}"]
        options += ["--check", "--diff"] if check else []
        for argument in arguments:
            options += ["-e", argument]
        process_environment = environment.ansible_environment(
            private, known_hosts or inventory / ".edgectl" / "known_hosts", secrets, hosts
        )
        gatherer = Gatherer()
        consumer = _Consumer(EventReader(redactor), gatherer, log, on_event)
        rc = _run(
            private,
            process_environment,
            canceller,
            consumer.put,
            playbook=str(playbook),
            inventory=str(inventory),
            limit=limit or None,
            tags=tags or None,
            cmdline=shlex.join(options),
        )
        consumer.finish()
        result = gatherer.result(
            run_id=run_id,
            rc=rc,
            canceled=canceller.requested,
            started=started,
            seconds=time.time() - started,
            log=log.path,
        )
        log.write(f"{result.status} after {result.seconds:.1f} s (ansible-playbook ended with {rc})")
    return result


def _run(
    private: Path,
    process_environment: dict[str, str],
    canceller: Canceller,
    put: Callable[[_Raw], None],
    **options: object,
) -> int:
    from ansible_runner.interface import init_runner

    def handle(raw: _Raw) -> bool:
        # Runs inside the loop that reads Ansible's output: queue it and be gone. False keeps it off the disk.
        if canceller.pid is None and raw.get("event") == "playbook_on_start":
            canceller.pid = raw.get("pid")
        put(raw)
        return False

    runner = init_runner(
        private_data_dir=str(private),
        suppress_env_files=True,
        quiet=True,
        fact_cache_type="",
        envvars=process_environment,
        event_handler=handle,
        cancel_callback=canceller.must_kill,
        **options,
    )
    # The runner starts from our whole environment; only what we chose and what it added goes to Ansible.
    added = ("ANSIBLE_", "AWX_", "RUNNER_")
    runner.config.env = {
        name: value
        for name, value in runner.config.env.items()
        if name in process_environment or (name.startswith(added) and name in _RUNNER_ADDS)
    }
    with on_interrupt(canceller):
        runner.run()
    # None when ansible-playbook ended without saying how.
    return int(runner.rc) if runner.rc is not None else 1


# What ansible-runner needs of its own to see events.
_RUNNER_ADDS = frozenset(
    {"ANSIBLE_CALLBACK_PLUGINS", "ANSIBLE_STDOUT_CALLBACK", "ANSIBLE_RETRY_FILES_ENABLED", "AWX_ISOLATED_DATA_DIR"}
)


class _Consumer:
    """Takes raw events off the queue in a thread of its own, so that a slow terminal never slows Ansible."""

    def __init__(
        self, reader: EventReader, gatherer: Gatherer, log: RunLog, on_event: Callable[[Event], None] | None
    ) -> None:
        self._queue: queue.SimpleQueue[_Raw | None] = queue.SimpleQueue()
        self._reader = reader
        self._gatherer = gatherer
        self._log = log
        self._on_event = on_event
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._work, name="events", daemon=True)
        self._thread.start()

    def put(self, raw: _Raw) -> None:
        self._queue.put(raw)

    def finish(self) -> None:
        """Wait until all is shown; an error of the renderer comes out here, after Ansible has ended."""
        self._queue.put(None)
        self._thread.join()
        for event in self._reader.finish():
            self._take(event)
        if self._error is not None:
            raise self._error

    def _work(self) -> None:
        while (raw := self._queue.get()) is not None:
            for event in self._reader.read(raw):
                self._take(event)

    def _take(self, event: Event) -> None:
        self._gatherer.take(event)
        try:
            self._log.take(event)
            if self._on_event is not None and self._error is None:
                self._on_event(event)
        except Exception as error:  # the run must go on; it is raised when that has ended
            self._error = error
