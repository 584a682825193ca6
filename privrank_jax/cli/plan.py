"""``privrank plan``: users, budget or error of a survey, of scores or of a consensus, before there are data."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any

import typer

from privrank_jax.cli.console import Side, busy, print_json, print_paragraphs, print_table, warn
from privrank_jax.cli.options import command
from privrank_jax.cli.request import Saved

HELP = (
    "Plan a survey, scores, a consensus or points: how many users, which epsilon, or what error. Uses no data.\n\n"
    "Give two of --epsilon, --target and --users to get the third; all three tell how many more users it takes. The "
    "release itself is simulated in a crowd of the model, and every number has the standard error of that. --error "
    "says what the target is about. Unless --trust says otherwise, users randomize their own answers, and epsilon "
    "counts for one answer; with --trust central a curator publishes scores, as privrank rank does, and epsilon counts "
    "for a user, as with --rankings, --points and --labels. What is proven of rankings stands beside it.\n\n"
    "Examples:\n\n"
    "  privrank plan --items 10 --epsilon 1 --target 0.1\n\n"
    "  privrank plan --items 10 --epsilon 1 --epsilon-max 3 --share-observed 0.5 --users 500\n\n"
    "  privrank plan --items 10 --users 2000 --target 0.1 --json\n\n"
    "  privrank plan --items 10 --epsilon 1 --target 0.1 --trust shuffled --delta 1e-8     (one answer per user)\n\n"
    "  privrank plan --trust central --items 30 --epsilon 1 --max-per-user 10 --target 0.02 --error pairs\n\n"
    "  privrank plan --trust central --items 30 --epsilon 1 --max-per-user 10 --target 0.05 --error first --top-k 3\n\n"
    "  privrank plan --rankings --items 10 --epsilon 1 --target 0.5 --plot plan.png\n\n"
    "  privrank plan --rankings --items 10 --epsilon 1 --target 0.3 --error place --rule copeland\n\n"
    "  privrank plan --points 0-1 --items 11 --epsilon 1 --target 0.02\n\n"
    "  privrank plan --labels --users 10000 --epsilon 1 --max-per-user 5"
)


def _option(name: str, help: str) -> Any:
    """An option, by its metavar, or a flag."""
    if name.startswith("--"):
        return typer.Option(name, help=help)
    return typer.Option(metavar=name, help=help)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Design(Saved):
    """A survey to plan: the options of one run."""

    items: Annotated[int | None, _option("M", "Number of items; of labels none.")] = None
    rankings: Annotated[
        bool, _option("--rankings",
            "Plan a consensus of whole rankings, one per user.")
    ] = False  # fmt: skip
    points: Annotated[
        str | None, _option("SCALE",
            "Plan totals of points on this scale, such as 0-5, as of privrank aggregate --method scores; 0-1 for "
            "approvals.")
    ] = None  # fmt: skip
    limit: Annotated[
        int | None, _option("K",
            "With --points: the most items that a user may give points to.")
    ] = None  # fmt: skip
    labels: Annotated[
        bool, _option("--labels",
            "Plan preference labels for training, --max-per-user of each user, as of privrank privatize; --target is "
            "as how many labels without privacy they are to count.")
    ] = False  # fmt: skip
    epsilon: Annotated[
        float | None, _option("FLOAT",
            "Privacy budget of one answer, with --epsilon-max the smallest of them; of a user with --rankings, "
            "--points, --labels, --trust central or --trust shuffled.")
    ] = None  # fmt: skip
    epsilon_max: Annotated[
        float | None, _option("FLOAT",
            "Users choose budgets evenly between --epsilon and this.")
    ] = None  # fmt: skip
    target: Annotated[
        float | None, _option("A",
            "Error wanted, see --error; with --labels the number of labels without privacy that say as much.")
    ] = None  # fmt: skip
    users: Annotated[int | None, _option("N", "Number of users.")] = None
    share_observed: Annotated[float, _option("P", "Share of all pairs that a user is asked.")] = 1.0
    spread: Annotated[
        float, _option("S",
            "Scores to plan for, evenly from -S to S. At 1 the best of them beats the worst 88 times of 100 "
            "(logistic).")
    ] = 1.0  # fmt: skip
    link: Annotated[str, _option("NAME", "Model: logistic, normal or laplace.")] = "logistic"
    confidence: Annotated[
        float | None, _option("Q",
            "The error must stay below --target with this probability. Default: on average; 0.95 for the largest "
            "error of --points.")
    ] = None  # fmt: skip
    trust: Annotated[
        str | None, _option("NAME",
            "local (each user randomizes the answers), shuffled (each user answers one question, and a shuffler "
            "hides who sent which answer; needs --delta) or central (a curator sees all answers; the default with "
            "--rankings; of comparisons it plans the scores of privrank rank, and needs --max-per-user).")
    ] = None  # fmt: skip
    delta: Annotated[float, _option("D", "Of shuffled reports, or of Gaussian noise.")] = 0.0
    question: Annotated[
        str, _option("NAME",
            "Shuffled comparisons: secret (each user draws one of the pairs, and nobody else learns which) or public "
            "(it is known who answers for which pair, equally many for each).")
    ] = "secret"  # fmt: skip
    method: Annotated[
        str | None, _option("NAME",
            "With --rankings: a method of privrank aggregate. Default: weights, or borda where users randomize.")
    ] = None  # fmt: skip
    max_per_user: Annotated[
        int | None, _option("L",
            "With --trust central: comparisons of each user, as for privrank rank.")
    ] = None  # fmt: skip
    adjacency: Annotated[
        str, _option("NAME",
            "With --trust central, --rankings or --points: replace, or add-remove (the number of users is private); "
            "of --trust central flip too.")
    ] = "replace"  # fmt: skip
    exposure: Annotated[
        float, _option("POWER",
            "With --trust central: items are shown in proportion to 1/rank^POWER, 0 equally often.")
    ] = 0.0  # fmt: skip
    near: Annotated[
        bool, _option("--near",
            "With --trust central: opponents are near in strength, else random.")
    ] = False  # fmt: skip
    ties: Annotated[
        float, _option("P",
            "With --trust central: share of ties between equal items; they are fitted.")
    ] = 0.0  # fmt: skip
    steps: Annotated[
        int | None, _option("T",
            "With --trust central: a leaderboard after each of T steps; errors are those of the last.")
    ] = None  # fmt: skip
    error: Annotated[
        str | None, _option("NAME",
            "What --target is: largest (error of a score, or of mean points by the noise), pairs (share in the wrong "
            "order), first (chance that the first --top-k items are not in the right order), place (mean error) or, "
            "with --rankings, cost (pairs per user above the best order). Default: cost, else largest.")
    ] = None  # fmt: skip
    top_k: Annotated[
        int | None, _option("K",
            "Of --error first: how many items; 3 by default.")
    ] = None  # fmt: skip
    rule: Annotated[
        str | None, _option("NAME",
            "With --rankings: the rule that orders the private weights, as of privrank aggregate --rule.")
    ] = None  # fmt: skip
    draws: Annotated[int, _option("N", "Simulated releases.")] = 500
    seed: Annotated[int, _option("N", "Of the simulation.")] = 0
    optimum: Annotated[
        float | None, _option("K",
            "With --rankings: the best order costs at most K pairs per user, as is publicly known. Default: nothing "
            "is known.")
    ] = None  # fmt: skip


@command
def plan(design: Design) -> None:
    """Plan a survey, or a consensus of rankings: how many users, which epsilon, or what error to expect."""
    design.check_files()
    names = [name for name in design.names() if name not in ("out", "plot", "json")]
    with busy("planning") as advance:
        from privrank_jax.jobs.plan import plan as solve

        found = solve(**{name: getattr(design, name) for name in names}, progress=advance)
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
