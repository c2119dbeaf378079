"""The administrator's kubeconfig: fetched from the control plane, named after the cluster, merged into the user's own.

Contexts, clusters and users of other clusters are never touched: what is there under this cluster's name and belongs
to another one is refused.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

from edgectl.cluster import api_server, remote
from edgectl.cluster.api_server import Address
from edgectl.cluster.kubectl import KUBECONFIGS
from edgectl.cluster.remote import Login
from edgectl.errors import EdgectlError, UnreachableError, UsageError
from edgectl.inventory import Inventory
from edgectl.ssh.forward import Forward, forward
from edgectl.ssh.target import Target, resolve

Document = dict[str, Any]

LOOPBACK = "127.0.0.1"
_KINDS = ("clusters", "users", "contexts")


# k3s writes it at each start (docs.k3s.io, "Cluster Access").
_WRITE_ANEW = {"kubeadm": "sudo kubeadm init phase kubeconfig admin", "k3s": "sudo systemctl restart k3s"}


@dataclass(frozen=True)
class Administrator:
    """An administrator's credentials for one cluster. `target` is the control plane that they came from."""

    name: str
    ca_data: str
    credentials: Mapping[str, Any]
    server_name: str
    target: Target

    def document(self, address: Address) -> Document:
        """A kubeconfig for this cluster alone, whose context is the current one."""
        cluster = {"certificate-authority-data": self.ca_data, "server": address.url}
        if address.server_name:
            cluster["tls-server-name"] = address.server_name
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": self.name, "cluster": cluster}],
            "users": [{"name": self.name, "user": dict(self.credentials)}],
            "contexts": [{"name": self.name, "context": {"cluster": self.name, "user": self.name}}],
            "current-context": self.name,
        }


def fetch(inventory: Inventory, login: Login) -> Administrator:
    """Read the administrator's kubeconfig on the first control plane that answers."""
    target = remote.control_plane(inventory)
    distribution = str(inventory.option("cluster_distribution", "kubeadm"))
    path = KUBECONFIGS.get(distribution, KUBECONFIGS["kubeadm"])
    answer = remote.run_as_root(inventory, [target], f"cat {shlex.quote(path)}", login)[target.name]
    if answer.trouble is not None:
        raise UnreachableError(
            f"the control plane {target.name} cannot be reached",
            answer.reason,
            f"see that it is switched on, then: {login.command}",
        )
    if not answer.ok:
        raise EdgectlError(
            f"{target.name} has no administrator's kubeconfig",
            (answer.stderr.strip() or f"exit code {answer.rc}").splitlines()[-1],
            f"make the cluster first: edgectl bootstrap {shlex.quote(str(inventory.path))}",
        )
    name = str(inventory.option("cluster_name", "edgectl"))
    endpoint = str(inventory.option("cluster_endpoint", f"api.{name}.internal"))
    try:
        found = yaml.safe_load(answer.stdout)
        ca_data = str(found["clusters"][0]["cluster"]["certificate-authority-data"])
        return Administrator(name, ca_data, dict(found["users"][0]["user"]), endpoint, target)
    except (yaml.YAMLError, KeyError, IndexError, TypeError, ValueError) as error:
        raise EdgectlError(
            f"{path} on {target.name} is not a kubeconfig that edgectl understands",
            f"{type(error).__name__}: {str(error).splitlines()[0]}",
            f"have it written anew on {target.name}: {_WRITE_ANEW.get(distribution, _WRITE_ANEW['kubeadm'])}",
        ) from error


def locate(inventory: Inventory, administrator: Administrator) -> Address:
    """Where this machine calls the API: the address that SSH uses, else the control plane's LAN address."""
    target = administrator.target
    if target.local:
        hosts = [LOOPBACK]
    else:
        remembered = inventory.state.hosts.get(target.name)
        lan = inventory.host(target.name).option("cluster_lan_address", None)
        known = [resolve(target).hostname, lan, remembered.lan_address if remembered else None]
        hosts = [str(host) for host in known if host]
    return api_server.find(hosts, administrator.server_name, administrator.ca_data)


