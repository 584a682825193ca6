"""``privrank plan``: users, budget or error of a survey, of scores or of a consensus, before there are data."""

from __future__ import annotations

import dataclasses
from typing import Annotated

import typer

from privrank_jax.cli.console import Side, busy, print_json, print_paragraphs, print_table, warn
from privrank_jax.cli.options import command
from privrank_jax.cli.request import Saved

HELP = (
    "Plan a survey, or a consensus of rankings: how many users, which epsilon, or what error to expect.\n\n"
    "Users randomize their own answers: each compares pairs of items and flips each answer with probability "
    "1/(1 + e^epsilon) before sending it, so that epsilon counts for one answer. Give two of --epsilon, --target and "
    "--users to get the third; all three tell how many more users the target takes. With --trust central a curator "
    "publishes scores, as privrank rank does, and epsilon counts for a user. With --rankings each user has a "
    "whole ranking, a curator collects them, epsilon counts for a user, and every method of privrank aggregate is "
    "listed with the error that is proven, whatever the users prefer, and the one to expect. Uses no data.\n\n"
    "Examples:\n\n"
    "  privrank plan --items 10 --epsilon 1 --target 0.1\n\n"
    "  privrank plan --items 10 --epsilon 1 --epsilon-max 3 --share-observed 0.5 --users 500\n\n"
    "  privrank plan --items 10 --users 2000 --target 0.1 --json\n\n"
    "  privrank plan --items 10 --epsilon 1 --target 0.1 --trust shuffled --delta 1e-8     (one answer per user)\n\n"
    "  privrank plan --trust central --items 30 --epsilon 1 --max-per-user 10 --target 0.02 --error pairs\n\n"
    "  privrank plan --rankings --items 10 --users 1000 --epsilon 1 --plot plan.png\n\n"
    "  privrank plan --rankings --items 10 --epsilon 1 --target 0.5 --method weights --confidence 0.95\n\n"
    "  privrank plan --rankings --rule copeland --items 10 --epsilon 1 --target 0.1\n\n"
    "  privrank plan --points 0-1 --items 11 --epsilon 1 --target 0.02\n\n"
    "  privrank plan --labels --users 10000 --epsilon 1 --max-per-user 5"
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Design(Saved):
    """A survey to plan: the options of one run."""

    items: Annotated[
        int | None, typer.Option(metavar="M", help="Number of items; of labels none.")
    ] = None
    rankings: Annotated[
        bool, typer.Option("--rankings", help="Plan a consensus of whole rankings, one per user.")
    ] = False
    points: Annotated[
        str | None,
        typer.Option(
            metavar="SCALE",
            help="Plan totals of points on this scale, such as 0-5, as of privrank aggregate --method scores; 0-1 for "
            "approvals.",
        ),
    ] = None
    limit: Annotated[
        int | None,
        typer.Option(
            metavar="K", help="With --points: the most items that a user may give points to."
        ),
    ] = None
    labels: Annotated[
        bool,
        typer.Option(
            "--labels",
            help="Plan preference labels for training, --max-per-user of each user, as of privrank privatize; --target "
            "is as how many labels without privacy they are to count.",
        ),
    ] = False
    epsilon: Annotated[
        float | None,
        typer.Option(
            help="Privacy budget of one answer, with --epsilon-max the smallest of them; of a user with --rankings, "
            "--points, --labels, --trust central or --trust shuffled."
        ),
    ] = None
    epsilon_max: Annotated[
        float | None,
        typer.Option(help="Users choose budgets evenly between --epsilon and this."),
    ] = None
    target: Annotated[
        float | None,
        typer.Option(
            metavar="A",
            help="Error wanted: largest error of a score, in units of scores; with --rankings the pairs per user that "
            "the consensus may cost above the best one.",
        ),
    ] = None
    users: Annotated[int | None, typer.Option(metavar="N", help="Number of users.")] = None
    share_observed: Annotated[
        float, typer.Option(metavar="P", help="Share of all pairs that a user is asked.")
    ] = 1.0
    spread: Annotated[
        float,
        typer.Option(
            metavar="S",
            help="Scores to plan for, evenly from -S to S. At 1 the best of them beats the worst "
            "88 times of 100 (logistic).",
        ),
    ] = 1.0
    link: Annotated[
        str, typer.Option(metavar="NAME", help="Model: logistic, normal or laplace.")
    ] = "logistic"
    confidence: Annotated[
        float | None,
        typer.Option(
            metavar="Q",
            help="The error must stay below --target with this probability; with --rankings the proven one. Default: "
            "on average.",
        ),
    ] = None
    trust: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="local (each user randomizes the answers), shuffled (each user answers one question, and a shuffler "
            "hides who sent which answer; needs --delta) or central (a curator sees all answers; the default with "
            "--rankings; of comparisons it plans the scores of privrank rank, and needs --max-per-user).",
        ),
    ] = None
    delta: Annotated[
        float, typer.Option(metavar="D", help="Of shuffled reports, or of Gaussian noise.")
    ] = 0.0
    question: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Shuffled comparisons: secret (each user draws one of the pairs, and nobody else learns which) or "
            "public (it is known who answers for which pair, equally many for each).",
        ),
    ] = "secret"
    method: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="With --rankings: plan for one method only, as of privrank aggregate.",
        ),
    ] = None
    max_per_user: Annotated[
        int | None,
        typer.Option(
            metavar="L",
            help="With --trust central: comparisons of each user, as for privrank rank.",
        ),
    ] = None
    adjacency: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="With --trust central, --rankings or --points: replace, or add-remove (the number of users is "
            "private); of --trust central flip too.",
        ),
    ] = "replace"
    exposure: Annotated[
        float,
        typer.Option(
            metavar="POWER",
            help="With --trust central: items are shown in proportion to 1/rank^POWER, 0 equally often.",
        ),
    ] = 0.0
    near: Annotated[
        bool,
        typer.Option(
            "--near", help="With --trust central: opponents are near in strength, else random."
        ),
    ] = False
    error: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="With --trust central, what --target is: largest (error of a score) or pairs (share of pairs in the "
            "wrong order).",
        ),
    ] = "largest"
    rule: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="With --rankings: plan the majorities that private weights tell, as privrank aggregate --rule ranks "
            "by them; --target is the least lead of a majority, a share of users, that must surely be told.",
        ),
    ] = None
    optimum: Annotated[
        float | None,
        typer.Option(
            metavar="K",
            help="With --rankings: the best order costs at most K pairs per user, as is publicly known. Default: "
            "nothing is known.",
        ),
    ] = None


@command
def plan(design: Design) -> None:
    """Plan a survey, or a consensus of rankings: how many users, which epsilon, or what error to expect."""
    design.check_files()
    names = [name for name in design.names() if name not in ("out", "plot", "json")]
    with busy("planning"):
        from privrank_jax.jobs.plan import plan as solve

        found = solve(**{name: getattr(design, name) for name in names})
    if design.json:
        print_json(found.to_dict())
    else:
        heads: list[tuple[str, Side]] = [
            (name, "right" if number else "left") for number, name in enumerate(found.columns)
        ]
        print_paragraphs(found.opening)
        print_table(found.title, heads, list(zip(*found.columns.values())))
        print_paragraphs(*found.paragraphs)
    if design.files:
        from privrank_jax.cli.show import write_file

        for path in design.files.values():
            write_file(found, path)
    warn(*found.warnings)
