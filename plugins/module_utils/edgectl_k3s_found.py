"""A k3s that somebody else installed: where its options stand, and what they are. Reads only.

Options come from variables of the unit, from config.yaml with the files beside it, and from the unit's arguments; each
is stronger than the one before (docs.k3s.io, "Configuration Options"; k3s-io/k3s, pkg/configfilearg/parser.go). The
layout is the one that get.k3s.io writes (k3s-io/k3s, install.sh). Python 3.8, standard library only: the probe brings
this to hosts.
"""

from __future__ import annotations

import json
import re
import shlex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

UNIT_FILES = {"server": "/etc/systemd/system/k3s.service", "agent": "/etc/systemd/system/k3s-agent.service"}
CONFIG = "/etc/rancher/k3s/config.yaml"
# Flags that have a short form, and variables that stand for flags (docs.k3s.io, "k3s server" and "k3s agent").
SHORT = {"c": "config", "d": "data-dir", "i": "node-ip", "o": "write-kubeconfig", "s": "server", "t": "token"}
VARIABLES = {
    "K3S_AGENT_TOKEN": "agent-token",
    "K3S_AGENT_TOKEN_FILE": "agent-token-file",
    "K3S_CLUSTER_INIT": "cluster-init",
    "K3S_CONFIG_FILE": "config",
    "K3S_DATASTORE_ENDPOINT": "datastore-endpoint",
    "K3S_DATA_DIR": "data-dir",
    "K3S_KUBECONFIG_MODE": "write-kubeconfig-mode",
    "K3S_NODE_NAME": "node-name",
    "K3S_RESOLV_CONF": "resolv-conf",
    "K3S_TOKEN": "token",
    "K3S_TOKEN_FILE": "token-file",
    "K3S_URL": "server",
}
# Names whose values stay on the host; that of a file with a secret is none.
SECRET = re.compile(r"token|secret|password|access-key|auth|endpoint|etcd-s3")


class Unreadable(Exception):
    """Options that can't be understood for certain."""


class Found:
    """The options, and what could not be understood of them."""

    def __init__(self, role: str | None) -> None:
        self.role = role
        self.unit: str | None = None
        self.config_files: list[str] = []
        self.environment_lines: list[str] = []  # of the unit, as they stand there
        # name -> values: from config.yaml and arguments; from variables, which keep working where they are
        self.values: dict[str, list[str]] = {}
        self.variables: dict[str, str] = {}
        self.places: dict[str, list[str]] = {}
        self.problems: list[str] = []

    def one(self, name: str, otherwise: str | None = None) -> str | None:
        values = self.values.get(name)
        return values[-1] if values else self.variables.get(name, otherwise)

    def on(self, name: str) -> bool:
        return self.one(name, "false") in ("true", "")

    def public(self) -> dict[str, dict[str, Any]]:
        """name -> values (null for what is secret) and the files that they stand in."""
        names = sorted({**self.variables, **self.values})
        return {
            name: {
                "values": None if is_secret(name) else self.values.get(name) or [self.variables[name]],
                "from": self.places[name],
            }
            for name in names
        }


def is_secret(name: str) -> bool:
    return bool(SECRET.search(name)) and not name.endswith("-file")


def options(host: Any) -> Found:
    """The options of the k3s below `host` (the probe's Host)."""
    role = next((role for role, path in UNIT_FILES.items() if host.exists(path)), None)
    found = Found(role)
    if role is None:
        found.problems.append("no unit /etc/systemd/system/k3s.service or k3s-agent.service starts it")
        return found
    found.unit = UNIT_FILES[role]
    try:
        arguments = _of_unit(host, found)
        _of_variables(host, found)
        _of_config(host, found, _value_of(arguments, "config") or CONFIG)
        for name, value in arguments:
            if name != "config":
                _add(found, name, [value], found.unit)
    except Unreadable as problem:
        found.problems.append(str(problem))
    return found


def _add(found: Found, name: str, values: list[str], place: str, anew: bool = False) -> None:
    found.values[name] = values if anew else found.values.get(name, []) + values
    known = found.places.setdefault(name, [])
    if anew:
        del known[:]
    if place not in known:
        known.append(place)


def _value_of(arguments: list[tuple[str, str]], name: str) -> str | None:
    return next((value for given, value in reversed(arguments) if given == name), None)


def _of_unit(host: Any, found: Found) -> list[tuple[str, str]]:
    """The arguments of ExecStart, as names and values; notes the unit's lines about its environment."""
    unit = found.unit or ""
    started: list[str] = []
    beside = [unit + ".d/" + name for name in host.names(unit + ".d") if name.endswith(".conf")]
    for path in [unit, *beside]:
        for key, value in directives(host.read(path) or ""):
            if key == "ExecStart" and path != unit:
                raise Unreadable(path + " starts k3s in its own way: move its arguments to " + CONFIG)
            if key == "ExecStart":
                started = shlex.split(value.lstrip("@-:+!"))
            elif key in ("EnvironmentFile", "Environment") and path == unit:
                found.environment_lines.append(key + "=" + value)
    if len(started) < 2 or started[1] != found.role:
        raise Unreadable("{} does not run `k3s {}`".format(unit, found.role))
    if started[0] != "/usr/local/bin/k3s":
        raise Unreadable("{} runs {}, and k3s is expected in /usr/local/bin".format(unit, started[0]))
    arguments = [argument.replace("%%", "%").replace("$$", "$") for argument in started[2:]]
    if any(re.search(r"(?<!%)%[a-zA-Z]|(?<!\$)\$[{a-zA-Z]", argument) for argument in started[2:]):
        raise Unreadable("{} has arguments that systemd fills in: write them out".format(unit))
    return flags(arguments, unit)


