"""``privrank privatize`` on comparisons: one randomized report for each."""

from __future__ import annotations

import dataclasses
import secrets

import jax
import numpy as np

from privrank_jax import datasets
from privrank_jax.cli.console import Refusal, warn
from privrank_jax.cli.core.checks import check_size
from privrank_jax.cli.core.entropy import Entropy
from privrank_jax.cli.core.mechanisms import Sampled, sample
from privrank_jax.cli.core.randomized import reports_guarantee
from privrank_jax.cli.core.sources import (
    COUNTING,
    check_rare_items,
    given_columns,
    private_remark,
    read_comparisons,
    users_of,
)
from privrank_jax.cli.core.spending import begin
from privrank_jax.cli.privatize.request import Request
from privrank_jax.cli.privatize.summary import Summary, from_to, print_summary
from privrank_jax.datasets import ComparisonTable, ReportTable
from privrank_jax.privacy.guarantee import Guarantee


def privatize_comparisons(request: Request) -> None:
    """Read, draw, write, print."""
    source, named = request.source, request.winner is not None or request.loser is not None
    if not named and datasets.is_report_file(request.file):
        raise Refusal(
            f"{source} holds randomized reports already; rank them by `privrank rank {source}`. Randomizing "
            "them again would only add noise."
        )
    if request.public:
        raise Refusal(
            "--public is for rankings; of comparisons it is always public who compared what."
        )
    spending = begin("privatize", request)
    table = read_comparisons(request.file, request, request.items, by_user=True)
    check_rare_items(table, written=False)
    entropy = Entropy(request)
    with jax.enable_x64(True):
        drawn = randomize(table, _budgets(request, table), request, entropy)
    reports = drawn.value
    note = "the largest epsilon of any comparison, and of all those of any user together."
    guarantee = reports_guarantee(reports, drawn.numerics, request.guarantee_note(note, "answers"))
    revealed = ("ties",) if request.ties == "drop" else ()
    guarantee = guarantee.given(public=revealed, users=users_of(request.file, request.user))
    request.check_out()  # again, as the files may have changed meanwhile
    spending.spend_and_report(guarantee, "randomized response", request.out)
    written = datasets.write_reports(request.out, reports, users=not request.drop_user)
    warn(*drawn.remarks)
    _print(request, reports, guarantee, written, entropy.seed)
    spending.printed()


def _budgets(request: Request, table: ComparisonTable) -> np.ndarray:
    """ε of each comparison, ``(N,)`` float64."""
    if request.epsilon_column is None:
        return np.full(len(table), request.epsilon, np.float64)
    if request.source in datasets.available():
        raise Refusal(
            f"{request.source} is a named data set without budgets: give --epsilon instead of "
            "--epsilon-column."
        )
    if several := given_columns(request, COUNTING):
        raise Refusal(
            f"{', '.join(several)}: a row is several comparisons, and --epsilon-column gives each row an epsilon: give "
            "--epsilon instead."
        )
    budgets = datasets.read_epsilon(request.file, request.epsilon_column)
    check_size(float(budgets.min()))
    if budgets.min() != budgets.max():
        check_size(float(budgets.max()))
    return budgets


def randomize(
    table: ComparisonTable, epsilon: np.ndarray, request: Request, entropy: Entropy
) -> Sampled:
    """Draw one report per comparison; the value is a :class:`~privrank_jax.datasets.ReportTable`."""
    tied, remarks = table.tied, ()
    keep = np.ones(len(table), bool)
    if table.ties:
        keep, remarks = _ties(table, request)
    bits = table.winners < table.losers
    bits = np.where(tied, _coins(len(table), entropy), bits)[keep]
    drawn = sample("randomized-response", request, entropy, bits, epsilon[keep])
    found = ReportTable(
        users=table.users[keep],
        first=np.minimum(table.winners, table.losers)[keep],
        second=np.maximum(table.winners, table.losers)[keep],
        reports=np.asarray(drawn.value),
        epsilon=epsilon[keep],
        item_names=table.item_names,
        user_names=table.user_names,
        name=table.name,
    )
    return dataclasses.replace(drawn, value=found, remarks=(*remarks, *drawn.remarks))


def _ties(table: ComparisonTable, request: Request) -> tuple[np.ndarray, tuple[str, ...]]:
    """Select the comparisons to keep; the remark with the number of ties is private and must not be shared."""
    count = f"{table.ties} of {len(table)} comparisons are ties"
    if request.ties == "refuse":
        raise Refusal(
            f"{count}, and a report is a yes or a no. --ties coin lets a fair coin decide each tie before it "
            "is randomized: ties stay as protected as answers, and count half on average. --ties drop leaves "
            "them out, which shows everyone who knows the questions that they were ties."
        )
    if request.ties == "coin":
        return np.ones(len(table), bool), private_remark(f"{count}; a fair coin decided each.")
    if table.ties == len(table):
        raise Refusal("all comparisons are ties: --ties drop would leave nothing.")
    remark = f"{count}, and were left out: anyone who knows the questions sees which. --ties coin protects them."
    return ~table.tied, private_remark(remark)


def _coins(count: int, entropy: Entropy) -> np.ndarray:
    """Draw fair coins, ``(N,)`` bool, from the operating system except in a rehearsal."""
    if entropy.seed is not None:
        return np.asarray(jax.random.bernoulli(entropy.key(), 0.5, (count,)))
    drawn = np.frombuffer(secrets.token_bytes(-(-count // 8)), np.uint8)
    return np.unpackbits(drawn, count=count).astype(bool)


def _print(
    request: Request,
    reports: ReportTable,
    guarantee: Guarantee,
    written: tuple[str, ...],
    seed: int | None,
) -> None:
    notes = [
        "who compared which items, and at which epsilon, is taken as public; "
        + ("the file keeps the users" if "user" in written else "the file leaves the users out"),
        "the rows are sorted, so their order reveals nothing",
    ]
    if not reports.has_users:
        notes.append("the data name no users: a user with several comparisons spends their sum")
    told = from_to(float(reports.epsilon.min()), reports.largest_epsilon)
    epsilons = [("epsilon of a comparison", told)]
    whole = reports.largest_epsilon_of_a_user
    if whole is not None:
        epsilons.append(("epsilon of a user, all comparisons, at most", f"{whole:g}"))
    summary = Summary(
        data=reports.name,
        names=written,
        counts={"reports": len(reports), "users": reports.num_users, "items": reports.num_items},
        epsilons=epsilons,
        guarantee=guarantee,
        notes=notes,
        seed=seed,
        follow=f"Next: privrank rank {request.out}",
    )
    print_summary(request, summary)
