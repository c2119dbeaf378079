"""A lab from beginning to end: up, down, stop, start. Every step can be repeated after an interruption."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from ipaddress import IPv4Network
from pathlib import Path

from edgectl.errors import EdgectlError, UsageError
from edgectl.lab import footprint, image, inventory, machine, network, nodes, nvidia, podman, record, seed, setup
from edgectl.lab.paths import RUNTIME, SYSTEM, cache_dir, state_dir
from edgectl.lab.progress import Progress
from edgectl.lab.record import Lab, Node
from edgectl.lab.spec import Distribution, NodeSpec

# systemd and a container runtime keep about this many inotify instances open on a node.
INOTIFY_PER_NODE = 20


def up(
    name: str,
    wanted: Sequence[NodeSpec] | None,
    progress: Progress,
    *,
    directory: Path | None = None,
    artifacts: Path | None = None,
    workloads: Sequence[str] = (),
    distribution: Distribution = "kubeadm",
) -> Lab:
    """Bring a lab up: make what is missing, boot what stands still, write the inventory.

    wanted: None leaves an existing lab's nodes as they are. directory: of the inventory, None for the lab's own.
    artifacts: the artifact directory that the inventory names, None for upstream's packages. workloads: whose images it
    has, and distribution, which Kubernetes: so that a later `up` finds them again.
    """
    setup.require()
    existing = record.load(name)
    lab = existing or _new(name, directory)
    specs = [node.spec for node in lab.nodes] if wanted is None else list(wanted)
    _refuse_changes(lab, specs)
    place = Path(lab.inventory)
    if directory and directory.resolve() != place:
        raise UsageError(f"lab {name!r} has its inventory in {place}", fix=f"edgectl lab down --name {name} first")
    inventory.check_directory(place, name)
    _check_inotify(len(specs) - len([state for state in nodes.states(lab).values() if state == "running"]))
    reference = image.build(progress)
    repository = _repository(lab, specs, progress)
    lab.image = lab.image or reference
    lab.workloads = list(workloads)
    lab.distribution = distribution
    addresses = network.node_addresses(IPv4Network(lab.subnet), [spec.name for spec in specs])
    lab.nodes = [Node(spec.name, spec.role, spec.platform, str(addresses[spec.name]), spec.recording) for spec in specs]
    lab.save()
    with progress.phase("nodes"):
        _boot(lab, repository, progress)
    keys = {node.address: nodes.host_keys(lab, node.name) for node in lab.nodes}
    inventory.write(place, inventory.files(lab, machine.traits(), artifacts, keys))
    return lab


def _new(name: str, directory: Path | None) -> Lab:
    if podman.containers(name):
        raise EdgectlError(
            f"there are containers of a lab {name!r} that this user has no record of",
            "another user's lab, or the state directory was deleted",
            f"edgectl lab down --name {name}, or choose another --name",
        )
    taken = network.networks_in_use()
    taken += [IPv4Network(entry["subnets"][0]["subnet"]) for entry in podman.networks()]
    place = (directory or state_dir(name) / "inventory").resolve()
    return Lab(name=name, subnet=str(network.choose_subnet(name, taken)), inventory=str(place))


def _refuse_changes(lab: Lab, specs: list[NodeSpec]) -> None:
    """Nodes may be added at the end; anything else would change what stands."""
    kept = [node.spec for node in lab.nodes]
    if specs[: len(kept)] != kept:
        raise UsageError(
            f"lab {lab.name!r} exists with other nodes",
            "it has " + ", ".join(f"{spec.name} ({spec.role}, {spec.recording or spec.platform})" for spec in kept),
            f"edgectl lab down --name {lab.name}, or list these first and new ones after them",
        )


def _check_inotify(starting: int) -> None:
    left = machine.inotify_instances_left()
    if starting and left is not None and starting * INOTIFY_PER_NODE > left:
        raise EdgectlError(
            f"{starting} more nodes need about {starting * INOTIFY_PER_NODE} inotify instances, and {left} are left",
            "all nodes share the limit fs.inotify.max_user_instances of this machine, which the lab does not change",
            "sudo sysctl fs.inotify.max_user_instances=1024 (lasts until the next boot), or fewer --nodes",
        )


def _repository(lab: Lab, specs: list[NodeSpec], progress: Progress) -> Path | None:
    """The repository of NVIDIA's packages, made where a new node is to have it."""
    standing = nodes.states(lab)
    if any(spec.name not in standing and seed.needs_repository(spec) for spec in specs):
        return nvidia.repositories(nvidia.part().build(progress))
    return None


def _boot(lab: Lab, repository: Path | None, progress: Progress) -> None:
    footprint.note()
    make_key(lab)
    nodes.create_network(lab)
    before = nodes.states(lab)
    for node in lab.nodes:
        if node.name not in before:
            seed.write_seed(lab, node)
            nodes.create(lab, node, repository if seed.needs_repository(node.spec) else None)
    waiting = [node.name for node in lab.nodes if before.get(node.name) != "running"]
    if waiting:
        nodes.start(lab, waiting)
        progress.line(f"booted {', '.join(waiting)}")


def make_key(lab: Lab) -> None:
    """Make the SSH key that opens this lab's nodes."""
    if not lab.private_key.exists():
        comment = f"edgectl-lab-{lab.name}"
        machine.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", lab.private_key])


def down(name: str, progress: Progress, *, purge: bool = False) -> list[str]:
    """Remove a lab and all that it made; the names of what was removed.

    purge: the node images and the artifacts too, which other labs would need again.
    """
    removed = nodes.remove(name)
    lab = record.load(name)
    if lab is not None:
        inventory.remove(Path(lab.inventory), name)
        shutil.rmtree(lab.directory)
        removed.append(str(lab.directory))
    if not podman.containers() and not podman.networks():
        footprint.put_back()
    if purge:
        removed += _purge(progress)
    return removed


def _purge(progress: Progress) -> list[str]:
    if podman.containers():
        progress.line("another lab stands: its image and the artifacts are kept")
        return []
    podman.podman("image", "rm", "--all", "--force")
    # podman mounts its storage onto itself.
    machine.run(["umount", SYSTEM / "storage" / "overlay"], root=True, check=False)
    machine.run(["rm", "-rf", "--one-file-system", SYSTEM, RUNTIME], root=True)
    shutil.rmtree(cache_dir(), ignore_errors=True)
    return [str(SYSTEM), str(cache_dir())]


def stop(lab: Lab, names: Sequence[str]) -> None:
    """Shut nodes down."""
    nodes.stop(lab, [lab.node(name).name for name in names])


def start(lab: Lab, names: Sequence[str]) -> None:
    """Boot nodes that were shut down."""
    nodes.start(lab, [lab.node(name).name for name in names])
