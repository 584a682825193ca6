"""``privrank aggregate``: one private consensus from rankings."""

from __future__ import annotations

from pathlib import Path

from privrank_jax.cli.aggregate.request import Request
from privrank_jax.cli.console import warn
from privrank_jax.cli.options import command

HELP = (
    "Release a consensus of many rankings under differential privacy.\n\n"
    "Prints the consensus and the guarantee in words: little can be learned about any one user's whole ranking. "
    "The noise comes from the entropy of the operating system. Everything on standard output is "
    "covered by the guarantee; remarks for the holder of the data go to standard error.\n\n"
    "FILE is a table with a column user and one column per item, cells ranks (1 = best, ties equal, blank not ranked; "
    "--higher-is-better or --lower-is-better: ratings); or a table with columns user, item and rank; or columns "
    "user, rank_1, rank_2, ... or user, order (A>B=C or A;B;C), whose cells are items; or a PrefLib file; or a named "
    "data set. A file of synthetic rankings (privrank privatize) is debiased and spends nothing more.\n\n"
    "Examples:\n\n"
    "  privrank aggregate votes.soc --epsilon 1\n\n"
    "  privrank aggregate votes.csv --epsilon 1 --method kwiksort --json\n\n"
    "  privrank aggregate stars.csv --epsilon 1 --user voter --higher-is-better     (ratings)\n\n"
    "  privrank aggregate ballots.csv --epsilon 1 --user none --count votes     (rows that count several times)\n\n"
    "  privrank aggregate coffee-rankings --epsilon 1     (made-up data, to try it)\n\n"
    "  privrank aggregate votes.toi --method none     (the best ranking there is, with a proof)"
)


@command
def aggregate(request: Request) -> None:
    """Release a consensus of many rankings under differential privacy."""
    from privrank_jax.datasets import is_synthetic_rankings_file

    request.check_files(Path(request.source), request.ledger)
    if is_synthetic_rankings_file(request.file):
        from privrank_jax.cli.aggregate.synthetic import aggregate_synthetic

        aggregate_synthetic(request)
        return
    request.check()
    import jax

    from privrank_jax.cli.aggregate.input import read_input
    from privrank_jax.cli.aggregate.methods import release
    from privrank_jax.cli.core.output import print_result
    from privrank_jax.cli.core.saving import finish
    from privrank_jax.cli.core.sources import large_delta
    from privrank_jax.cli.core.spending import begin

    spending = begin("aggregate", request)
    with jax.enable_x64(True):
        data = read_input(request)
        large = large_delta(request.promised, user=data.table.num_users)
        warn(*data.remarks, *large)  # before the budget is spent
        result = spending.spend_for(release(data, request))
    warn(*result.warnings)
    shown = print_result(data.table.item_names, result, as_json=request.json)
    finish(request, "aggregate", shown, spending)
