"""Nodes as podman containers: make, boot, stop, remove, and say when they are up."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from ipaddress import IPv4Network
from pathlib import Path

from edgectl import content
from edgectl.errors import EdgectlError
from edgectl.lab.machine import write_as_root
from edgectl.lab.network import bridge_name, mac_address
from edgectl.lab.nvidia import MOUNT
from edgectl.lab.paths import SYSTEM
from edgectl.lab.podman import CGROUP_PARENT, LABEL, containers, networks, podman, volumes
from edgectl.lab.record import Lab, Node

BOOT_TIMEOUT = 90.0
STOP_TIMEOUT = 20


def create_network(lab: Lab) -> None:
    """Make the lab's network. No name service: machines on a plain LAN do not know each other's names either."""
    if any(network["name"] == lab.network for network in networks(lab.name)):
        return
    podman(
        "network",
        "create",
        f"--subnet={lab.subnet}",
        f"--gateway={IPv4Network(lab.subnet)[1]}",
        "--disable-dns",
        f"--label={LABEL}={lab.name}",
        lab.network,
    )
    _rename_bridge(lab)


def _rename_bridge(lab: Lab) -> None:
    # podman 4.3 has no option for the bridge's name, and would take one that the user's own podman thinks is free.
    path = SYSTEM / "networks" / f"{lab.network}.json"
    lines = path.read_text().splitlines()
    for index, line in enumerate(lines):
        if '"network_interface"' in line:
            lines[index] = f'     "network_interface": "{bridge_name(lab.name)}",'
    write_as_root(path, "\n".join(lines) + "\n")


def create_arguments(lab: Lab, node: Node, repository: Path | None = None) -> list[str]:
    """podman's arguments for a container that boots systemd like a machine.

    repository: the packages that the node finds where its list of apt sources says.

    `--systemd=false`: on cgroup v1 podman's own systemd mode lets a hierarchy out of the cgroup namespace, and kubelet
    then looks for its cgroups at the machine's paths. `--no-hosts`: /etc/hosts belongs to the node, over reboots too.
    seccomp: even root on a node must not switch the machine's swap off.
    `--restart=on-failure`: a reboot from inside ends a container with an exit code that is not 0.
    """
    mounts = [f"--volume={volume}:{path}" for volume, path in lab.volumes(node.name).items()]
    if repository:
        mounts.append(f"--volume={repository}:{MOUNT}:ro")
    return [
        "create",
        f"--name={lab.container(node.name)}",
        f"--hostname={node.name}",
        f"--label={LABEL}={lab.name}",
        f"--label={LABEL}.node={node.name}",
        "--privileged",
        f"--security-opt=seccomp={content.root() / 'lab' / 'node' / 'seccomp.json'}",
        "--cgroupns=private",
        f"--cgroup-parent={CGROUP_PARENT}",
        "--systemd=false",
        "--env=container=podman",
        "--tmpfs=/run",
        "--tmpfs=/run/lock",
        "--stop-signal=SIGRTMIN+3",
        f"--stop-timeout={STOP_TIMEOUT}",
        "--restart=on-failure",
        f"--network={lab.network}",
        f"--ip={node.address}",
        f"--mac-address={mac_address(lab.name, node.name)}",
        "--no-hosts",
        "--pull=never",
        *mounts,
        f"--volume={lab.seed(node.name)}:/var/lib/edgectl-lab/seed:ro",
        lab.image,
        "/usr/local/lib/edgectl-lab/init",
    ]


def create(lab: Lab, node: Node, repository: Path | None = None) -> None:
    """Make a node's volumes and container; it does not run yet. repository: as for `create_arguments`."""
    for volume in lab.volumes(node.name):
        podman("volume", "create", f"--label={LABEL}={lab.name}", volume)
    podman(*create_arguments(lab, node, repository))


def states(lab: Lab) -> dict[str, str]:
    """State of each container of the lab by node: `running`, `exited`, `created`."""
    return {entry["Labels"][f"{LABEL}.node"]: str(entry["State"]) for entry in containers(lab.name)}


def start(lab: Lab, names: Iterable[str]) -> None:
    """Boot nodes, all at once, and wait until each is up."""
    wanted = list(names)
    podman("start", *(lab.container(name) for name in wanted))
    _on_all(wanted, lambda name: wait_until_up(lab, name))


def stop(lab: Lab, names: Iterable[str]) -> None:
    """Shut nodes down, all at once, as a power button would."""
    _on_all(list(names), lambda name: podman("stop", f"--time={STOP_TIMEOUT}", lab.container(name)))


def wait_until_up(lab: Lab, name: str) -> None:
    """Wait until systemd has booted and the SSH server runs."""
    deadline = time.monotonic() + BOOT_TIMEOUT
    said = ""
    while time.monotonic() < deadline:
        booted = podman("exec", lab.container(name), "systemctl", "is-system-running", "--wait", check=False)
        said = (booted.stdout + booted.stderr).strip()
        if said in ("running", "degraded"):
            listening = podman("exec", lab.container(name), "systemctl", "is-active", "ssh.service", check=False)
            if listening.stdout.strip() == "active":
                return
            said += ", ssh.service " + listening.stdout.strip()
        time.sleep(0.5)
    failed = podman("exec", lab.container(name), "systemctl", "--failed", "--no-legend", "--plain", check=False)
    raise EdgectlError(
        f"node {name} did not boot within {BOOT_TIMEOUT:.0f} s",
        f"systemd says: {said or 'nothing'}; failed units: {failed.stdout.strip() or 'none'}",
        f"edgectl lab down --name {lab.name}, then edgectl lab up --name {lab.name}",
    )


def host_keys(lab: Lab, name: str) -> list[str]:
    """The node's public host keys, read inside the container and not over the network."""
    done = podman("exec", lab.container(name), "sh", "-c", "cat /etc/ssh/ssh_host_*_key.pub")
    return [" ".join(line.split()[:2]) for line in done.stdout.splitlines() if line]


def remove(lab_name: str) -> list[str]:
    """Remove all containers, volumes and the network of a lab; the names of what was removed.

    Goes by podman's labels, so that it also works for a lab whose record is lost or half written.
    """
    removed = []
    boxes = [str(entry["Names"][0]) for entry in containers(lab_name)]
    if boxes:
        # On a busy machine podman loses a race with a container that ends by itself; the second time it is stopped.
        first = podman("rm", "--force", "--time=2", *boxes, check=False)
        if first.returncode != 0:
            podman("rm", "--force", "--ignore", "--time=2", *boxes)
        removed += boxes
    kept = [str(entry["Name"]) for entry in volumes(lab_name)]
    if kept:
        podman("volume", "rm", *kept)
        removed += kept
    nets = [str(entry["name"]) for entry in networks(lab_name)]
    if nets:
        podman("network", "rm", *nets)
        removed += nets
    return removed


def _on_all(names: list[str], action: Callable[[str], object]) -> None:
    with ThreadPoolExecutor(max_workers=8) as pool:
        for future in [pool.submit(action, name) for name in names]:
            future.result()
