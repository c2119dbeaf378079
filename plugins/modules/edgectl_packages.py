#!/usr/bin/python
"""Install Debian packages and remember which of them were not there before, so that removal is exact."""

from __future__ import annotations

import fnmatch
import os
import re
import time

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.edgectl_apt import (
    LOCKS,
    Installed,
    came_with,
    lock_holder,
    needed_among,
    parse_status,
    read_records,
    write_record,
)

DOCUMENTATION = r"""
module: edgectl_packages
short_description: Installs Debian packages and remembers which ones it added
description:
  - Installs with apt, without recommended packages and without questions; a configuration file that a person has
    changed is kept, and an installation that would remove another package is refused.
  - What the transaction really added, dependencies included, is written to
    C(/var/lib/edgectl/packages/<record>.json). C(state=absent) removes exactly that, except what another record or
    another installed package needs. A package that was there before is never removed.
  - What it found is written down before apt begins, so that a run after one that was killed still knows what came.
  - Does not touch apt when everything is installed already. Waits for the apt lock, and names its holder when the
    wait is over.
options:
  name:
    description: Packages, as C(name) or C(name=version); the version may hold C(*). Not used with C(state=absent).
    type: list
    elements: str
    default: []
  record:
    description: Who asks, usually the name of the role.
    type: str
    required: true
  state:
    description: C(absent) removes all that this record added.
    type: str
    choices: [present, absent]
    default: present
  hold:
    description: Keep the named packages at their version (C(apt-mark hold)); lifted again by C(state=absent).
    type: bool
    default: false
  lock_timeout:
    description: Seconds to wait for another package manager to finish.
    type: int
    default: 600
  cache_max_age:
    description: Package lists older than this many seconds are fetched anew before something is installed.
    type: int
    default: 3600
author: edgectl
"""

EXAMPLES = r"""
- name: Packages that WireGuard needs
  edgectl_packages:
    name: [wireguard-tools, wireguard-go]
    record: wireguard
"""

RETURN = r"""
installed: {description: Packages that this call added., type: list, elements: str, returned: always}
removed: {description: Packages that this call removed., type: list, elements: str, returned: always}
kept: {description: Recorded packages that something else needs., type: list, elements: str, returned: always}
recorded: {description: All packages that this record has added so far., type: list, elements: str, returned: always}
waited_s: {description: Seconds spent waiting for the apt lock., type: int, returned: always}
"""

RECORDS = "/var/lib/edgectl/packages"
LISTS = "/var/lib/apt/lists"
APT = ["apt-get", "-y", "-q", "-o", "DPkg::Lock::Timeout=60"]
INSTALL = [
    "install",
    "--no-install-recommends",
    "--no-remove",
    "-o",
    "Dpkg::Options::=--force-confdef",
    "-o",
    "Dpkg::Options::=--force-confold",
]
# What apt and dpkg say of a lock that another process has.
LOCKED = ("Could not get lock", "is locked by another process")
# needrestart (Ubuntu) would restart services in the middle of our run; list mode only reports.
ENVIRONMENT = {
    "DEBIAN_FRONTEND": "noninteractive",
    "NEEDRESTART_MODE": "l",
    "NEEDRESTART_SUSPEND": "1",
    "UCF_FORCE_CONFFOLD": "1",
    "LC_ALL": "C.UTF-8",
    # dpkg wants to find ldconfig and start-stop-daemon.
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
}


class Apt:
    """apt and dpkg on this host, behind a bounded wait for their locks."""

    def __init__(self, module: AnsibleModule):
        self.module = module
        self.waited = 0.0

    def status(self) -> "dict[str, Installed]":
        """All packages that dpkg knows, by name."""
        fields = "${Package}\t${Status}\t${Version}\t${Pre-Depends}, ${Depends}\t${Provides}\n"
        _rc, out, _err = self.module.run_command(["dpkg-query", "-W", "-f", fields], check_rc=True)
        return parse_status(out)

    def held(self) -> "set[str]":
        _rc, out, _err = self.module.run_command(["apt-mark", "showhold"], check_rc=True)
        return set(out.split())

    def mark(self, what: str, names: "list[str]") -> None:
        if names:
            self.module.run_command(["apt-mark", what, *names], check_rc=True)

    def run(self, command: "list[str]", doing: str) -> None:
        """Run apt-get or dpkg; another package manager at work is waited for, any other failure ends the module."""
        while True:
            self._wait_for_locks(doing)
            rc, out, err = self.module.run_command(command, environ_update=ENVIRONMENT)
            if rc == 0:
                return
            if not any(words in err for words in LOCKED) or self.waited >= self.module.params["lock_timeout"]:
                self.module.fail_json(msg=_why(doing, rc, err), rc=rc, stdout=out, stderr=err)
            # Somebody took the lock between our look and apt's own.
            self._sleep()

    def finish_what_was_interrupted(self) -> None:
        """Without it apt refuses to do anything where dpkg lost its power in the middle of our own installation."""
        self.run(["dpkg", "--force-confdef", "--force-confold", "--configure", "-a"], "finish what was interrupted")

    def update_if_stale(self) -> None:
        """Fetch the package lists unless they are recent."""
        stamps = [os.path.join(LISTS, name) for name in ("", "partial")]
        newest = max((os.path.getmtime(stamp) for stamp in stamps if os.path.exists(stamp)), default=0.0)
        fetched = os.path.isdir(LISTS) and any(
            name.endswith(("Packages", "Packages.lz4", "InRelease", "Release")) for name in os.listdir(LISTS)
        )
        if not fetched or time.time() - newest > self.module.params["cache_max_age"]:
            self.run([*APT, "update"], "fetch the package lists")

    def _wait_for_locks(self, doing: str) -> None:
        while True:
            held = lock_holder(LOCKS)
            if held is None:
                return
            if self.waited >= self.module.params["lock_timeout"]:
                self.module.fail_json(
                    msg="cannot {}: {} has been held for over {} s by process {} ({}); wait for it to finish, "
                    "or look at it with: ps -fp {}".format(
                        doing, held.path, int(self.waited), held.pid, held.command, held.pid
                    )
                )
            self._sleep()

    def _sleep(self) -> None:
        time.sleep(2)
        self.waited += 2


