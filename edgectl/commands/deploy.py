"""`edgectl deploy`: a workload of the catalogue on a node that it fits, proved by an answer."""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from edgectl.commands import completion, options

NameArgument = Annotated[
    str, typer.Argument(help="Which workload (`edgectl catalog`).", autocompletion=completion.workloads)
]
Namespace = Annotated[str, typer.Option("--namespace", "-n", help="Where it runs; made where it is not there.")]


def deploy(
    name: NameArgument,
    inventory: options.InventoryArgument = options.DEFAULT_INVENTORY,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A parameter of the workload; repeatable."),
    ] = None,
    node: Annotated[str, typer.Option(help="Only this node.", autocompletion=completion.hosts)] = "",
    platform: Annotated[str, typer.Option(help="Only nodes of this platform: jetson, dgpu or cpu.")] = "",
    namespace: Namespace = "workloads",
    cpu: Annotated[bool, typer.Option("--cpu", help="Run it without a GPU, though it wants one.")] = False,
    storage_class: Annotated[
        str,
        typer.Option(metavar="CLASS", help="Keep its data in a volume of this class, not in a directory of the node."),
    ] = "",
    replicas: Annotated[
        int, typer.Option(min=1, help="How many of it, all on one node; only of what keeps no data of its own.")
    ] = 1,
    expose: Annotated[
        str, typer.Option(metavar="nodeport|ingress=HOST", help="Let it be reached from outside the cluster.")
    ] = "",
    plan: Annotated[bool, typer.Option("--plan", help="Only say what would be made, and where.")] = False,
    wait: Annotated[
        bool, typer.Option("--wait/--no-wait", help="Wait until it is ready, and ask it something.")
    ] = True,
    json: options.Json = False,
    plain: options.Plain = False,
    accept_new_host_keys: options.AcceptNewHostKeys = False,
    ask_become_pass: options.AskBecomePass = False,
    vault_password_file: options.VaultPasswordFile = None,
    extra_vars: options.ExtraVars = None,
    verbose: options.Verbose = False,
) -> None:
    """Run a workload of the catalogue on a node that it fits, and ask it something.

    Picks the node and the image for its platform, asks for the GPU and for the memory that it needs, and refuses what
    does not fit before anything is made. Again: changes nothing. Without --expose it is reached within the cluster
    only, also when it was exposed before.
    """
    from edgectl.cluster.remote import Login
    from edgectl.cluster.session import Request, open_session
    from edgectl.cluster.verb import carry_out
    from edgectl.commands.running import Show, renderer_for, say_stopping, show_end
    from edgectl.output import workloads as output
    from edgectl.output.dialog import terminal_dialog
    from edgectl.workloads import catalogue, passwords, request

    workload = catalogue.choose(name)
    wish = request.Wish(node, platform, namespace, cpu, storage_class, wait, replicas, expose)
    variables = request.variables(workload, catalogue.settings(set_ or ()), wish)
    words = ["deploy", name, *request.words(set_ or (), wish)]
    session = open_session(
        Request(
            inventory,
            shlex.join(["edgectl", *words, str(inventory)]),
            accept_new_host_keys=accept_new_host_keys,
            ask_become_password=ask_become_pass,
            vault_password_file=vault_password_file,
        ),
        terminal_dialog(wanted=not json),
    )
    request.known_node(session.inventory, node)
    renderer = renderer_for(session, "deploy", Show(json=json, plain=plain, verbose=verbose))
    outcome = carry_out(
        "deploy", session, renderer, limited=False, extra_vars=variables, arguments=tuple(extra_vars or ()),
        repeat=shlex.join(words), check=plan, on_cancel=say_stopping,
    )  # fmt: skip
    # A document may be kept by whoever asked for it: no password is in it.
    told = () if json or plan else outcome.result.summary.get("workloads", ())
    login = Login(shlex.join(["edgectl", *words]), become_password=session.secrets.become_password)
    shown = passwords.made(session.inventory, login, told)
    show_end(
        renderer, lambda: output.deployed_document(outcome),
        lambda: output.deployed_lines(outcome, workload, plan=plan, passwords=shown),
    )  # fmt: skip
    raise typer.Exit(int(output.exit_code(outcome, plan=plan)))
