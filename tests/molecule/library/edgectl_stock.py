#!/usr/bin/python
"""Take stock of a host, and later say what has changed since then without anything that accounts for it."""

from __future__ import annotations

import fnmatch
import glob
import hashlib
import json
import os
import re
import stat

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.edgectl_apt import needed_among, parse_status
from ansible.module_utils.edgectl_evidence import read_receipts

DOCUMENTATION = r"""
module: edgectl_stock
short_description: Tells what roles have changed on a host
description:
  - C(taken) writes down every path of the file system, every package, and some settings.
  - C(accounted) fails for each path that differs from then, unless the evidence of a receipt, a package that evidence
    names, or an exemption accounts for it.
  - C(same) fails for each path (exemptions left out), package and setting that differs from then.
options:
  state: {description: What to do., type: str, choices: [taken, accounted, same], required: true}
  directory: {description: Where the stock is kept., type: path, default: /var/lib/edgectl-molecule}
  exempt:
    description: Reasons by pattern. A pattern is a path or a glob, and counts for all that lies beneath as well.
    type: dict
    default: {}
author: edgectl
"""

# What the kernel makes up, and what no boot keeps.
LEFT_OUT = ("/proc", "/sys", "/dev", "/run", "/tmp")
# A bigger file, and all that comes in packages, is told by size and time: reading it takes longer than all the rest.
HASHED_UP_TO = 4 * 1024 * 1024
FIELDS = ("type", "mode", "owner", "content")
SETTINGS = (
    "systemctl list-unit-files --no-legend --no-pager",
    "update-alternatives --get-selections",
    "grep -rs . /proc/sys/net/ipv4/ip_forward /proc/sys/net/ipv4/conf/all /proc/sys/net/bridge",
)
ALTERNATIVES = "/etc/alternatives/"
UNITS = "/etc/systemd/system/"
ENABLED_BY_PACKAGES = "/var/lib/systemd/deb-systemd-helper-enabled/"
ENABLED = re.compile(UNITS + r"[^/]+\.(?:wants|requires)/([^/]+)")
UFW_RULES = ("/etc/ufw/user.rules", "/etc/ufw/user6.rules")


# -- what is accounted for ---------------------------------------------------------------------------------------


def differences(before, after):
    """{path: `added`, `removed`, or which FIELDS changed}, of two listings {path: [value of each of FIELDS]}."""
    found = {}
    for path in before.keys() | after.keys():
        if path not in before:
            found[path] = "added"
        elif path not in after:
            found[path] = "removed"
        elif before[path] != after[path]:
            fields = [name for name, old, new in zip(FIELDS, before[path], after[path], strict=True) if old != new]
            found[path] = "changed: " + ", ".join(fields)
    return found


def unaccounted(before, after, evidence, shipped, exempt):
    """A line for each path that differs between two listings, unless something accounts for it.

    evidence: items as plugins/module_utils/edgectl_evidence.py describes them. shipped: paths that came with packages
    that the evidence names, and are as these packages ship them. exempt: {pattern: reason}.
    """
    changed = differences(before, after)
    known = {path for path in changed if _is_evident(path, after, evidence) or _is_shipped(path, after, shipped)}
    # A directory that had to be made for something that is accounted for.
    needed = {parent for path in known & after.keys() for parent in parents(path)}
    known |= {path for path in needed if changed.get(path) == "added"}
    return [
        f"{path}: {changed[path]}"
        for path in sorted(changed.keys() - known)
        if not any(fnmatch.fnmatchcase(name, pattern) for name in (path, *parents(path)) for pattern in exempt)
    ]


def parents(path):
    """/a/b/c -> /a/b, /a"""
    parts = path.split("/")
    return ["/".join(parts[:end]) for end in range(len(parts) - 1, 1, -1)]


def _is_evident(path, after, evidence):
    """Whether drift would be found if this path were put back to what it was."""
    enabled = ENABLED.fullmatch(path)
    for item in evidence:
        if enabled and enabled.group(1) in (item.get("unit"), item.get("disabled")):
            return True
        if item.get("directory") in (path, *parents(path)):
            return True
        if path in after and path in (item.get("file"), item.get("in"), *(UFW_RULES if "ufw" in item else ())):
            return True
    return False


def _is_shipped(path, after, shipped):
    """Whether a package brought this path, or a link that its installation makes: of an alternative, or of a unit."""
    if path in shipped:
        return True
    if path not in after or after[path][0] != "link":
        return False
    target = os.path.normpath(os.path.join(os.path.dirname(path), after[path][3]))
    if path.startswith(UNITS):
        # Packages that enable a unit write that down; others may have enabled it too, and must say so themselves.
        return target in shipped and path.replace(UNITS, ENABLED_BY_PACKAGES) in after
    if path.startswith(ALTERNATIVES):
        return target in shipped
    return target.startswith(ALTERNATIVES) and _is_shipped(target, after, shipped)


