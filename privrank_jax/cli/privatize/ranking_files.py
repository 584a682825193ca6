"""``privrank privatize`` on rankings: synthetic rankings, drawn from the Mallows model around each user's own.

Ties are broken by a random order of all items, drawn for each user. Two weak orders that agree after an item is removed
become, under the same random order, rankings that agree after it is removed; so the guarantee for rankings carries over
to the mixture, and a tie is as protected as an order.
"""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

from privrank_jax import datasets, mallows
from privrank_jax._cells.columns import spelled_in, without
from privrank_jax._cells.metadata import is_metadata
from privrank_jax._cells.names import form
from privrank_jax._cells.order_shapes import order_columns
from privrank_jax._cells.outcomes import advice_on_outcomes
from privrank_jax._cells.pair_shapes import shape_of
from privrank_jax._cells.ranking_shapes import SYNTHETIC, check_shape
from privrank_jax._cells.ranks import cells_note
from privrank_jax._cells.text_files import File
from privrank_jax._neighbors import OWN
from privrank_jax._types import Key
from privrank_jax.cli.console import Refusal, warn
from privrank_jax.cli.core.checks import check_size
from privrank_jax.cli.core.entropy import Entropy
from privrank_jax.cli.core.mechanisms import Sampled, sample
from privrank_jax.cli.core.randomized import rankings_guarantee
from privrank_jax.cli.core.request import KINDS_OF_CELLS
from privrank_jax.cli.core.sources import (
    COMPARING,
    RANKING,
    check_rare_items,
    found_columns,
    given_columns,
    named_column,
    private_remark,
    read_rankings,
    users_of,
)
from privrank_jax.cli.core.spending import begin
from privrank_jax.cli.privatize.request import Request
from privrank_jax.cli.privatize.summary import Summary, from_to, print_summary
from privrank_jax.datasets.formats import open_source, read_header
from privrank_jax.datasets.kamishima import SUFFIX as KAMISHIMA
from privrank_jax.datasets.preflib import SUFFIXES
from privrank_jax.datasets.rankings_file import read_ranks
from privrank_jax.datasets.synthetic_file import check_item_names
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.release.entropy import random_words


def holds_rankings(request: Request) -> bool:
    """Whether FILE holds rankings rather than comparisons, by its name, the options, its columns and its first row.

    Raises:
        Refusal: options of the other kind, or a file that looks like neither.
    """
    source = request.source
    comparing = given_columns(request, COMPARING)
    ranking = given_columns(request, (*RANKING, *KINDS_OF_CELLS))
    path = request.file
    known, wrong, what = None, [], ""
    if source in datasets.available_rankings() or path.suffix in (*SUFFIXES, KAMISHIMA):
        known, wrong, what = True, comparing, "rankings"
    elif source in datasets.available() or (ranking and comparing):
        known, wrong, what = False, ranking, "comparisons"
    if known is not None:
        if wrong:
            raise Refusal(f"{source} holds {what}, as far as known: leave out {', '.join(wrong)}.")
        return known
    if ranking or comparing:
        return bool(ranking)
    header = without(path.name, read_header(path), request.ignore or ())
    count = spelled_in(header, request.count)
    header = [column for column in header if column != count]
    if SYNTHETIC in header:
        return True
    forms = set(map(form, header))
    if {"winner", "loser", "report", "item_1"} & forms or shape_of(path.name, header):
        return False
    user = spelled_in(header, _user(request))
    if {"item", "rank"} <= forms or order_columns(path.name, header, user, None, None):
        return True
    if not header:
        return False
    others = (user, spelled_in(header, request.epsilon_column))
    why = _not_wide(path, [c for c in header if c not in others and not is_metadata(c)])
    if why:
        named = "" if user in header else " --user COLUMN names the column that says who ranked."
        advice, arguments = advice_on_outcomes(header)
        raise datasets.DataError(
            f"{path.name} has no column 'winner' or 'loser', as comparisons have (--winner, --loser name yours). Nor "
            f"are these rankings, a column of ranks for each item: {why}.{named}{advice}",
            *arguments,
        )
    return True


