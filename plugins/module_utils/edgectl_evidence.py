"""Measure evidence: is what a role left on this host still there, and still what it was?

An item says what to look at, and is a mapping in which one key is its kind; its value is what was seen, or None when
there is nothing. A role's receipt holds items with their values; whoever measures again and gets other values has
found drift. Standard library only, Python 3.8 upwards, read-only: module `edgectl_receipt` records with it, the probe
measures again with it.

    {"file": PATH}                       sha256 (of a big file: size and times), mode, owner; a link's target
    {"directory": PATH}                  the same of a directory and of all that is in it
    {"package": NAME}                    the installed version
    {"unit": NAME, "after": [PATH]}      enabled, active, and started after these files changed
    {"disabled": UNIT}                   that no boot starts it, whether it is installed or not
    {"module": NAME}                     a kernel module that is loaded
    {"sysctl": KEY}                      the running value
    {"no_swap": true}                    that there is none
    {"line": TEXT, "in": PATH}           a line of a file that others write too
    {"wireguard": INTERFACE}             public key, port, peers with their allowed addresses
    {"routes": INTERFACE}                routes through it, without the kernel's own
    {"rules": PREFIX}                    lines of iptables-save with this text
    {"ufw": RULE}                        that ufw has this rule, as `ufw show added` words it
    {"node": NAME, "api": {...}}         the Node object: pod CIDR, address, Ready; with "labels": [NAME],
                                         "allocatable": [RESOURCE] and "taints": [KEY:EFFECT] these as well
    {"object": PATH, "api": {...}}       that the API has this object

api: {"server": URL, "ca": FILE, "credentials": FILE}; credentials are a kubeconfig with embedded certificates, a PEM
file with certificate and key, or NAME.crt with the key in NAME.key beside it.
"""

from __future__ import annotations

import base64
import glob
import hashlib
import json
import os
import re
import stat
import subprocess
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterable

RECEIPTS = "/var/lib/edgectl/receipts"
STAMP = "/var/lib/edgectl/stamp.json"
UNITS = "/etc/systemd/system"
BIG_FILE = 4 * 1024 * 1024
SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
COMMAND_TIMEOUT_S = 10
API_TIMEOUT_S = 3
# A start and the change before it may fall into the same tick of the file system's clock.
TICK_S = 0.02


def measure(items: Iterable[dict[str, Any]]) -> list[Any]:
    """The values of some items, in their order; never raises."""
    wanted = list(items)
    outputs = _Commands(wanted)
    values = []
    for item in wanted:
        try:
            values.append(_KINDS[_kind(item)](item, outputs))
        except Exception as error:  # one odd item must not hide the others
            values.append({"error": "{}: {}".format(type(error).__name__, error)})
    return values


def drift(evidence: Iterable[dict[str, Any]], values: Iterable[Any]) -> list[str]:
    """What differs from the recorded evidence ([{"item":, "value":}]), a line each."""
    return [
        "{}: was {}, is {}".format(name(recorded["item"]), _short(recorded["value"]), _short(value))
        for recorded, value in zip(evidence, values)
        if recorded["value"] != value
    ]


def lacking(items: Iterable[dict[str, Any]], values: Iterable[Any]) -> list[str]:
    """Items that are not in a state that may be recorded: not there, not running, not applied."""
    return [
        "{}: {}".format(name(item), _short(value)) for item, value in zip(items, values) if not _is_sound(item, value)
    ]


def name(item: dict[str, Any]) -> str:
    """`file /etc/x`, `unit containerd.service`."""
    kind = _kind(item)
    return "swap" if kind == "no_swap" else "{} {}".format(kind or "unknown item", item.get(kind, item))


