"""`edgectl run`: any image as a pod with a GPU, with the tag for the node's release."""

from __future__ import annotations

import shlex
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from edgectl.commands import completion, options
from edgectl.commands.deploy import Namespace

if TYPE_CHECKING:
    from edgectl.cluster.session import Session

Image = Annotated[
    str,
    typer.Argument(
        metavar="IMAGE", help="Such as dustynv/pytorch (the tag for the board's release is found) or NAME:TAG."
    ),
]
Command = Annotated[
    list[str] | None, typer.Argument(metavar="[-- COMMAND...]", help="What runs instead of the image's own command.")
]


def run(
    image: Image,
    command: Command = None,
    inventory: options.InventoryOption = options.DEFAULT_INVENTORY,
    job: Annotated[bool, typer.Option("--job", help="Run it to its end, and tell its exit code.")] = False,
    schedule: Annotated[str, typer.Option(metavar="CRON", help='As a job by this schedule, such as "0 3 * * *".')] = "",
    interactive: Annotated[bool, typer.Option("--interactive", "-it", help="With your terminal in it.")] = False,
    rm: Annotated[bool, typer.Option("--rm", help="Delete it when it has ended; with --job or -it.")] = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="With a Service on this port.", show_default=False)] = 0,
    gpu: Annotated[int, typer.Option(min=1, help="How many GPUs it gets.")] = 1,
    cpu: Annotated[bool, typer.Option("--cpu", help="It gets none.")] = False,
    memory: Annotated[str, typer.Option(metavar="SIZE", help="How much memory is counted for it.")] = "1Gi",
    env: Annotated[list[str] | None, typer.Option("--env", metavar="KEY=VALUE", help="Repeatable.")] = None,
    volume: Annotated[
        list[str] | None,
        typer.Option("--volume", metavar="NAME:/PATH", help="Data of this name is kept, and is there; repeatable."),
    ] = None,
    name: Annotated[str, typer.Option(help="By default that of the image.", show_default=False)] = "",
    node: Annotated[str, typer.Option(help="Only this node.", autocompletion=completion.hosts)] = "",
    platform: Annotated[str, typer.Option(help="Only nodes of this platform: jetson, dgpu or cpu.")] = "",
    namespace: Namespace = "workloads",
    timeout: Annotated[
        int, typer.Option(min=1, metavar="SECONDS", help="A job: how long it may take. Others: to start.")
    ] = 3600,
    plan: Annotated[bool, typer.Option("--plan", help="Only say what would be made, and where.")] = False,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until it runs; of a job, has ended.")] = True,
    json: options.Json = False,
    plain: options.Plain = False,
    accept_new_host_keys: options.AcceptNewHostKeys = False,
    ask_become_pass: options.AskBecomePass = False,
    vault_password_file: options.VaultPasswordFile = None,
    extra_vars: options.ExtraVars = None,
    verbose: options.Verbose = False,
) -> None:
    """Run an image on a node that it fits: as a pod that stays, as a job, by a schedule, or with your terminal.

    Node, GPU and memory are judged as `edgectl deploy` does. Without a tag, an image of jetson-containers gets the one
    for the node's release of Jetson Linux. `edgectl undeploy NAME` takes it away.
    """
    import yaml

    from edgectl.cluster.session import Request, open_session
    from edgectl.cluster.verb import carry_out
    from edgectl.commands.running import Show, renderer_for, say_stopping, show_end
    from edgectl.output import summary
    from edgectl.output import workloads as output
    from edgectl.output.dialog import terminal_dialog
    from edgectl.workloads import adhoc, catalogue, request

    kind = request.kind_of_run(job=job, schedule=schedule, interactive=interactive, port=port, rm=rm, plan=plan)
    request.terminal_for(kind, there=sys.stdin.isatty() and sys.stdout.isatty(), json=json, plan=plan)
    ask = adhoc.Ask(
        kind, name, command or (), env or (), volume or (), memory, 0 if cpu else gpu, port, schedule, timeout,
        300 if rm and kind == "job" else 0,
    )  # fmt: skip
    workload = adhoc.workload(image, ask, list(catalogue.read()))
    wish = request.Wish(node, platform, namespace, False, "", wait or kind == "shell")
    variables = request.variables(workload, {}, wish)
    words = adhoc.words(image, ask, wish, rm=rm)
    session = open_session(
        Request(
            inventory,
            summary.repeated(words, inventory),
            accept_new_host_keys=accept_new_host_keys,
            ask_become_password=ask_become_pass,
            vault_password_file=vault_password_file,
        ),
        terminal_dialog(wanted=not json),
    )
    request.known_node(session.inventory, node)
    renderer = renderer_for(session, "deploy", Show(json=json, plain=plain, verbose=verbose))
    with tempfile.TemporaryDirectory() as directory:
        # In a file: texts of a user's command must not be taken for templates.
        file = Path(directory) / "workload.yml"
        file.write_text(yaml.safe_dump(dict(workload.data)))
        outcome = carry_out(
            "deploy", session, renderer, limited=False, extra_vars={**variables, "workload_file": str(file)},
            arguments=tuple(extra_vars or ()), repeat=shlex.join(words), check=plan, on_cancel=say_stopping,
        )  # fmt: skip
    show_end(
        renderer, lambda: output.deployed_document(outcome), lambda: output.deployed_lines(outcome, workload, plan=plan)
    )
    code = int(output.exit_code(outcome, plan=plan))
    ready = (outcome.result.summary.get("workload") or {}).get("ready") or {}
    if kind == "shell" and not plan and code == 0 and ready.get("exit_code") is None:
        code = _attach(session, workload.name, namespace, rm=rm)
    raise typer.Exit(code)


def _attach(session: Session, name: str, namespace: str, *, rm: bool) -> int:
    """The user's terminal in the pod, until its shell ends. Returns kubectl's exit code."""
    from edgectl.cluster import kubectl

    inside = ["--namespace", namespace]
    code = kubectl.run(session.inventory, ["attach", "--stdin", "--tty", *inside, f"pod/{name}"])
    if rm:
        kubectl.run(session.inventory, ["delete", "pod", name, *inside, "--wait=false"])
    return code
