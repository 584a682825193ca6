"""``privrank rank``: comparisons to a private ranking."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privrank_jax.cli.console import warn
from privrank_jax.cli.options import command
from privrank_jax.cli.rank.request import Request

if TYPE_CHECKING:
    from privrank_jax.cli.core.result import Result

HELP = (
    "Rank items by pairwise comparisons, under differential privacy.\n\n"
    "Prints the ranking, with intervals, and the guarantee in words. The noise comes from the entropy of the "
    "operating system. Everything on standard output is covered by the guarantee; remarks for the holder of "
    "the data go to standard error.\n\n"
    "Examples:\n\n"
    "  privrank rank votes.csv --epsilon 1 --max-per-user 10\n\n"
    "  privrank rank votes.csv --epsilon 1 --max-per-user 10 --adjacency flip --json\n\n"
    "  privrank rank votes.csv --epsilon 1 --noise gaussian --delta 1e-6\n\n"
    "  privrank rank coffee --epsilon 1                     (made-up data, to try it)\n\n"
    "  privrank rank private.csv     (reports that privrank privatize wrote: no epsilon, nothing more is spent)\n\n"
    "  privrank leaderboard votes.csv --every day ...     (a ranking a day, from a file that grows)\n\n"
    "  privrank rank games.csv --epsilon 1 --unit comparison --adjacency flip --ties davidson\n\n"
    "  privrank rank choices.csv --epsilon 1 --max-per-user 5 --adjacency flip     (columns user, chosen, "
    "shown, such as A|B|C)\n\n"
    "  privrank rank ballots.csv --epsilon 1 --max-per-user 6     (columns user, rank_1, rank_2, ...: broken into "
    "pairs)\n\n"
    "  privrank rank games.csv --epsilon 1 --unit comparison --user none --left home --right away --left-score goals_h "
    "--right-score goals_a     (or --left-wins --right-wins, --count)\n\n"
    "  privrank rank votes.csv --method none"
)


@command
def rank(request: Request) -> None:
    """Rank items by pairwise comparisons, under differential privacy."""
    from privrank_jax.datasets import is_report_file

    request.check_files(Path(request.source), request.ledger)
    if request.winner is None and request.loser is None and is_report_file(request.file):
        from privrank_jax.cli.rank.reports import rank_reports

        rank_reports(request)
        return
    request.check()
    import jax

    from privrank_jax.cli.rank.choice_sets import holds_choices

    choosing = holds_choices(request)
    from privrank_jax.cli.core.output import print_result
    from privrank_jax.cli.core.saving import finish
    from privrank_jax.cli.core.sources import large_delta
    from privrank_jax.cli.core.spending import begin

    read, fit = _ways(request, choosing)
    spending = begin("rank", request)
    with jax.enable_x64(True):
        data = read(request)
        large = large_delta(request.promised, user=data.table.num_users, comparison=len(data.table))
        warn(*data.remarks, *large)  # before the budget is spent
        result = spending.spend_for(fit(data, request))
    warn(*result.warnings)
    names, level, top_k = data.table.item_names, request.level, request.top_k
    shown = print_result(names, result, level=level, top_k=top_k, as_json=request.json)
    finish(request, "rank", shown, spending)


def _ways(
    request: Request, choosing: bool
) -> tuple[Callable[[Request], Any], Callable[[Any, Request], Result]]:
    """How the data of this form are read, and how they are ranked."""
    if choosing:
        from privrank_jax.cli.rank.choice_sets import fit_choices, read_choices

        return read_choices, fit_choices
    if request.with_covariates:
        from privrank_jax.cli.rank.with_covariates import fit_covariates, read_with_covariates

        return read_with_covariates, fit_covariates
    from privrank_jax.cli.rank.input import read_input
    from privrank_jax.cli.rank.methods import release

    return read_input, release