def brought(before, now, evidence):
    """The packages that came or changed, and that evidence names, or needs for those that it names.

    before: a label for each package that dpkg knew; now: what module_utils/edgectl_apt.py reads of dpkg.
    """
    fresh = {name for name, package in now.items() if label(name, package) not in before}
    return needed_among(fresh, now, {item["package"] for item in evidence if "package" in item}, roots=set())


def label(name, package):
    """`runc 1.1.5 installed`"""
    return "{} {} {}".format(name, package.version, "installed" if package.present else "not installed")


# -- what is on this host ----------------------------------------------------------------------------------------


def listing(directory, left_out):
    """{path: [value of each of FIELDS]} of all that is in a directory."""
    found = {}
    waiting = [directory]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.path in left_out:
                    continue
                try:
                    found[entry.path] = look(entry.path, entry.stat(follow_symlinks=False))
                except FileNotFoundError:  # of a program at work
                    continue
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
    return found


def look(path, status):
    """The values of FIELDS."""
    owner = f"{status.st_uid}:{status.st_gid}"
    mode = f"{stat.S_IMODE(status.st_mode):04o}"
    if stat.S_ISLNK(status.st_mode):
        return ["link", mode, owner, os.readlink(path)]
    if stat.S_ISDIR(status.st_mode):
        return ["directory", mode, owner, ""]
    if not stat.S_ISREG(status.st_mode):
        return ["special", mode, owner, f"{stat.S_IFMT(status.st_mode):o} {status.st_rdev}"]
    packaged = path.startswith("/usr/") and not path.startswith("/usr/local/")
    if packaged or status.st_size > HASHED_UP_TO:
        return ["file", mode, owner, f"{status.st_size} bytes, {status.st_mtime_ns}"]
    with open(path, "rb") as file:
        return ["file", mode, owner, hashlib.sha256(file.read()).hexdigest()]


def packages(module):
    """All packages, as module_utils/edgectl_apt.py reads them."""
    fields = "${Package}\t${Status}\t${Version}\t${Pre-Depends}, ${Depends}\t${Provides}\n"
    return parse_status(module.run_command(["dpkg-query", "-W", "-f", fields], check_rc=True)[1])


def shipped_by(module, names):
    """The paths of some packages, without those that are no longer as the package ships them."""
    if not names:
        return set()
    paths = set()
    for name in names:
        info = "/var/lib/dpkg/info/" + name
        for file_name in glob.glob(info + ".list") + glob.glob(info + ":*.list"):
            with open(file_name, encoding="utf-8") as file:
                paths.update(file.read().splitlines())
    # It ends with 1 when a file is missing, such as documentation that this host leaves out.
    verified = module.run_command(["dpkg", "--verify", *sorted(names)])[1]
    paths -= {line[line.index("/") :] for line in verified.splitlines() if "/" in line}
    # Packages of before the merged /usr name /lib/x what is in /usr/lib/x; so do links.
    return paths | {os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path)) for path in paths}


def stock(module, directory):
    return {
        "paths": listing("/", {*LEFT_OUT, directory}),
        "packages": [label(name, package) for name, package in packages(module).items()],
        "settings": sorted(line for command in SETTINGS for line in module.run_command(command)[1].splitlines()),
    }


def main():
    module = AnsibleModule(
        argument_spec={
            "state": {"type": "str", "choices": ["taken", "accounted", "same"], "required": True},
            "directory": {"type": "path", "default": "/var/lib/edgectl-molecule"},
            "exempt": {"type": "dict", "default": {}},
        },
    )
    asked = module.params
    kept = os.path.join(asked["directory"], "stock.json")
    now = stock(module, asked["directory"])
    if asked["state"] == "taken":
        os.makedirs(asked["directory"], mode=0o700, exist_ok=True)
        with open(kept, "w", encoding="utf-8") as file:
            json.dump(now, file)
        module.exit_json(changed=True)

    with open(kept, encoding="utf-8") as file:
        before = json.load(file)
    evidence, shipped, lines = [], set(), []
    if asked["state"] == "accounted":
        evidence = [entry["item"] for receipt in read_receipts().values() for entry in receipt.get("evidence", [])]
        shipped = shipped_by(module, brought(before["packages"], packages(module), evidence))
    else:
        for kind in ("packages", "settings"):
            lines += ["gone: " + line for line in before[kind] if line not in now[kind]]
            lines += ["new: " + line for line in now[kind] if line not in before[kind]]
    lines += unaccounted(before["paths"], now["paths"], evidence, shipped, asked["exempt"])
    if lines:
        module.fail_json(msg="Nothing accounts for:\n" + "\n".join(lines), unaccounted=lines)
    module.exit_json(changed=False)


if __name__ == "__main__":
    main()