@contextmanager
def tunnel(administrator: Administrator, port: int = 0) -> Iterator[tuple[Address, Forward]]:
    """The API behind a port of this machine (0: a free one), forwarded over SSH while the block runs."""
    target = administrator.target
    if target.local:
        raise UsageError(
            f"{target.name} is this machine, so there is no way to tunnel",
            "its connection is local",
            "leave out --tunnel",
        )

    def at(local_port: int) -> Address:
        return Address(LOOPBACK, local_port, administrator.server_name)

    def answers(local_port: int) -> str:
        try:
            api_server.handshake(at(local_port), administrator.ca_data)
        except api_server.NotTheApi as error:
            return f"the API does not answer there: {error}"
        return ""

    with forward(target, api_server.PORT, local_port=port, ready=answers) as opened:
        yield at(opened.port), opened


def text(document: Mapping[str, Any]) -> str:
    """A kubeconfig as YAML."""
    return yaml.safe_dump(dict(document), sort_keys=False, width=10_000)


def default_file(environment: Mapping[str, str] = os.environ) -> Path:
    """The file that kubectl itself would write to: the first of $KUBECONFIG, else ~/.kube/config."""
    named = [name for name in environment.get("KUBECONFIG", "").split(os.pathsep) if name]
    return Path(named[0]).expanduser() if named else Path.home() / ".kube" / "config"


def write(file: Path, document: Mapping[str, Any], *, force: bool) -> None:
    """Write a kubeconfig of its own, 0600, in one step.

    An older one of the same cluster is replaced; anything else in its place is left alone unless `force`.
    """
    if file.exists() and not force and not _holds_only(file, document):
        raise UsageError(
            f"{file} exists, and is not the kubeconfig of this very cluster",
            "it would be lost",
            f"give another file, add to it by --merge with KUBECONFIG={shlex.quote(str(file))}, or use --force",
        )
    with _locked(file):
        _replace(file, text(document))


@dataclass(frozen=True)
class Merged:
    """What a merge did. `backup` is None where there was nothing to keep."""

    file: Path
    changed: bool
    backup: Path | None = None


def merge_into(file: Path, document: Mapping[str, Any], *, use: bool, force: bool) -> Merged:
    """Merge a kubeconfig of one cluster into a file; the file's last content is kept beside it."""
    with _locked(file):
        before = file.read_text(encoding="utf-8") if file.exists() else ""
        existing = _read(file) if before else {}
        merged = merge(existing, document, use=use, force=force, where=file)
        if merged == existing:
            return Merged(file, changed=False)
        backup = _keep(file, before) if before else None
        _replace(file, text(merged))
    return Merged(file, changed=True, backup=backup)


def merge(
    existing: Mapping[str, Any],
    document: Mapping[str, Any],
    *,
    use: bool,
    force: bool,
    where: Path | str = "kubeconfig",
) -> Document:
    """One kubeconfig within another. Only entries with the name of the new cluster change.

    use: make its context the current one. force: also when the name now belongs to another cluster.
    """
    name = str(document["current-context"])
    if not force and (owner := _other_owner(existing, document, name)):
        raise UsageError(
            f"{where} has another cluster by the name {name}",
            owner,
            f"rename one of the two (cluster_name in the inventory, or kubectl config rename-context {name} NEW), "
            "or replace the old one: --force",
        )
    merged: Document = {"apiVersion": "v1", "kind": "Config", **deepcopy(dict(existing))}
    for kind in _KINDS:
        new = deepcopy(_entry(document, kind, name))
        old = _entry(existing, kind, name)
        if kind == "contexts" and "namespace" in (old.get("context") or {}):
            # What `kubectl config set-context --namespace` chose is the user's.
            new["context"]["namespace"] = old["context"]["namespace"]
        entries = list(merged.get(kind) or [])
        places = [number for number, entry in enumerate(entries) if entry.get("name") == name]
        if places:
            entries[places[0]] = new
        else:
            entries.append(new)
        merged[kind] = entries
    if use:
        merged["current-context"] = name
    return merged


