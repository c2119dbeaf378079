"""Machines outside the inventory in the tunnels, such as a laptop: letting them in, listing them, taking them out."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from edgectl.cluster import peer_file, remote
from edgectl.cluster.peer_file import HostEntry, KeyPair
from edgectl.cluster.remote import Login
from edgectl.cluster.session import Session
from edgectl.cluster.verb import Outcome, carry_out
from edgectl.errors import EdgectlError, UsageError
from edgectl.exitcodes import ExitCode
from edgectl.inventory import Inventory, load, read, state
from edgectl.inventory.rules.hosts import DNS_LABEL
from edgectl.inventory.state import PeerState
from edgectl.inventory.vault import Vault
from edgectl.output.renderer import Renderer
from edgectl.ssh.target import of_inventory

# Names the playbook too.
VERB = "peers"
_INTERFACE = "wg0"


@dataclass(frozen=True)
class Added:
    """A peer that was let in. `silent` are hosts without an endpoint, which it cannot call."""

    outcome: Outcome
    address: str
    file: Path
    configuration: str = field(repr=False)
    silent: tuple[str, ...] = ()


@dataclass(frozen=True)
class Peer:
    """A peer, and what the control planes know of it, or the hub where there is one.

    handshakes: such a host -> seconds since the last handshake, None before the first. Hosts that do not answer are
    left out.
    """

    name: str
    address: str
    public_key: str
    handshakes: Mapping[str, int | None]


def readable(name: str, file: Path) -> Callable[..., Inventory]:
    """Reads an inventory that the peer can be added to; refuses before any host is asked."""

    def read_and_check(path: Path, *, vault: Vault | None = None) -> Inventory:
        inventory = load(path, vault=vault)
        check_new(inventory, name)
        peer_file.check_target(file)
        return inventory

    return read_and_check


def removable(name: str) -> Callable[..., Inventory]:
    """Reads an inventory that has the peer."""

    def read_and_check(path: Path, *, vault: Vault | None = None) -> Inventory:
        inventory = read(path, vault=vault)
        if name not in inventory.state.peers:
            names = ", ".join(inventory.state.peers) or "none"
            raise UsageError(f"there is no peer {name}", f"{inventory.state_file} has: {names}")
        return inventory

    return read_and_check


def check_new(inventory: Inventory, name: str) -> None:
    """Refuse a name that is no DNS label or is taken, and a cluster that has no tunnels."""
    path = shlex.quote(str(inventory.path))
    if not DNS_LABEL.fullmatch(name):
        raise UsageError(
            f"{name!r} cannot be the name of a peer",
            "allowed: lower-case letters, digits and hyphens, at most 63, starting and ending with a letter or digit",
            "for example laptop",
        )
    hosts = {host.name for host in inventory.hosts} | set(inventory.state.hosts)
    if name in hosts:
        raise UsageError(
            f"{name} is a host of {inventory.path}",
            "hosts are in the tunnels by themselves",
            f"choose another name; to put the host itself in: edgectl bootstrap {path}",
        )
    if name in inventory.state.peers:
        raise UsageError(
            f"there is a peer {name} already",
            f"it has {inventory.state.peers[name].wireguard_address}; its private key is in the file written then",
            f"for a new key: edgectl peer remove {name} -i {path}, then add it again",
        )
    if not inventory.option("cluster_wireguard", True):
        raise UsageError(
            "this cluster has no tunnels that a peer could use",
            "cluster_wireguard is false",
            "set cluster_wireguard: true before the cluster is made",
        )
    if not any(host.wireguard_address for host in inventory.state.hosts.values()):
        raise UsageError(
            "there are no tunnels yet",
            f"{inventory.state_file} knows no host",
            f"make the cluster first: edgectl bootstrap {path}",
        )


def add(
    session: Session, name: str, file: Path, renderer: Renderer, *, on_cancel: Callable[[], None] | None = None
) -> Added:
    """Make a key pair here, let its public half into the tunnels, and write the peer's configuration.

    Hosts that do not answer learn of it in the next run that includes them; `outcome` names them. Raises EdgectlError
    when the state file did not take it, and nothing is left then.
    """
    keys = peer_file.make_keys()
    outcome = carry_out(
        VERB, session, renderer, limited=False, extra_vars={"edgectl_peers_added": {name: keys.public}},
        on_cancel=on_cancel, repeat="bootstrap",
    )  # fmt: skip
    inventory = session.inventory
    given = state.read(inventory.state_file).peers.get(name)
    if given is None or given.wireguard_public_key != keys.public:
        raise _not_done(outcome, f"{name} was not let in", f"edgectl peer add {name}")
    hosts = [HostEntry.from_role(entry) for entry in outcome.result.summary.get("peer_entries") or ()]
    if not hosts:
        raise _not_done(
            outcome,
            f"{name} has an address, and no configuration was written for it",
            f"edgectl peer remove {name} -i {shlex.quote(str(inventory.path))} && edgectl peer add {name}",
        )
    text = _configuration(inventory, keys, given, hosts)
    peer_file.write(file, text)
    silent = tuple(host.name for host in hosts if not host.endpoint)
    return Added(outcome, given.wireguard_address, file, text, silent)


def remove(session: Session, name: str, renderer: Renderer, *, on_cancel: Callable[[], None] | None = None) -> Outcome:
    """Take a peer out of the state file and off every host that answers; the others drop it in their next run."""
    outcome = carry_out(
        VERB, session, renderer, limited=False, extra_vars={"edgectl_peers_removed": [name]},
        on_cancel=on_cancel, repeat="bootstrap",
    )  # fmt: skip
    if name in state.read(session.inventory.state_file).peers:
        raise _not_done(outcome, f"{name} was not taken out", f"edgectl peer remove {name}")
    return outcome


def peers(inventory: Inventory, login: Login) -> tuple[list[Peer], dict[str, str]]:
    """All peers, and the control planes, or the hub, that do not answer, each with the reason."""
    if not inventory.state.peers:
        return [], {}
    interface = str(inventory.option("wireguard_interface", _INTERFACE))
    command = f"date +%s; wg show {shlex.quote(interface)} latest-handshakes"
    hub = {host.name for host in inventory.hub}
    asked = [target for target in of_inventory(inventory) if target.name in hub] or remote.control_planes(inventory)
    answers = remote.run_as_root(inventory, asked, command, login)
    ages = {name: handshake_ages(answer.stdout.splitlines()) for name, answer in answers.items() if answer.ok}
    silent = {
        name: answer.reason or (answer.stderr.strip() or f"exit code {answer.rc}").splitlines()[-1]
        for name, answer in answers.items()
        if not answer.ok
    }
    found = [
        Peer(
            name,
            known.wireguard_address,
            known.wireguard_public_key,
            {host: of_host.get(known.wireguard_public_key) for host, of_host in ages.items()},
        )
        for name, known in inventory.state.peers.items()
    ]
    return found, silent


def handshake_ages(lines: Iterable[str]) -> dict[str, int]:
    """Public key -> seconds since the last handshake, from the host's own time and `wg show ... latest-handshakes`.

    Keys that never had one (time 0) are left out.
    """
    now, *pairs = lines
    times = dict(line.split("\t", 1) for line in pairs)
    return {key: max(0, int(now) - int(time)) for key, time in times.items() if int(time)}


def _configuration(inventory: Inventory, keys: KeyPair, given: PeerState, hosts: list[HostEntry]) -> str:
    return peer_file.configuration(
        keys,
        given.wireguard_address,
        hosts,
        mtu=int(inventory.option("wireguard_mtu", 1420)),
        keepalive=int(inventory.option("wireguard_keepalive", 25)),
    )


def _not_done(outcome: Outcome, what: str, command: str) -> EdgectlError:
    result = outcome.result
    said = [f"{failure.host}: {' '.join(failure.message.split())}" for failure in result.failures]
    why = "; ".join(dict.fromkeys(said)) or " ".join(result.output[-1:]) or "the run was stopped"
    path = shlex.quote(str(outcome.session.inventory.path))
    error = EdgectlError(what, why, f"when that is mended: {command} -i {path}", result.log_path)
    error.code = outcome.exit_code or ExitCode.FAILED
    return error
