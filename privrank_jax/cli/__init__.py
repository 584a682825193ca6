"""The command line, ``privrank``. Nothing here imports JAX before a command runs, so that ``--help`` is instant.

To add a command, write its options as a dataclass and its function in a new module (import JAX inside the function),
make it a :func:`~privrank_jax.cli.options.command`, and register it below.
"""

from __future__ import annotations

from typing import Annotated

import typer

from privrank_jax import __version__
from privrank_jax.cli.aggregate import HELP as AGGREGATE_HELP
from privrank_jax.cli.aggregate import aggregate as aggregate_command
from privrank_jax.cli.audit import HELP as AUDIT_HELP
from privrank_jax.cli.audit import audit as audit_command
from privrank_jax.cli.demo import HELP as DEMO_HELP
from privrank_jax.cli.demo import demo as demo_command
from privrank_jax.cli.leaderboard import HELP as LEADERBOARD_HELP
from privrank_jax.cli.leaderboard import leaderboard as leaderboard_command
from privrank_jax.cli.ledger import HELP as LEDGER_HELP
from privrank_jax.cli.ledger import ledger as ledger_command
from privrank_jax.cli.look import HELP as LOOK_HELP
from privrank_jax.cli.look import look as look_command
from privrank_jax.cli.plan import HELP as PLAN_HELP
from privrank_jax.cli.plan import plan as plan_command
from privrank_jax.cli.privatize import HELP as PRIVATIZE_HELP
from privrank_jax.cli.privatize import privatize as privatize_command
from privrank_jax.cli.rank import HELP as RANK_HELP
from privrank_jax.cli.rank import rank as rank_command
from privrank_jax.cli.reproduce import HELP as REPRODUCE_HELP
from privrank_jax.cli.reproduce import reproduce as reproduce_command

app = typer.Typer(
    name="privrank",
    no_args_is_help=True,
    pretty_exceptions_enable=False,  # pretty tracebacks can show local variables, that is, private data
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("look", help=LOOK_HELP)(look_command)
app.command("rank", help=RANK_HELP)(rank_command)
app.command("leaderboard", help=LEADERBOARD_HELP)(leaderboard_command)
app.command("aggregate", help=AGGREGATE_HELP)(aggregate_command)
app.command("privatize", help=PRIVATIZE_HELP)(privatize_command)
app.command("ledger", help=LEDGER_HELP)(ledger_command)
app.command("demo", help=DEMO_HELP)(demo_command)
app.command("reproduce", help=REPRODUCE_HELP)(reproduce_command)
app.command("plan", help=PLAN_HELP)(plan_command)
app.command("audit", help=AUDIT_HELP)(audit_command)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"privrank {__version__}")
        raise typer.Exit


@app.callback(epilog="Example:  privrank rank coffee --epsilon 1")
def main(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Differentially private rankings from pairwise comparisons and from rankings."""
