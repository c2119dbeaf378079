"""The Typer app and the one error boundary. Each verb lives in `edgectl/commands/`."""

from __future__ import annotations

import io
import os
import shutil
import sys

import typer

from edgectl import __version__
from edgectl.commands import (
    bootstrap,
    catalog,
    compat,
    config,
    deploy,
    env,
    fetch,
    init,
    kubeconfig,
    kubectl,
    lab,
    lock,
    logs,
    open,
    peer,
    plan,
    probe,
    reset,
    run,
    schema,
    top,
    undeploy,
    validate,
    verify,
)
from edgectl.errors import EdgectlError
from edgectl.exitcodes import ExitCode
from edgectl.output import errors

HELP = """Turn NUCs and Jetson boards into one Kubernetes cluster over WireGuard.

Start with `edgectl lab up` to try it without hardware, or with `edgectl init` and `edgectl bootstrap` on your own
machines.
"""

EPILOG = (
    "Exit codes: 0 done, 1 a run failed, 2 usage or invalid inventory, 3 changes pending, "
    "4 unreachable hosts, 5 unhealthy, 130 interrupted."
)

app = typer.Typer(
    name="edgectl",
    help=HELP,
    epilog=EPILOG,
    no_args_is_help=True,
    # Help in panels imports so much of Rich that it doubles the time `edgectl --help` takes.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"edgectl {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(False, "--version", help="Print the version.", is_eager=True, callback=_print_version),
) -> None:
    pass


app.command(name="init")(init.init)
app.command(name="validate")(validate.validate)
app.command(name="lock")(lock.lock)
app.command(name="fetch")(fetch.fetch)
app.command(name="bootstrap")(bootstrap.bootstrap)
app.command(name="plan")(plan.plan)
app.add_typer(verify.app, name="verify")
app.command(name="catalog")(catalog.catalog)
app.command(name="deploy")(deploy.deploy)
app.command(name="open")(open.open_)
app.command(name="logs")(logs.logs)
app.command(name="run")(run.run)
app.command(name="undeploy")(undeploy.undeploy)
app.command(name="probe")(probe.probe)
app.command(name="top")(top.top)
app.command(name="compat")(compat.compat)
app.command(name="kubectl", context_settings=kubectl.CONTEXT_SETTINGS)(kubectl.kubectl)
app.command(name="kubeconfig")(kubeconfig.kubeconfig)
app.add_typer(peer.app, name="peer")
app.command(name="reset")(reset.reset)
app.add_typer(lab.app, name="lab")
app.add_typer(config.app, name="config")
app.command(name="schema")(schema.schema)
app.command(name="env")(env.env)

# The list of commands shows whole sentences; left to itself it cuts them at the terminal's edge.
for _command in (
    *app.registered_commands,
    *lab.app.registered_commands,
    *peer.app.registered_commands,
    *config.app.registered_commands,
    *verify.app.registered_commands,
):
    _command.short_help = ((_command.callback and _command.callback.__doc__) or "").strip().partition("\n")[0]


def show_error(error: EdgectlError) -> None:
    """Print an error to stderr, in the terminal's width and with colours where there is one."""
    terminal = sys.stderr.isatty()
    width = shutil.get_terminal_size().columns if terminal else None
    for line in errors.lines(error, colour=terminal and "NO_COLOR" not in os.environ, width=width):
        print(line, file=sys.stderr)


def main() -> None:
    """Run the app; every error leaves through here with its exit code and without a traceback."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A host may say what the locale's encoding lacks; a question mark is better than no summary at all.
        sys.stdout.reconfigure(errors="replace")
    try:
        app()
    except EdgectlError as error:
        show_error(error)
        sys.exit(int(error.code))
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(int(ExitCode.INTERRUPTED))
    except BrokenPipeError:
        # The reader (head, less) has gone; say nothing and let Python's own flush find nothing to write to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(int(ExitCode.OK))