def receipts(directory: str = RECEIPTS) -> dict[str, dict[str, Any]]:
    """The receipts of this host by role, with their evidence measured again:
    {"status": "applying" | "done", "inputs": DIGEST, "facts": {PATH: VALUE}, "evidence": how many items,
    "drift": [LINE]}."""
    found = read_receipts(directory)
    evidence = [recorded for receipt in found.values() for recorded in receipt.get("evidence", [])]
    values = iter(measure(recorded["item"] for recorded in evidence))
    return {
        role: {
            "status": receipt.get("status"),
            "inputs": receipt.get("inputs"),
            "facts": receipt.get("facts"),
            "evidence": len(receipt.get("evidence", [])),
            "drift": drift(receipt.get("evidence", []), [next(values) for _ in receipt.get("evidence", [])]),
        }
        for role, receipt in found.items()
    }


def read_receipts(directory: str = RECEIPTS) -> dict[str, dict[str, Any]]:
    """The receipts as they are on disk; one that can't be read counts as interrupted."""
    found: dict[str, dict[str, Any]] = {}
    try:
        names = sorted(os.listdir(directory))
    except OSError:
        return found
    for file_name in names:
        role, extension = os.path.splitext(file_name)
        if extension != ".json":
            continue
        try:
            with open(os.path.join(directory, file_name), encoding="utf-8") as file:
                content = json.load(file)
            found[role] = content if isinstance(content, dict) else {"status": "applying"}
        except (OSError, ValueError):
            found[role] = {"status": "applying"}
    return found


class _Commands:
    """The commands that these items need, all started at once; each answers when it is asked for."""

    def __init__(self, items: list[dict[str, Any]]) -> None:
        kinds: dict[str, list[str]] = {}
        for item in items:
            kind = _kind(item)
            kinds.setdefault(kind, []).append(str(item.get(kind)))
        self._running: dict[str, Any] = {}
        self._outputs: dict[str, str] = {}
        if "package" in kinds:
            form = "${db:Status-Status} ${Package} ${Version}\\n"
            self._start("package", "dpkg-query", "-W", "-f", form, *kinds["package"])
        if "unit" in kinds:
            properties = (
                "Id,Names,ActiveState,UnitFileState,ExecMainStartTimestampMonotonic,ActiveEnterTimestampMonotonic"
            )
            self._start("unit", "systemctl", "show", "--no-pager", "--property", properties, *kinds["unit"])
        if "rules" in kinds:
            self._start("rules", "iptables-save")
        if "ufw" in kinds:
            self._start("ufw", "ufw", "show", "added")
        for interface in kinds.get("wireguard", []):
            self._start("wireguard " + interface, "wg", "show", interface, "dump")
        for interface in kinds.get("routes", []):
            self._start("routes " + interface, "ip", "-4", "route", "show", "dev", interface)

    def _start(self, key: str, *command: str) -> None:
        try:
            self._running[key] = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=dict(os.environ, LC_ALL="C", PATH=SEARCH_PATH),
                universal_newlines=True,
                errors="replace",
            )
        except OSError:
            self._outputs[key] = ""

    def output(self, key: str) -> str:
        """Empty when the command is not installed, failed or took too long. (dpkg-query fails when one package of
        many is unknown, and answers for the others.)"""
        process = self._running.pop(key, None)
        if process is not None:
            try:
                text, _ = process.communicate(timeout=COMMAND_TIMEOUT_S)
                self._outputs[key] = text if process.returncode == 0 or key == "package" else ""
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                self._outputs[key] = ""
        return self._outputs.get(key, "")


def _file(item: dict[str, Any], _commands: _Commands) -> Any:
    path = item["file"]
    try:
        status = os.lstat(path)
    except OSError:
        return None
    owner = "{}:{}".format(status.st_uid, status.st_gid)
    if stat.S_ISLNK(status.st_mode):
        return {"link": os.readlink(path)}
    seen: dict[str, Any] = {"mode": "{:04o}".format(stat.S_IMODE(status.st_mode)), "owner": owner}
    if stat.S_ISREG(status.st_mode):
        if status.st_size > BIG_FILE:
            # Reading a Kubernetes binary takes longer than all the rest; nobody can write without moving these.
            seen.update(size=status.st_size, modified=status.st_mtime_ns, inode_changed=status.st_ctime_ns)
        else:
            with open(path, "rb") as file:
                seen["sha256"] = hashlib.sha256(file.read()).hexdigest()
    return seen


