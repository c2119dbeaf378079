"""`edgectl lab`: machines to try edgectl on, without hardware."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import Annotated

import typer

from edgectl.commands import completion
from edgectl.lab import spec

app = typer.Typer(
    help="The built-in lab: machines of containers, to try edgectl on.", no_args_is_help=True, rich_markup_mode=None
)

Name = Annotated[str, typer.Option("--name", help="Which lab; several stand side by side.")]
Node = Annotated[
    str, typer.Argument(help="Name of the node, such as nuc1.", autocompletion=completion.nodes_of_the_lab)
]
Nodes = Annotated[list[str], typer.Argument(help="Names of nodes.", autocompletion=completion.nodes_of_the_lab)]
Workloads = Annotated[
    str | None,
    typer.Option(
        "--workloads",
        metavar="NAMES",
        help="Also the images of these entries of the catalogue, such as jupyterlab,jax; `all` that the lab can make.",
        autocompletion=completion.workloads_of_the_lab,
    ),
]
Distribution = Annotated[
    spec.Distribution | None,
    typer.Option(
        "--distribution",
        help="Which Kubernetes, kubeadm by default. Where k3s' release can't be fetched, a stand-in for it.",
        show_default=False,
    ),
]


@app.command()
def up(
    name: Name = "lab",
    nodes: Annotated[
        str | None,
        typer.Option(
            help=f"NAME[:control_plane][:jetson|:dgpu][:recording=NAME],...  [default: {spec.DEFAULT_NODES}]",
            show_default=False,
        ),
    ] = None,
    directory: Annotated[
        Path | None, typer.Option("--dir", help="Where to write the inventory; the lab's own directory by default.")
    ] = None,
    artifacts: Annotated[
        Path | None, typer.Option(help="A directory that `edgectl lab build` made; built or fetched by default.")
    ] = None,
    no_artifacts: Annotated[
        bool, typer.Option("--no-artifacts", help="Nodes only; Kubernetes comes from upstream's packages.")
    ] = False,
    workloads: Workloads = None,
    distribution: Distribution = None,
) -> None:
    """Boot the machines and write their inventory. Again: changes nothing, or boots what stands still."""
    from edgectl.commands.lab_progress import PhaseLines
    from edgectl.lab import artifacts as artifact_directory
    from edgectl.lab import k3s, lifecycle, record
    from edgectl.lab import setup as lab_setup
    from edgectl.lab import workloads as images

    progress = PhaseLines()
    existing = record.load(spec.parse_name(name))
    wanted = spec.parse_nodes(nodes or spec.DEFAULT_NODES) if nodes or existing is None else None
    entries = images.parse(workloads) if workloads else tuple(existing.workloads) if existing else ()
    kind = distribution or (existing.distribution if existing else "kubeadm")
    lab_setup.require()
    if artifacts is None and not no_artifacts:
        artifacts = artifact_directory.build(progress, entries, kind)
    lab = lifecycle.up(
        name, wanted, progress, directory=directory, artifacts=artifacts, workloads=entries, distribution=kind
    )
    if kind == "k3s" and artifacts:
        typer.echo(f"k3s        {k3s.what(artifacts)}")
    typer.echo(f"inventory  {lab.inventory}")
    typer.echo(f"next       edgectl bootstrap {shlex.quote(lab.inventory)}")


@app.command()
def down(
    name: Name = "lab",
    purge: Annotated[bool, typer.Option("--purge", help="Also remove the node image and the artifacts.")] = False,
) -> None:
    """Remove a lab: its nodes, network, key and inventory. The node image and the artifacts are kept."""
    from edgectl.commands.lab_progress import PhaseLines
    from edgectl.lab import lifecycle

    removed = lifecycle.down(spec.parse_name(name), PhaseLines(), purge=purge)
    for item in removed:
        typer.echo(f"removed  {item}")
    if not removed:
        typer.echo(f"nothing to remove: there is no lab {name!r}")


@app.command()
def status(
    name: Annotated[str | None, typer.Option("--name", help="Only this lab.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
) -> None:
    """Show the labs and their nodes."""
    from edgectl.lab import status as lab_status

    document = lab_status.document(name)
    typer.echo(json.dumps(document, indent=2) if as_json else lab_status.table(document))


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def ssh(context: typer.Context, node: Node, name: Name = "lab") -> None:
    """Log in to a node, or run a command there: `edgectl lab ssh nuc1 -- uptime`."""
    from edgectl.lab import login, record

    command = login.command(record.require(name), node, context.args)
    os.execvp(command[0], command)  # noqa: S606


@app.command()
def stop(nodes: Nodes, name: Name = "lab") -> None:
    """Shut nodes down, as with the power button."""
    from edgectl.lab import lifecycle, record

    lifecycle.stop(record.require(name), nodes)


@app.command()
def start(nodes: Nodes, name: Name = "lab") -> None:
    """Boot nodes that were shut down."""
    from edgectl.lab import lifecycle, record

    lifecycle.start(record.require(name), nodes)


@app.command()
def recordings() -> None:
    """List the recorded hosts that a node can pretend to be: `--nodes nuc1:control_plane,orin2:recording=NAME`."""
    from edgectl.recording import catalogue

    typer.echo(catalogue.table())


@app.command()
def build(workloads: Workloads = None, distribution: Distribution = None) -> None:
    """Fetch or build Kubernetes, NVIDIA's packages and images, and the node image; print where the artifacts are."""
    from edgectl.commands.lab_progress import PhaseLines
    from edgectl.lab import artifacts, image
    from edgectl.lab import setup as lab_setup
    from edgectl.lab import workloads as images

    entries = images.parse(workloads) if workloads else ()
    lab_setup.require()
    progress = PhaseLines()
    image.build(progress)
    typer.echo(artifacts.build(progress, entries, distribution or "kubeadm"))


@app.command()
def setup() -> None:
    """Install the packages that a lab needs on this machine (Debian 12, 13 or Ubuntu 24.04)."""
    from edgectl.commands.lab_progress import PhaseLines
    from edgectl.lab import setup as lab_setup

    lab_setup.install(PhaseLines())
