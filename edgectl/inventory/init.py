"""A new inventory from a few names and addresses: commented, in the form of the sample, and known to be valid."""

from __future__ import annotations

import json
import re
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from edgectl import content
from edgectl.errors import EdgectlError, Problems, UsageError
from edgectl.inventory import schema
from edgectl.inventory.documents import VARIABLE_DIRECTORIES, ini_files, source_files
from edgectl.inventory.load import load
from edgectl.inventory.problem import Problem
from edgectl.inventory.rules.networks import DEFAULTS, free_network

_FORM = re.compile(r"(?:(?P<user>[^@\s]+)@)?(?:\[(?P<v6>[0-9a-fA-F:]+)\]|(?P<address>[^@:\s\[\]]+))(?::(?P<port>\d+))?")
# Words that YAML 1.1 does not take for text.
_WORDS = ("yes", "no", "true", "false", "on", "off", "null", "y", "n")


@dataclass(frozen=True)
class Machine:
    """One machine as the user names it. An empty user means the one that ssh would take."""

    name: str
    address: str
    user: str = ""
    port: int = 22


def parse_machine(text: str) -> Machine:
    """`name=user@address[:port]` as a Machine; the user may be left out."""
    name, _, rest = text.partition("=")
    if not rest:
        raise UsageError(
            f"--host {text}: there is no address", "the form is NAME=USER@ADDRESS[:PORT]", f"--host {_guess(text)}"
        )
    return parse_login(rest, name.strip())


def parse_login(text: str, name: str) -> Machine:
    """`user@address[:port]` of the machine called `name`."""
    form = _FORM.fullmatch(text.strip())
    if form is None or not 1 <= int(form["port"] or 22) <= 65535:
        raise UsageError(
            f"{text!r} is no address of a machine",
            "the form is USER@ADDRESS[:PORT], with a port from 1 to 65535",
            f"for example ubuntu@192.168.1.11 for {name or 'nuc1'}",
        )
    return Machine(name, form["v6"] or form["address"], form["user"] or "", int(form["port"] or 22))


def create(
    directory: Path,
    machines: Sequence[Machine],
    control_plane: str = "",
    cluster_name: str = "",
    distribution: str = "kubeadm",
) -> list[Path]:
    """Write an inventory and return its files. The control plane is the first machine unless another is named.

    Nothing is written when something is there already, or when bootstrap would refuse the result.
    """
    require_free(directory)
    if not machines:
        raise UsageError(
            "an inventory needs a machine", "no --host was given", "--host nuc1=ubuntu@192.168.1.11, once a machine"
        )
    _require_unique(machines)
    first = control_plane or machines[0].name
    if first not in {machine.name for machine in machines}:
        raise UsageError(
            f"--control-plane {first} is none of the machines",
            f"they are {', '.join(machine.name for machine in machines)}",
            f"--host {first}=USER@ADDRESS, or another --control-plane",
        )
    files = {
        "hosts.yml": _hosts(machines, first),
        "group_vars/all.yml": _variables(machines, cluster_name),
        **schema.files(),
    }
    _require_valid(files)
    # By the rules an inventory for k3s has a lock, which is fetched for an inventory.
    default = "# cluster_distribution: kubeadm\n"
    if distribution != "kubeadm":
        variables = files["group_vars/all.yml"]
        files["group_vars/all.yml"] = variables.replace(default, f"cluster_distribution: {distribution}\n")
    return write(directory, files)


def require_free(directory: Path) -> None:
    """Refuse a directory that holds an inventory already."""
    if directory.exists() and not directory.is_dir():
        raise UsageError(f"{directory}: this is a file", "an inventory is a directory", "name another directory")
    if not directory.exists():
        return
    there = [*source_files(directory), *ini_files(directory)]
    there += [directory / name for name in VARIABLE_DIRECTORIES if (directory / name).exists()]
    if there:
        raise UsageError(
            f"{directory}: there is an inventory already, and it stays as it is",
            f"found {', '.join(str(path) for path in there[:3])}",
            f"name another directory, or change it with an editor and run: edgectl validate {directory}",
        )


def _guess(text: str) -> str:
    name, equals, _ = text.partition("=")
    return f"{name}=ubuntu@192.168.1.11" if equals else f"nuc1={text if '@' in text else f'ubuntu@{text}'}"