def _not_wide(path: File, columns: list[str]) -> str:
    """Why this is not a table of rankings, else "": cells are ranks 1 to m or blank; the first row with one decides."""
    if len(columns) < 2:
        return f"there is one column of items, {columns[0]!r}" if columns else "no column is left"
    try:
        check_shape(path.name, columns)
        source = open_source(path, {column: column for column in columns}, "ranking")
        for row in source.rows:
            ranks = read_ranks(row[source.positions[column]] for column in columns)
            if max(ranks) >= len(columns):
                return (
                    f"there is a rank {max(ranks) + 1} of {len(columns)} items (--higher-is-better and "
                    "--lower-is-better take ratings, --ranks ranks, whatever they look like)"
                )
            if max(ranks) >= 0:
                return ""
    except datasets.DataError as error:
        return str(error)
    return "no row has a rank"


def privatize_rankings(request: Request) -> None:
    """Read, draw, write, print."""
    if request.ties == "drop":
        raise Refusal(
            "--ties drop is for comparisons. In rankings --ties coin puts tied items into a random order before "
            "the ranking is randomized: ties stay as protected as orders."
        )
    if datasets.is_synthetic_rankings_file(request.file):
        raise Refusal(
            f"{request.source} holds synthetic rankings already; privrank aggregate {request.source} makes one of "
            "them. Randomizing them again would only add noise."
        )
    spending = begin("privatize", request)
    table, epsilon = _read(request)
    check_rare_items(table, written=True)
    _check_gaps(table, request)
    check_item_names(request.out, table.item_names)
    entropy = Entropy(request)
    with jax.enable_x64(True):
        drawn = randomize_rankings(table, epsilon, request, entropy)
        rankings = drawn.value
        budgets = () if request.epsilon_column is None else ("budgets",)
        promised = rankings_guarantee(
            rankings, drawn.numerics, request.guarantee_note("the largest of any user.", "orders")
        ).given(public=budgets, users=users_of(request.file, request.user, request.count))
    promised = _of_whole_users(promised, table, request)
    request.check_out()  # again, as the files may have changed meanwhile
    spending.spend_and_report(promised, "mallows", request.out)
    written = datasets.write_synthetic_rankings(request.out, rankings, users=not request.drop_user)
    warn(*drawn.remarks)
    _print(request, rankings, promised, written, entropy.seed)
    spending.printed()


def _check_gaps(table: datasets.RankingTable, request: Request) -> None:
    """Refuse partial rankings unless it is public which items a user ranked: a synthetic ranking shows them."""
    if table.complete or request.public:
        return
    partial = int(np.sum(np.any(table.ranks < 0, axis=1)))
    raise Refusal(
        f"{partial:,} of {table.num_users:,} users did not rank all items, and a synthetic ranking shows which its "
        "user ranked. If that is public anyway, as where each user was given a list of items to order, say --public "
        "ranked-items: the guarantee then holds for the order of those items only. Otherwise have all users rank "
        "the same items."
    )


def _of_whole_users(
    promised: Guarantee, table: datasets.RankingTable, request: Request
) -> Guarantee:
    """The guarantee, which for whole users takes as public what the file shows of them whatever is drawn.

    That is who took part, where it keeps users or omits those who ranked nothing, and the items, where they were read
    off the rankings; which items each user ranked says these too. A rank that changes leaves both as they are.
    """
    keeps_users = bool(table.user_names) and not request.drop_user
    shown = {*table.public, *("participation",) * keeps_users}
    if "ranked-items" in promised.public:
        shown.discard("items")
    also = tuple(other.given(public=shown) for other in promised.also)
    return dataclasses.replace(promised, also=also)


def _user(request: Request) -> str | None:
    """Column of users, None for none."""
    return named_column(request.user or None, "user")


