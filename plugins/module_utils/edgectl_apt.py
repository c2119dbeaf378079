"""What edgectl_packages decides: who holds apt's lock, what was added by whom, what may be removed.

Standard library only, Python 3.8, no Ansible: the decisions are tested without a host.
"""

from __future__ import annotations

import collections
import fcntl
import json
import os
import re
import struct
from typing import NamedTuple

LOCKS = (
    "/var/lib/dpkg/lock-frontend",
    "/var/lib/dpkg/lock",
    "/var/lib/apt/lists/lock",
    "/var/cache/apt/archives/lock",
)


class Held(NamedTuple):
    """A lock, and the process that holds it."""

    path: str
    pid: int
    command: str


class Installed(NamedTuple):
    """A package as dpkg sees it. depends: groups of alternatives, each a set of names."""

    present: bool
    version: str
    depends: "list[set[str]]"
    provides: "set[str]"


class Record:
    """What one role asked for and what that added to the host.

    begun: the packages that were there when an installation began that has not ended yet; empty where there is none.
    """

    def __init__(self, name: str, document: "dict[str, list[str]] | None" = None):
        document = document or {}
        self.name = name
        self.requested = list(document.get("requested", []))
        self.installed = list(document.get("installed", []))
        self.held = list(document.get("held", []))
        self.had_configuration = list(document.get("had_configuration", []))
        self.begun = list(document.get("begun", []))

    def document(self) -> "dict[str, object]":
        return {
            "schema_version": 1,
            "requested": self.requested,
            "installed": self.installed,
            "held": self.held,
            "had_configuration": self.had_configuration,
            "begun": self.begun,
        }


def lock_holder(paths: "tuple[str, ...]" = LOCKS) -> "Held | None":
    """The process that holds one of apt's POSIX locks; None when all are free.

    F_GETLK asks the kernel without taking the lock, so that the question disturbs nobody.
    """
    for path in paths:
        try:
            descriptor = os.open(path, os.O_RDWR)
        except OSError:
            continue
        try:
            question = struct.pack("@hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
            kind, _whence, _start, _length, pid = struct.unpack(
                "@hhqqi4x", fcntl.fcntl(descriptor, fcntl.F_GETLK, question)
            )
        finally:
            os.close(descriptor)
        if kind != fcntl.F_UNLCK:
            return Held(path, pid, _command(pid))
    return None


def _command(pid: int) -> str:
    try:
        with open("/proc/{}/cmdline".format(pid), "rb") as stream:
            words = stream.read().replace(b"\0", b" ").decode("utf-8", "replace").strip()
    except OSError:
        words = ""
    return words[:120] or "unknown command"


def parse_status(text: str) -> "dict[str, Installed]":
    """Read `dpkg-query -W` lines of package, status, version, dependencies and provided names, tab by tab."""
    packages = {}
    for line in text.splitlines():
        name, status, version, depends, provides = line.split("\t")
        packages[name] = Installed(
            present=status.split()[-1] in ("installed", "triggers-pending", "triggers-awaited"),
            version=version,
            depends=[group for group in (_names(part, "|") for part in depends.split(",")) if group],
            provides=_names(provides, ","),
        )
    return packages


def _names(text: str, separator: str) -> "set[str]":
    found = (re.match(r"\s*([a-z0-9][a-z0-9+.-]*)", item) for item in text.split(separator))
    return {match.group(1) for match in found if match}


def needed_among(
    candidates: "set[str]",
    status: "dict[str, Installed]",
    requested: "set[str]",
    roots: "set[str] | None" = None,
) -> "set[str]":
    """Those candidates that must stay: they are requested, or a package that stays depends on them.

    roots: the packages whose dependencies count; by default every installed package that is no candidate.
    """
    kept = candidates & requested
    if roots is None:
        roots = {name for name, package in status.items() if package.present} - candidates
    queue = sorted(roots | kept)
    while queue:
        package = status.get(queue.pop())
        for group in package.depends if package else []:
            providers = {n for n, p in status.items() if p.present and (n in group or p.provides & group)}
            # An alternative that stays anyway leaves the candidate free to go.
            if providers and providers <= candidates:
                fresh = sorted(providers - kept)
                kept.update(fresh)
                queue.extend(fresh)
    return kept


def came_with(record: Record, status: "dict[str, Installed]") -> "set[str]":
    """What has come since an installation began that was killed: what it was to bring, and what that alone needs.

    Whatever else has come meanwhile is somebody's own.
    """
    came = {name for name, package in status.items() if package.present} - set(record.begun)
    return needed_among(came, status, set(record.requested), roots=set())


def read_records(directory: str) -> "collections.defaultdict[str, Record]":
    """All records of a host by name; asking for one that is not there makes an empty one."""

    class Records(collections.defaultdict):
        def __missing__(self, name: str) -> Record:
            self[name] = Record(name)
            return self[name]

    records = Records()
    if os.path.isdir(directory):
        for entry in sorted(os.listdir(directory)):
            if entry.endswith(".json"):
                with open(os.path.join(directory, entry), encoding="utf-8") as stream:
                    records[entry[:-5]] = Record(entry[:-5], json.load(stream))
    return records


def write_record(directory: str, record: Record, delete: bool = False) -> None:
    """Write a record (atomically, 0600), or delete its file."""
    path = os.path.join(directory, record.name + ".json")
    if delete:
        if os.path.exists(path):
            os.unlink(path)
        return
    os.makedirs(directory, mode=0o700, exist_ok=True)
    temporary = path + ".new"
    with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as stream:
        json.dump(record.document(), stream, indent=2)
        stream.write("\n")
    os.replace(temporary, path)
