"""``privrank plan``: users, budget or error of a survey, of scores or of a consensus, before there are data.

Its options are the arguments of :func:`privrank_jax.plan`, whose docstring says what they are.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import typing
from typing import Annotated

import typer

from privrank_jax.cli.console import Refusal, busy, print_json, print_paragraphs, print_table, warn
from privrank_jax.cli.options import command, option
from privrank_jax.cli.request import PICTURES, Saved
from privrank_jax.cli.spelling import options_of
from privrank_jax.jobs.plan import plan as solve

HELP = (
    "Plan a survey, scores, a consensus or points: how many users, which epsilon, or what error. Uses no data.\n\n"
    "Give two of --epsilon, --target and --users to get the third; all three tell how many more users it takes. The "
    "release itself is simulated in a crowd of the model, and every number has the standard error of that. --error "
    "says what the target is about. Unless --trust says otherwise, users randomize their own answers, and epsilon "
    "counts for one answer; with --trust central a curator publishes scores, as privrank rank does, and epsilon counts "
    "for a user, as with --rankings and --points. What is proven of rankings stands beside it.\n\n"
    "Examples:\n\n"
    "  privrank plan --items 10 --epsilon 1 --target 0.1\n\n"
    "  privrank plan --items 10 --epsilon 1 --share-observed 0.5 --users 500\n\n"
    "  privrank plan --items 10 --epsilon 1 --target 0.1 --trust shuffled --delta 1e-8     (one answer per user)\n\n"
    "  privrank plan --trust central --items 30 --epsilon 1 --max-per-user 10 --target 0.02 --error pairs\n\n"
    "  privrank plan --rankings --items 10 --epsilon 1 --target 0.5 --out plan.csv\n\n"
    "  privrank plan --points 0-1 --items 11 --epsilon 1 --target 0.02"
)


def _fields() -> list[tuple[str, typing.Any, typing.Any]]:
    """Each argument of the library as an option, with what the library says of it."""
    hints, said = typing.get_type_hints(solve), inspect.getdoc(solve) or ""
    found = []
    for name, parameter in inspect.signature(solve).parameters.items():
        words = re.search(rf"^    {name}: (.*?)(?=^    \w|^\n)", said, re.MULTILINE | re.DOTALL)
        text = " ".join(words[1].split()) if words else ""
        text = options_of(re.sub(r"``\"?(.*?)\"?``", r"`\1`", text)).replace("`", "")
        flag, metavar = (
            [option(name)] * (hints[name] is bool),
            "TEXT" * ("str" in str(hints[name])),
        )
        info = typer.Option(*flag, metavar=metavar or None, help=text[:1].upper() + text[1:])
        found.append((name, Annotated[hints[name], info], parameter.default))
    return found


_Options = dataclasses.make_dataclass(
    "_Options", _fields(), bases=(Saved,), frozen=True, kw_only=True
)


class Design(_Options):
    """A survey to plan: the options of one run."""


@command
def plan(design: Design) -> None:
    """Plan a survey, or a consensus of rankings: how many users, which epsilon, or what error to expect."""
    design.check_files()
    if any(path.suffix.lower() in PICTURES for path in design.files.values()):
        raise Refusal("a plan has no picture: give --out a table, such as plan.csv.")
    names = [name for name in design.names() if name not in ("out", "plot", "json")]
    with busy("planning"):
        found = solve(**{name: getattr(design, name) for name in names})
    if design.json:
        print_json(found.to_dict())
    else:
        print_paragraphs(options_of(found.opening))
        print_table(options_of(found.title), found.columns, zip(*found.columns.values()))
        print_paragraphs(*map(options_of, found.paragraphs))
    if design.files:
        from privrank_jax.cli.show import write_table

        for path in design.files.values():
            write_table(path, found.rows, found.to_dict(), ())
    warn(*found.warnings)