def _read(request: Request) -> tuple[datasets.RankingTable, np.ndarray]:
    """Read the rankings and the ε of each user, ``(n,)`` float64."""
    source, column = request.file, request.epsilon_column
    header = read_header(source)
    if column is not None and users_of(source, None) == OWN:
        raise Refusal(
            f"{source} has no columns of budgets: give --epsilon instead of --epsilon-column."
        )
    if column is not None and request.count is not None:
        raise Refusal(
            "--count makes several rankings of a row, and --epsilon-column gives each row an epsilon: leave out one of "
            "the two."
        )
    table = read_rankings(source, request, request.items, found_columns(source, column))
    if column is None:
        return table, np.full(table.num_users, request.epsilon, np.float64)
    forms = set(map(form, header))
    if request.item or request.rank or {"item", "rank"} <= forms:
        budgets = datasets.read_user_epsilon(source, column, _user(request) or "user")
    else:
        budgets = datasets.read_epsilon(source, column)
    for budget in {float(budgets.min()), float(budgets.max())}:
        check_size(budget)
    return table, budgets


def randomize_rankings(
    table: datasets.RankingTable, epsilon: np.ndarray, request: Request, entropy: Entropy
) -> Sampled:
    """Draw one synthetic ranking per user; the value is a :class:`~privrank_jax.datasets.SyntheticRankings`."""
    ranks, remarks = table.ranks, ()
    if table.tied:
        ordered = np.sort(ranks, axis=1)
        tied = np.any((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0), axis=1)
        count = f"{np.sum(tied):,} of {table.num_users:,} users rank some items equal"
        if request.ties == "refuse":
            raise Refusal(
                f"{count}, and a synthetic ranking has no ties. --ties coin puts them into a random order before "
                "the ranking is randomized: ties stay as protected as orders."
            )
        ranks = _untied(ranks, entropy)
        remarks = private_remark(f"{count}; these were put into a random order.")
    drawn = sample("mallows-sample", request, entropy, ranks, epsilon)
    found = datasets.SyntheticRankings(dataclasses.replace(table, ranks=drawn.value), epsilon)
    return dataclasses.replace(drawn, value=found, remarks=(*remarks, *drawn.remarks))


def simulated_mallows(key: Key, ranks: np.ndarray, epsilon: np.ndarray) -> np.ndarray:
    """Draw one ranking for each user; the simulated twin of :func:`privrank_jax.release.exact_mallows`."""
    keys = jax.random.split(key, len(ranks))
    return np.asarray(jax.vmap(mallows.sample)(keys, ranks, jnp.asarray(epsilon)))


def _untied(ranks: np.ndarray, entropy: Entropy) -> np.ndarray:
    """Break ties in the ranks by a random order, uniform and independent for each user."""
    if entropy.seed is not None:
        coins = np.asarray(jax.random.uniform(entropy.key(), ranks.shape))
    else:
        # Two of m words are equal with probability below m²/2^65, and then the first item comes first.
        coins = random_words(ranks.size).reshape(ranks.shape)
    order = np.lexsort((coins, ranks), axis=1)
    found = np.empty_like(ranks)
    np.put_along_axis(found, order, np.arange(ranks.shape[1], dtype=ranks.dtype)[None], axis=1)
    # Unranked items (-1) sort first.
    return np.where(ranks < 0, ranks, found - np.sum(ranks < 0, axis=1, keepdims=True))


def _print(
    request: Request,
    rankings: datasets.SyntheticRankings,
    promised: Guarantee,
    written: tuple[str, ...],
    seed: int | None,
) -> None:
    table, epsilon = rankings.table, rankings.epsilon
    notes = [
        "the file keeps the users" if "user" in written else "the file leaves the users out",
        "the rows are sorted, so their order reveals nothing",
    ]
    said = cells_note(request.cells)
    notes += [note for note in table.notes if note == said or "names no users" in note]
    command = f"privrank aggregate {request.out}"
    command += "" if "user" in written else " --user none"
    command += " --missing unknown" if table.missing == "unknown" else ""
    told = from_to(float(epsilon.min()), float(epsilon.max()))
    summary = Summary(
        data=table.name,
        names=written,
        most_names=6,
        heading="synthetic",
        counts={"rankings": table.num_users, "items": table.num_items},
        epsilons=[
            ("epsilon of a rank", told),
            ("epsilon of a whole ranking, at most", f"{promised.also[0].epsilon:g}"),
        ],
        guarantee=promised,
        notes=notes,
        seed=seed,
        follow=f"Next: {command}",
    )
    print_summary(request, summary)