def _why(doing: str, rc: int, err: str) -> str:
    lines = [line for line in err.strip().splitlines() if re.match("E:|Err:|dpkg:| .* depends on ", line)]
    detail = "; ".join(lines or err.strip().splitlines()[-3:]) or "it ended with {}".format(rc)
    if "dpkg --configure -a" in err:
        detail += " (an earlier installation was interrupted)"
    return "cannot {}: {}".format(doing, detail)


def _satisfied(wanted: str, status: "dict[str, Installed]") -> bool:
    name, _, version = wanted.partition("=")
    package = status.get(name)
    return package is not None and package.present and (not version or fnmatch.fnmatch(package.version, version))


def present(module: AnsibleModule, apt: Apt) -> "dict[str, object]":
    wanted = list(dict.fromkeys(module.params["name"]))
    names = [item.partition("=")[0] for item in wanted]
    records = read_records(RECORDS)
    record = records[module.params["record"]]
    killed = bool(record.begun)
    if killed and not module.check_mode:
        apt.finish_what_was_interrupted()
    before = apt.status() if wanted else {}
    missing = [item for item in wanted if not _satisfied(item, before)]
    to_hold = sorted(set(names) - apt.held()) if module.params["hold"] else []
    new_requests = [name for name in names if name not in record.requested]

    added = [item.partition("=")[0] for item in missing]
    if not module.check_mode:
        if missing:
            apt.update_if_stale()
            # Written first: a run that is killed, or a host that loses its power, must not forget whose they are.
            record.begun = record.begun or [name for name, package in before.items() if package.present]
            record.requested = sorted(set(record.requested) | set(names))
            write_record(RECORDS, record)
            # A version that is asked for by name may be older than, or held at, what is there.
            pinned = ["--allow-downgrades", "--allow-change-held-packages"] if any("=" in i for i in missing) else []
            apt.run([*APT, *INSTALL, *pinned, *missing], "install " + ", ".join(missing))
        if missing or killed:
            after = apt.status()
            came = {n for n, p in after.items() if p.present} - set(record.begun)
            added = sorted(came_with(record, after) if killed else came)
            leftovers = [name for name in added if name in before and not before[name].present]
            record.installed = sorted(set(record.installed) | set(added))
            record.had_configuration = sorted(set(record.had_configuration) | set(leftovers))
            record.begun = []
        apt.mark("hold", to_hold)
        if missing or killed or to_hold or new_requests:
            # Requests count even where nothing was installed: they keep a package that another record added.
            record.requested = sorted(set(record.requested) | set(names))
            record.held = sorted(set(record.held) | set(to_hold))
            write_record(RECORDS, record)
    return {
        "changed": bool(missing or to_hold),
        "installed": added,
        "recorded": record.installed,
        "diff": {"before": "", "after": "".join("+{}\n".format(name) for name in added)},
    }


def absent(module: AnsibleModule, apt: Apt) -> "dict[str, object]":
    records = read_records(RECORDS)
    record = records[module.params["record"]]
    del records[record.name]
    if record.begun and not module.check_mode:
        apt.finish_what_was_interrupted()
    status = apt.status()
    # An installation that was interrupted has brought more than is recorded.
    ours = set(record.installed) | (came_with(record, status) if record.begun else set())
    candidates = {name for name in ours if name in status and status[name].present}
    requested_elsewhere = set().union(*(other.requested for other in records.values()))
    kept = needed_among(candidates, status, requested_elsewhere)
    removed = sorted(candidates - kept)
    held = sorted(set(record.held) & apt.held() - requested_elsewhere)

    if not module.check_mode:
        apt.mark("unhold", held)
        if removed:
            # Not apt: it would also remove what depends on one of them, where dpkg refuses; and it takes a second or
            # more to read the lists of all packages there are.
            purge = [name for name in removed if name not in record.had_configuration]
            # The configuration of a package that had been removed before we came is its owner's.
            if purge != removed:
                apt.run(["dpkg", "--remove", *removed], "remove " + ", ".join(removed))
            if purge:
                apt.run(["dpkg", "--purge", *purge], "remove " + ", ".join(purge))
        for other in records.values():
            inherited = kept & needed_among(kept, status, set(other.requested), roots=set(other.installed))
            if inherited:
                other.installed = sorted(set(other.installed) | inherited)
                write_record(RECORDS, other)
        write_record(RECORDS, record, delete=True)
    return {
        "changed": bool(removed or held),
        "removed": removed,
        "kept": sorted(kept),
        "diff": {"before": "".join("-{}\n".format(name) for name in removed), "after": ""},
    }


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "name": {"type": "list", "elements": "str", "default": []},
            "record": {"type": "str", "required": True},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "hold": {"type": "bool", "default": False},
            "lock_timeout": {"type": "int", "default": 600},
            "cache_max_age": {"type": "int", "default": 3600},
        },
        supports_check_mode=True,
    )
    apt = Apt(module)
    result = {"installed": [], "removed": [], "kept": [], "recorded": []}  # type: dict[str, object]
    result.update((present if module.params["state"] == "present" else absent)(module, apt))
    module.exit_json(waited_s=int(apt.waited), **result)


if __name__ == "__main__":
    main()