def _directory(item: dict[str, Any], commands: _Commands) -> Any:
    if not os.path.isdir(item["directory"]):
        return None
    within = [
        os.path.join(parent, name)
        for parent, directories, files in os.walk(item["directory"])
        for name in directories + files
    ]
    return {path: _file({"file": path}, commands) for path in [item["directory"], *within]}


def _package(item: dict[str, Any], commands: _Commands) -> Any:
    for line in commands.output("package").splitlines():
        fields = line.split(" ")
        if len(fields) == 3 and fields[0] == "installed" and fields[1] == item["package"]:
            return fields[2]
    return None


def _unit(item: dict[str, Any], commands: _Commands) -> Any:
    for block in commands.output("unit").strip().split("\n\n"):
        shown = dict(line.partition("=")[::2] for line in block.splitlines())
        if item["unit"] not in (shown.get("Id"), *shown.get("Names", "").split()):
            continue
        seen = {"enabled": shown.get("UnitFileState") or "", "active": shown.get("ActiveState") or ""}
        if item.get("after"):
            seen["current"] = not started_before(shown, item["after"])
        return seen
    return None


def _disabled(item: dict[str, Any], _commands: _Commands) -> bool:
    return not glob.glob("{}/*/{}".format(UNITS, glob.escape(item["disabled"])))


def started_before(shown: dict[str, str], paths: Iterable[str]) -> bool:
    """Whether a unit, by its properties from `systemctl show`, was started before one of these files was changed."""
    return _started(shown) + TICK_S < max((_changed(path) for path in paths), default=0.0)


def _started(shown: dict[str, str]) -> float:
    """Unix time at which a unit's process was started; of a oneshot, at which the unit became active."""
    microseconds = int(shown.get("ExecMainStartTimestampMonotonic") or 0) or int(
        shown.get("ActiveEnterTimestampMonotonic") or 0
    )
    return time.time() - time.monotonic() + microseconds / 1e6


def _changed(path: str) -> float:
    """Unix time of the last change of a file's content or mode; of a directory, of its list of names."""
    try:
        return os.stat(path).st_ctime
    except OSError:
        return 0.0


def _module(item: dict[str, Any], _commands: _Commands) -> bool:
    if os.path.isdir("/sys/module/" + item["module"].replace("-", "_")):
        return True
    builtin = "/lib/modules/{}/modules.builtin".format(os.uname().release)
    try:
        with open(builtin, encoding="ascii", errors="replace") as file:
            return any(line.rstrip().endswith("/{}.ko".format(item["module"])) for line in file)
    except OSError:
        return False


def _sysctl(item: dict[str, Any], _commands: _Commands) -> Any:
    path = "/proc/sys/" + item["sysctl"].translate(str.maketrans("./", "/."))
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return " ".join(file.read().split())
    except OSError:
        return None


def _no_swap(_item: dict[str, Any], _commands: _Commands) -> bool:
    with open("/proc/swaps", encoding="utf-8", errors="replace") as file:
        return len(file.read().splitlines()) <= 1


def _line(item: dict[str, Any], _commands: _Commands) -> bool:
    try:
        with open(item["in"], encoding="utf-8", errors="replace") as file:
            return item["line"] in (line.rstrip("\n") for line in file)
    except OSError:
        return False


def _wireguard(item: dict[str, Any], commands: _Commands) -> Any:
    lines = [line.split("\t") for line in commands.output("wireguard " + item["wireguard"]).splitlines()]
    if not lines or len(lines[0]) != 4:
        return None
    # The first field is the private key: it must not get any further.
    _, public_key, port, _ = lines[0]
    peers = {fields[0]: sorted(fields[3].split(",")) for fields in lines[1:] if len(fields) == 8}
    return {"public_key": public_key, "port": port, "peers": peers}


def _routes(item: dict[str, Any], commands: _Commands) -> list[str]:
    lines = commands.output("routes " + item["routes"]).splitlines()
    return sorted(line.split()[0] for line in lines if line.strip() and "proto kernel" not in line)


