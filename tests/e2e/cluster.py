"""What the end-to-end tests do to a lab and its cluster: the CLI as a user runs it, SSH, kubectl, small waits."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from edgectl.lab import login, record

EDGECTL = str(Path(sys.executable).parent / "edgectl")
ANSIBLE_PLAYBOOK = str(Path(sys.executable).parent / "ansible-playbook")
ROOT = Path(__file__).resolve().parents[2]


def edgectl(*arguments: str, check: bool = True, timeout: float = 1200) -> subprocess.CompletedProcess[str]:
    """Run the CLI without a terminal; its output ends up in the test's report when it fails."""
    return run([EDGECTL, *arguments], check=check, timeout=timeout)


def run(
    command: list[str], *, check: bool = True, timeout: float = 600, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    result = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
        env={**os.environ, **(env or {})},
        cwd="/",
        check=False,
    )
    if check and result.returncode != 0:
        raise AssertionError(
            f"{shlex.join(command)} ended with {result.returncode}\n{result.stdout[-6000:]}\n{result.stderr[-3000:]}"
        )
    return result


def wait_for(what: str, condition: Callable[[], Any], seconds: float = 120, every: float = 1.0) -> Any:
    """Wait until the condition gives something true, and return that; the last exception is part of the failure."""
    deadline = time.monotonic() + seconds
    last: object = None
    while time.monotonic() < deadline:
        try:
            last = condition()
            if last:
                return last
        except (AssertionError, subprocess.TimeoutExpired, KeyError, IndexError) as error:
            last = error
        time.sleep(every)
    raise AssertionError(f"waited {seconds:.0f} s for {what}; last seen: {last!r}")


def kill_with_descendants(process: int) -> None:
    """Kill a process of this machine, and all that it started, with SIGKILL."""
    children: dict[int, list[int]] = {}
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parent = int((place / "stat").read_text().rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(place.name))
    found = [process]
    for one in found:
        found += children.get(one, [])
    for one in found:
        with contextlib.suppress(ProcessLookupError):
            os.kill(one, signal.SIGKILL)


def hosts_in_recap(output: str) -> list[str]:
    """The line of each host in what Ansible prints at its end."""
    return [line for line in output[output.index("PLAY RECAP") :].splitlines()[1:] if line.strip()]


def lab_status(name: str) -> dict[str, Any]:
    """What `edgectl lab status` says of one lab: its inventory and its nodes with their LAN addresses."""
    document = json.loads(edgectl("lab", "status", "--name", name, "--json").stdout)
    found: dict[str, Any] = next(lab for lab in document["labs"] if lab["name"] == name)
    return found


@contextlib.contextmanager
def own_lab(name: str, nodes: str, directory: Path, distribution: str = "kubeadm") -> Iterator[Cluster]:
    """Fresh machines for the tests of one file, and a copy of their inventory in a directory."""
    edgectl("lab", "down", "--name", name)
    edgectl("lab", "up", "--name", name, "--nodes", nodes, "--distribution", distribution, timeout=3000)
    inventory = directory / "inventory"
    shutil.copytree(lab_status(name)["inventory"], inventory)
    yield Cluster(name, inventory, distribution)
    edgectl("lab", "down", "--name", name)


def take_out_worker(inventory: Path, name: str) -> None:
    """Rewrite a copy's hosts.yml without one worker, whose entry is kept beside it for later."""
    hosts = yaml.safe_load((inventory / "hosts.yml").read_text())
    workers = hosts["all"]["children"]["cluster"]["children"]["workers"]["hosts"]
    (inventory / ".edgectl" / f"{name}.yml").write_text(yaml.safe_dump(workers.pop(name)))
    (inventory / "hosts.yml").write_text(yaml.safe_dump(hosts, sort_keys=False))