def directives(text: str) -> list[tuple[str, str]]:
    """Keys and values of a unit file, continued lines as one (systemd.syntax(7))."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith(("#", ";"))]
    joined = re.sub(r"\\\n", " ", "\n".join(lines))
    pairs = (line.partition("=") for line in joined.splitlines() if "=" in line)
    return [(key.strip(), value.strip().rstrip("\\").strip()) for key, _, value in pairs]


def flags(arguments: list[str], place: str) -> list[tuple[str, str]]:
    """`--name=value`, `--name value` and `--switch`, whose value is `true`."""
    found, waiting = [], list(arguments)
    while waiting:
        argument = waiting.pop(0)
        if not argument.startswith("-"):
            raise Unreadable("{}: {} is no option".format(place, argument))
        name, equals, value = argument.lstrip("-").partition("=")
        if not equals:
            value = waiting.pop(0) if waiting and not waiting[0].startswith("-") else "true"
        found.append((SHORT.get(name, name), value))
    return found


def _of_variables(host: Any, found: Found) -> None:
    unit = (found.unit or "").rpartition("/")[2].rpartition(".")[0]
    for line in found.environment_lines:
        kind, _, value = line.partition("=")
        path = value.lstrip("-").replace("%N", unit)
        lines = host.lines(path) if kind == "EnvironmentFile" else shlex.split(value)
        for one in lines:
            name, equals, text = one.strip().partition("=")
            if equals and name in VARIABLES:
                known = VARIABLES[name]
                found.variables[known] = " ".join(shlex.split(text)) if kind == "EnvironmentFile" else text
                found.places[known] = [path if kind == "EnvironmentFile" else found.unit or ""]
    if "config" in found.variables:
        raise Unreadable("K3S_CONFIG_FILE in {}: name the file {}".format(found.places["config"][0], CONFIG))


def _of_config(host: Any, found: Found, config: str) -> None:
    if not config.startswith("/"):
        raise Unreadable("its configuration comes from {}, which is no file".format(config))
    beside = config + ".d"
    names = [name for name in host.names(beside) if name.lower().endswith((".yaml", ".yml"))]
    for path in [config, *(beside + "/" + name for name in names)]:
        text = host.read(path)
        if text is None:
            continue
        found.config_files.append(path)
        for key, values in flat_yaml(text, path):
            adds = key.endswith("+")
            key = key.rstrip("+")
            _add(found, SHORT.get(key, key), values, path, anew=not adds)


def flat_yaml(text: str, place: str = "") -> list[tuple[str, list[str]]]:
    """The keys of a mapping whose values are scalars and lists of them, which is all that k3s' config.yaml has."""
    entries: list[tuple[str, list[str]]] = []
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.strip()
        if not bare or bare.startswith("#") or bare in ("---", "{}"):
            continue
        try:
            read_line(line, entries)
        except ValueError:
            known = "only `key: value` and lists are"
            raise Unreadable("{}, line {} is not understood; {}".format(place, number, known)) from None
    return [(key, values or [""]) for key, values in entries]


def read_line(line: str, entries: list[tuple[str, list[str]]]) -> None:
    item = re.match(r"\s*-\s+(.*)$", line)
    pair = re.match(r"""(?:"([^"]+)"|'([^']+)'|([\w.+-]+))\s*:(?:\s+(.*))?$""", line)
    if item and entries:
        entries[-1][1].append(scalar(item.group(1)))
    elif pair:
        value = without_comment(pair.group(4) or "")
        entries.append((pair.group(1) or pair.group(2) or pair.group(3), values_of(value)))
    else:
        raise ValueError(line)


def values_of(value: str) -> list[str]:
    if not value:
        return []
    if value.startswith("["):
        if not value.endswith("]"):
            raise ValueError
        return [scalar(part) for part in re.findall(r"""\s*("[^"]*"|'[^']*'|[^,]+?)\s*(?:,|$)""", value[1:-1])]
    return [scalar(value)]


def without_comment(value: str) -> str:
    quoted = re.match(r"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*')\s*(?:#.*)?$""", value)
    return quoted.group(1) if quoted else re.sub(r"(^|\s)#.*", "", value).strip()


def scalar(text: str) -> str:
    """A scalar as the flag that k3s makes of it (yaml.v2 reads yes and 0644 in YAML 1.1's way)."""
    text = without_comment(text.strip())
    if text.startswith('"'):
        return str(json.loads(text))
    if text.startswith("'"):
        return text[1:-1].replace("''", "'")
    if text[:1] in tuple("[{&*!|>%@`") or ": " in text:
        raise ValueError
    if text.lower() in ("true", "yes", "on"):
        return "true"
    if text.lower() in ("false", "no", "off"):
        return "false"
    if text in ("~", "null"):
        return ""
    return str(int(text, 8)) if re.match(r"0[0-7]+$", text) else text


def carried(found: Found, ours: dict[str, Any], managed: list[str]) -> tuple[dict[str, list[str]], list[str]]:
    """What of their options goes on beside ours, and the names of those that ours replace.

    A list of ours gets theirs added (`name+`). Variables are in neither: they go on where they are, and are weaker.
    """
    kept: dict[str, list[str]] = {}
    replaced = []
    for name, values in found.values.items():
        mine = ours.get(name)
        if isinstance(mine, list):
            more = [value for value in values if value not in [str(one) for one in mine]]
            kept.update({name + "+": more} if more else {})
        elif name in ours or name in managed or name + "-file" in ours:
            replaced.append(name)
        else:
            kept[name] = values
    return kept, sorted(replaced)