def _rules(item: dict[str, Any], commands: _Commands) -> Any:
    lines = [line for line in commands.output("rules").splitlines() if item["rules"] in line]
    if not lines:
        return None
    return {"lines": len(lines), "sha256": hashlib.sha256("\n".join(lines).encode()).hexdigest()}


def _ufw(item: dict[str, Any], commands: _Commands) -> bool:
    lines = [line.partition(" comment '")[0] for line in commands.output("ufw").splitlines()]
    return "ufw " + item["ufw"] in lines


def _node(item: dict[str, Any], _commands: _Commands) -> Any:
    node = _ask(item["api"], "/api/v1/nodes/" + item["node"])
    if node is None:
        return None
    status = node.get("status", {})
    addresses = [a["address"] for a in status.get("addresses", []) if a["type"] == "InternalIP"]
    ready = [c["status"] for c in status.get("conditions", []) if c["type"] == "Ready"]
    seen = {"pod_cidr": node.get("spec", {}).get("podCIDR"), "addresses": addresses, "ready": ready == ["True"]}
    if "labels" in item:
        seen["labels"] = {name: node["metadata"].get("labels", {}).get(name) for name in item["labels"]}
    if "allocatable" in item:
        seen["allocatable"] = {name: status.get("allocatable", {}).get(name) for name in item["allocatable"]}
    if "taints" in item:
        there = ["{key}:{effect}".format(**taint) for taint in node.get("spec", {}).get("taints") or []]
        seen["taints"] = {taint: taint in there for taint in item["taints"]}
    return seen


def _object(item: dict[str, Any], _commands: _Commands) -> bool:
    return _ask(item["api"], item["object"]) is not None


def _ask(api: dict[str, str], path: str) -> Any:
    """An object of the Kubernetes API; None when it is not there, or the API does not answer."""
    import http.client
    import ssl
    import urllib.parse

    server = urllib.parse.urlsplit(api["server"])
    context = ssl.create_default_context(cafile=api["ca"])
    _show_certificate(context, api["credentials"])
    connection = http.client.HTTPSConnection(
        server.hostname or "", server.port or 443, timeout=API_TIMEOUT_S, context=context
    )
    try:
        connection.request("GET", path, headers={"Accept": "application/json"})
        reply = connection.getresponse()
        content = reply.read()
        return json.loads(content.decode("utf-8")) if reply.status == 200 else None
    except (OSError, ValueError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def _show_certificate(context: Any, credentials: str) -> None:
    with open(credentials, encoding="utf-8") as file:
        text = file.read()
    embedded = re.findall(r"client-(?:certificate|key)-data: *(\S+)", text)
    if not embedded:
        key = re.sub(r"\.crt$", ".key", credentials)
        context.load_cert_chain(credentials, key if key != credentials else None)
        return
    # ssl reads certificates from files only; this one is in memory and nowhere else.
    memory = os.memfd_create("edgectl")
    try:
        os.write(memory, b"\n".join(base64.b64decode(part) for part in embedded))
        context.load_cert_chain("/proc/self/fd/{}".format(memory))
    finally:
        os.close(memory)


def _kind(item: dict[str, Any]) -> str:
    return next((key for key in item if key in _KINDS), "")


def _is_sound(item: dict[str, Any], value: Any) -> bool:
    if value is None or value is False or (isinstance(value, dict) and "error" in value):
        return False
    if "unit" in item:
        return bool(value["active"] == "active" and value.get("current", True))
    if "node" in item:
        return bool(value["ready"])
    return True


def _short(value: Any) -> str:
    if value is None:
        return "not there"
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return text if len(text) <= 160 else text[:157] + "..."


_KINDS = {
    "file": _file,
    "directory": _directory,
    "package": _package,
    "unit": _unit,
    "disabled": _disabled,
    "module": _module,
    "sysctl": _sysctl,
    "no_swap": _no_swap,
    "line": _line,
    "wireguard": _wireguard,
    "routes": _routes,
    "rules": _rules,
    "ufw": _ufw,
    "node": _node,
    "object": _object,
}