def _require_unique(machines: Sequence[Machine]) -> None:
    for name, times in Counter(machine.name for machine in machines).items():
        if times > 1:
            raise UsageError(f"{times} machines are called {name}", fix="give each a name of its own")


def _hosts(machines: Sequence[Machine], control_plane: str) -> str:
    common = Counter(machine.user for machine in machines).most_common(1)[0][0]
    user = common if all(machine.user for machine in machines) else ""
    groups = {
        "control_plane": [machine for machine in machines if machine.name == control_plane],
        "workers": [machine for machine in machines if machine.name != control_plane],
    }
    return _HOSTS.format(
        login=f"vars:\n    ansible_user: {_scalar(user)}" if user else "# vars:\n  #   ansible_user: ubuntu",
        **{name: "\n".join(_host(machine, user) for machine in members) for name, members in groups.items()},
    )


def _host(machine: Machine, common_user: str) -> str:
    lines = [f"        {_scalar(machine.name)}:", f"          ansible_host: {_scalar(machine.address)}"]
    if machine.user and machine.user != common_user:
        lines.append(f"          ansible_user: {_scalar(machine.user)}")
    if machine.port != 22:
        lines.append(f"          ansible_port: {machine.port}")
    return "\n".join(lines) + "\n"


def _scalar(text: str) -> str:
    """As YAML reads it back as the same text."""
    return text if re.fullmatch(r"[a-z][\w.-]*|\d+(\.\d+){3}", text) and text not in _WORDS else json.dumps(text)


def _variables(machines: Sequence[Machine], cluster_name: str) -> str:
    """The sample's, with this cluster's name, and with other networks where the machines' addresses need them."""
    text = (content.root() / "inventory" / "group_vars" / "all.yml").read_text(encoding="utf-8")
    if cluster_name:
        text = re.sub(r"^cluster_name: .*$", f"cluster_name: {_scalar(cluster_name)}", text, flags=re.MULTILINE)
    addresses = [machine.address for machine in machines]
    taken: list[str] = []
    for option, default in DEFAULTS.items():
        network = free_network(option, taken, addresses) or default
        taken.append(network)
        if network != default:
            text = text.replace(f"# {option}: {default}", f"{option}: {network}")
    return text


def _require_valid(files: dict[str, str]) -> None:
    """Bootstrap's own rules, on a copy; their problems are told without the copy's lines."""
    with tempfile.TemporaryDirectory(prefix="edgectl-init-") as copy:
        write(Path(copy), files)
        try:
            load(Path(copy))
        except Problems as error:
            raise Problems([_of_copy(problem, copy) for problem in error.problems]) from error


def _of_copy(problem: EdgectlError, copy: str) -> UsageError:
    message = problem.message if isinstance(problem, Problem) else problem.what
    why = "" if copy in problem.why else problem.why  # a line of the copy would lead nowhere
    return UsageError(message, why, problem.fix)


def write(directory: Path, files: Mapping[str, str]) -> list[Path]:
    """Write files of an inventory (name within it -> text), and return where they are."""
    written = []
    try:
        for name, text in files.items():
            file = directory / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
            written.append(file)
    except OSError as error:
        raise UsageError(f"{directory}: the inventory cannot be written", str(error)) from error
    return written


_HOSTS = """\
# yaml-language-server: $schema=.edgectl/hosts.schema.json
---
# Your machines. After a change run `edgectl validate` and `edgectl bootstrap`, each with the name of this directory.
#
# A host's name becomes the node's name in Kubernetes: lower-case letters, digits and hyphens.
cluster:
  # How to log in to all of them. Keys, agents and ~/.ssh/config work as with plain ssh. For sudo with a password,
  # edgectl asks once; do not write it here.
  {login}

  children:
    # The machine that runs the Kubernetes API; an odd number of them, where the loss of one is to stop nothing.
    control_plane:
      hosts:
{control_plane}
    # Machines that run only your workloads. A Jetson stands among the others: edgectl finds out by itself what a
    # machine is.
    workers:
      hosts:
{workers}
        # With several network interfaces, name the address that the other machines reach a host by:
        # cluster_lan_address: 192.168.1.21

# Machines behind different routers cannot call each other: one that all others can call carries their tunnels
# (with wireguard_topology: hub in group_vars/all.yml). It need not be a node:
# hub:
#   hosts:
#     relay:
#       ansible_host: 203.0.113.10
"""