def _other_owner(existing: Mapping[str, Any], document: Mapping[str, Any], name: str) -> str:
    """How the file shows that a name of ours belongs to something else; empty when it does not."""
    cluster = _entry(existing, "clusters", name).get("cluster") or {}
    new = _entry(document, "clusters", name)["cluster"]
    if cluster and cluster.get("certificate-authority-data") != new["certificate-authority-data"]:
        return f"that one is at {cluster.get('server') or 'an unknown address'} and has another CA"
    context = _entry(existing, "contexts", name).get("context") or {}
    if context and (context.get("cluster"), context.get("user")) != (name, name):
        return f"its context is for cluster {context.get('cluster')} and user {context.get('user')}"
    if _entry(existing, "users", name) and not cluster:
        return f"its user {name} belongs to none of our clusters"
    users = [e for e in existing.get("contexts") or [] if (e.get("context") or {}).get("user") == name]
    others = [e["name"] for e in users if e["context"].get("cluster") != name]
    return f"its user {name} is that of context {others[0]}" if others else ""


def _entry(document: Mapping[str, Any], kind: str, name: str) -> dict[str, Any]:
    return next((dict(entry) for entry in document.get(kind) or [] if entry.get("name") == name), {})


def _holds_only(file: Path, document: Mapping[str, Any]) -> bool:
    """Whether a file is the kubeconfig of the same cluster, and nothing besides."""
    try:
        existing = _read(file)
    except EdgectlError:
        return False
    name = str(document["current-context"])
    alone = all([entry.get("name") for entry in existing.get(kind) or []] == [name] for kind in _KINDS)
    return alone and not _other_owner(existing, document, name)


def _read(file: Path) -> Document:
    try:
        document = yaml.safe_load(file.read_text(encoding="utf-8")) or {}
        lists = [document.get(kind) or [] for kind in _KINDS]
        if not all(isinstance(entry, dict) for entries in lists for entry in entries):
            raise TypeError("its entries are no mappings")  # noqa: TRY301
    except (yaml.YAMLError, UnicodeDecodeError, AttributeError, TypeError) as error:
        raise UsageError(
            f"{file} is no kubeconfig", str(error).splitlines()[0], "mend it or name another file in KUBECONFIG"
        ) from error
    except OSError as error:
        raise UsageError(f"{file} cannot be read", str(error.strerror)) from error
    return dict(document)


@contextmanager
def _locked(file: Path) -> Iterator[None]:
    """The lock that kubectl takes too (client-go's clientcmd.lockFile): a file beside it with the suffix .lock."""
    lock = file.with_name(file.name + ".lock")
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(lock, os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError as error:
        raise EdgectlError(
            f"{file} is being written by another program",
            f"{lock} exists",
            f"wait for it to end; if there is none: rm {shlex.quote(str(lock))}",
        ) from error
    except OSError as error:
        raise UsageError(f"{file} cannot be written", f"{error.filename}: {error.strerror}") from error
    try:
        yield
    finally:
        with suppress(FileNotFoundError):
            lock.unlink()


def _keep(file: Path, content: str) -> Path:
    stem = f"{file.name}.{datetime.now().astimezone():%Y%m%d-%H%M%S}"
    names: Sequence[str] = [f"{stem}.bak", *(f"{stem}-{number}.bak" for number in range(2, 1000))]
    backup = next(path for name in names if not (path := file.with_name(name)).exists())
    _replace(backup, content)
    return backup


def _replace(file: Path, content: str) -> None:
    """The file's whole content in one step; through a link, and for its owner alone from the first byte on."""
    file = file.resolve()
    candidate = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        with os.fdopen(os.open(candidate, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as new:
            new.write(content)
            new.flush()
            os.fsync(new.fileno())
        candidate.replace(file)
    except OSError as error:
        raise UsageError(f"{file} cannot be written", str(error.strerror)) from error
    finally:
        candidate.unlink(missing_ok=True)