def put_in_worker(inventory: Path, name: str) -> None:
    """Write that worker back."""
    hosts = yaml.safe_load((inventory / "hosts.yml").read_text())
    entry = yaml.safe_load((inventory / ".edgectl" / f"{name}.yml").read_text())
    hosts["all"]["children"]["cluster"]["children"]["workers"]["hosts"][name] = entry
    (inventory / "hosts.yml").write_text(yaml.safe_dump(hosts, sort_keys=False))


@dataclass
class Cluster:
    """A lab by name, and the inventory (a copy of the lab's own) that makes a cluster of it.

    outside: a machine of the lab that is no node yet.
    """

    lab: str
    inventory: Path
    distribution: str = "kubeadm"
    outside: str = "gpu1"

    @property
    def ctr(self) -> str:
        """A node's command for containerd's images."""
        return "k3s ctr" if self.distribution == "k3s" else "ctr --namespace k8s.io"

    @property
    def admin(self) -> str:
        """A control plane's command for the API, with an administrator's rights."""
        return "k3s kubectl" if self.distribution == "k3s" else "kubectl --kubeconfig /etc/kubernetes/admin.conf"

    def units(self, node: str) -> tuple[str, ...]:
        """The units of edgectl and of Kubernetes that run on a node."""
        if self.distribution == "k3s":
            return ("k3s" if node == "nuc1" else "k3s-agent", "wg-quick@wg0")
        return ("kubelet", "containerd", "wg-quick@wg0", "edgectl-api-proxy")

    def ssh(self, node: str, command: str, *, check: bool = True, timeout: float = 120) -> str:
        """Run a shell command as root on a node; returns its standard output."""
        # What `edgectl lab ssh` becomes, without the start of another Python.
        login_there = login.command(record.require(self.lab), node, ["sudo", "sh", "-c", shlex.quote(command)])
        return run(login_there, check=check, timeout=timeout).stdout

    def kubectl(self, *arguments: str, check: bool = True, timeout: float = 120) -> str:
        return edgectl("kubectl", "-i", str(self.inventory), "--", *arguments, check=check, timeout=timeout).stdout

    def get(self, *arguments: str) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(self.kubectl("get", *arguments, "-o", "json"))
        return document

    def bootstrap(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        return edgectl("bootstrap", str(self.inventory), "--yes", "--plain", *arguments, check=check)

    def playbook(
        self, name: str, *arguments: str, check: bool = True, env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """The same without the CLI, from a directory that is not the checkout."""
        return run(
            [ANSIBLE_PLAYBOOK, "-i", str(self.inventory), str(ROOT / "playbooks" / f"{name}.yml"), *arguments],
            check=check,
            timeout=1200,
            env={"ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1", **(env or {})},
        )

    def ready(self) -> dict[str, str]:
        """Node name to InternalIP, of the nodes that are Ready now."""
        found = {}
        for node in self.get("nodes")["items"]:
            conditions = {c["type"]: c["status"] for c in node["status"]["conditions"]}
            addresses = {a["type"]: a["address"] for a in node["status"]["addresses"]}
            if conditions.get("Ready") == "True":
                found[node["metadata"]["name"]] = addresses["InternalIP"]
        return found

    def unit_starts(self, node: str, *units: str) -> dict[str, str]:
        """Unit to the monotonic time it was last started: differs after a restart."""
        text = self.ssh(node, f"systemctl show -p Id -p ActiveEnterTimestampMonotonic {' '.join(units)}")
        blocks = [dict(line.split("=", 1) for line in block.splitlines()) for block in text.strip().split("\n\n")]
        return {block["Id"]: block["ActiveEnterTimestampMonotonic"] for block in blocks}

    def tunnel_bytes(self, node: str) -> dict[str, int]:
        """Peer's public key to bytes received and sent, from WireGuard's own counters."""
        lines = self.ssh(node, "wg show wg0 transfer").split("\n")
        return {key: int(rx) + int(tx) for key, rx, tx in (line.split() for line in lines if line)}

    def lan_address(self, node: str) -> str:
        address: str = next(n["address"] for n in lab_status(self.lab)["nodes"] if n["name"] == node)
        return address
