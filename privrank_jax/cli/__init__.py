"""The command line, ``privrank``. Nothing here imports JAX before a command runs, so that ``--help`` is instant.

To add a command, write its options as a dataclass and its function in a new module (import JAX inside the function),
make it a :func:`~privrank_jax.cli.options.command`, and name it below.
"""

from __future__ import annotations

import importlib
from typing import Annotated

import typer

from privrank_jax import __version__

app = typer.Typer(
    name="privrank",
    no_args_is_help=True,
    pretty_exceptions_enable=False,  # pretty tracebacks can show local variables, that is, private data
    context_settings={"help_option_names": ["-h", "--help"]},
)
_COMMANDS = ("look", "rank", "leaderboard", "aggregate", "privatize", "ledger", "demo", "reproduce")
for _name in (*_COMMANDS, "plan", "audit"):
    app.command(_name)(getattr(importlib.import_module(f"privrank_jax.cli.{_name}"), _name))


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"privrank {__version__}")
        raise typer.Exit


_VERSION = typer.Option("--version", callback=_print_version, is_eager=True, help="Its version.")


@app.callback(epilog="Example:  privrank rank coffee --epsilon 1")
def main(version: Annotated[bool, _VERSION] = False) -> None:
    """Differentially private rankings from pairwise comparisons and from rankings."""
