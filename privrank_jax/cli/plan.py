"""``privrank plan``: users, budget or error of a survey, of scores or of a consensus, before there are data.

Its options are the arguments of :func:`privrank_jax.plan`, whose docstring says what they are.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from privrank_jax.cli.console import Refusal, busy, print_json, print_paragraphs, print_table, warn
from privrank_jax.cli.options import command, taken
from privrank_jax.cli.request import PICTURES, Saved
from privrank_jax.cli.spelling import options_of

_Asked: Any = taken("jobs.plan:plan")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Design(_Asked, Saved):
    """A survey to plan: the options of one run."""


@command
def plan(design: Design) -> None:
    """Plan a survey, scores, a consensus or points: how many users, which epsilon, or what error. Uses no data.

    Give two of --epsilon, --target and --users to get the third; all three tell how many more users it takes. The
    release itself is simulated in a crowd of the model, and every number has the standard error of that. Unless --trust
    says otherwise, users randomize their own answers, and epsilon counts for one answer; with --trust central a curator
    publishes scores, and epsilon counts for a user, as with --rankings and --points. Examples:
        privrank plan --items 10 --epsilon 1 --target 0.1
        privrank plan --items 10 --epsilon 1 --share-observed 0.5 --users 500
        privrank plan --items 10 --epsilon 1 --target 0.1 --trust shuffled --delta 1e-8     (one answer per user)
        privrank plan --trust central --items 30 --epsilon 1 --max-per-user 10 --target 0.02 --error pairs
        privrank plan --rankings --items 10 --epsilon 1 --target 0.5 --out plan.csv
        privrank plan --points 0-1 --items 11 --epsilon 1 --target 0.02
    """
    from privrank_jax.jobs.plan import plan as solve

    design.check_files()
    if any(path.suffix.lower() in PICTURES for path in design.files.values()):
        raise Refusal("a plan has no picture: give --out a table, such as plan.csv.")
    names = [field.name for field in dataclasses.fields(_Asked) if field.metadata]
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
