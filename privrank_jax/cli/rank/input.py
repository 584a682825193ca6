"""From the FILE argument to win counts with a known sensitivity."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import numpy as np

from privrank_jax import datasets
from privrank_jax._cells.columns import spelled_in, without
from privrank_jax._cells.errors import DataError
from privrank_jax._cells.order_shapes import lists_orders
from privrank_jax._counting import count_on_host, count_ties
from privrank_jax._host.evaluate import quickly
from privrank_jax._promise import Privacy
from privrank_jax.cli.console import Refusal
from privrank_jax.cli.core.checks import check_items
from privrank_jax.cli.core.entropy import Entropy
from privrank_jax.cli.core.sources import (
    COMPARING,
    ComparisonRoles,
    check_rare_items,
    comparison_roles,
    comparisons_in_engine,
    given_columns,
    private_remark,
    read_comparisons,
    say_reading,
    shape_roles,
    users_of,
    words,
)
from privrank_jax.cli.rank.request import Request
from privrank_jax.comparisons import WinCounts, bound_contributions
from privrank_jax.datasets.formats import read_header
from privrank_jax.pairwise import (
    bounded_weights,
    questionnaire_counts,
    questionnaire_sensitivity,
    totals_sensitivity,
)
from privrank_jax.release import exact_bound
from privrank_jax.release.contributions import capped_rows
from privrank_jax.tables import ComparisonRows, scan_comparisons

MAX_ITEMS = 10_000
_UNEQUAL = (
    2  # times as often as another item: beyond it an item's total says little of how good it is
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Input:
    """Comparisons, ready to be ranked.

    Attributes:
        table: as the loader read it; of a Parquet file the rows in the engine, which holds them.
        wins: win counts of the comparisons that were kept.
        remarks: remarks for the holder of the data; not covered by the guarantee.
        weights: ``(N,)``, what each comparison counts; None: all count once.
    """

    table: datasets.ComparisonTable | ComparisonRows
    wins: WinCounts
    remarks: tuple[str, ...]
    weights: np.ndarray | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes of the loader: only the form of a file, public facts of a named data set."""
        return notes_on(self.table)


@dataclasses.dataclass(frozen=True, kw_only=True)
class PrivateInput(Input):
    """The same, ready for a private release.

    Attributes:
        entropy: source of keys.
        privacy: what is promised, with L, what is public and what a user is.
        noise: the noise.
        questionnaire: for K-norm noise: ``(m, m)``, how often each user is asked each pair.
        design: the same where scores are fitted to it, as who compared what is private.
        sensitivity: for other noise on win totals: their sensitivity to one unit, ℓ₁ for Laplace noise, ℓ₂ for Gaussian
            noise.
        per_item: most that one unit can move the total of one item.
    """

    entropy: Entropy
    privacy: Privacy
    noise: str
    questionnaire: np.ndarray | None
    design: np.ndarray | None
    sensitivity: float | None
    per_item: float


def read_input(request: Request) -> Input:
    """Read, bound the contributions of users, and work out the sensitivity."""
    by_user = request.unit == "user" and request.private
    table, unread = (
        (_read_table(request, by_user=by_user), ())
        if request.private
        else _read_with_users(request)
    )
    check_items(table.name, table.num_items, MAX_ITEMS, request.top_k)
    entropy = Entropy(request)
    remarks = private_remark(*table.remarks)
    weights = _weights(table, request)
    if not request.private:
        wins = _count(table, None, entropy, weights)[0]
        return Input(table=table, wins=wins, remarks=(*remarks, *unread), weights=weights)
    check_rare_items(table, written=False)
    privacy = request.privacy
    limit, most = None, 1
    if by_user:
        most = user_limit(table, request)
        privacy = dataclasses.replace(privacy, contributions=most)
        over = table.comparisons_per_user > most or request.max_per_item is not None
        limit = most if over else None
    wins, kept = _count(table, limit, entropy, weights, request.max_per_item)
    if request.method in ("counts", "one-shot"):
        remarks += private_remark(*_unequal_exposure(wins))
    if limit is not None and kept < len(table):
        remarks += _left_out(len(table), kept, limit, per_item=request.max_per_item)
    noise, asked = _noise(table, request, privacy)
    design = None
    if table.questionnaire is not None and request.fits_questionnaire:
        design = questionnaire_counts(table.questionnaire, table.num_items)
    questionnaire, sensitivity, per_item, public = None, None, 0.0, table.public
    in_objective = request.mechanism in ("perturbed-mle", "perturbed-davidson")
    if asked is None and (not in_objective or design is not None):
        sensitivity, per_item, public = _sensitivity(table, request, privacy, noise)
    elif asked is not None:
        questionnaire = questionnaire_counts(asked, table.num_items)
        public = (*table.public, "questionnaire")
        privacy = dataclasses.replace(privacy, contributions=min(most, len(asked)))
    users = users_of(request.file, request.user, request.count) if by_user else ""
    privacy = privacy.given(public=public, users=users)
    return PrivateInput(
        table=table,
        wins=wins,
        remarks=remarks,
        entropy=entropy,
        privacy=privacy,
        noise=noise,
        questionnaire=questionnaire,
        design=design,
        sensitivity=sensitivity,
        per_item=per_item,
        weights=weights,
    )


def _read_with_users(
    request: Request,
) -> tuple[datasets.ComparisonTable | ComparisonRows, tuple[str, ...]]:
    """Without privacy users are read where a file has a column of them, for errors that are clustered by user.

    Returns:
        The rows, and a remark where the column can't be used.
    """
    header = without(request.file.name, read_header(request.file), request.ignore or ())
    has_column = spelled_in(header, "user") in header
    if request.user is not None or request.ties == "davidson" or not has_column:
        return _read_table(request, by_user=False), ()
    try:
        return _read_table(request, by_user=True), ()
    except DataError as error:
        table = _read_table(request, by_user=False)  # fails too, unless users are what is wrong
        return table, (f"users are not read, and each comparison counts as independent: {error}",)


def _unequal_exposure(wins: WinCounts) -> tuple[str, ...]:
    """A remark where win totals would order items by how often they were compared."""
    matrix = np.asarray(wins.matrix)
    compared = matrix.sum(0) + matrix.sum(1)
    least, most = compared.min(), compared.max()
    if most < _UNEQUAL * least:
        return ()
    return (
        f"items were compared {least:,.0f} to {most:,.0f} times, and win totals follow that more than how good items "
        "are: --method scores publishes fitted scores instead.",
    )


def _read_table(request: Request, *, by_user: bool) -> datasets.ComparisonTable | ComparisonRows:
    """Read a file or a named data set; a Parquet file stays in the engine, and rankings are broken into pairs."""
    roles = comparison_roles(request, request.items, by_user=by_user)
    if reads_orders(request, roles["user"]):
        if request.weight is not None:
            raise Refusal("--weight is for comparisons, not for rankings: leave it out.")
        rankings = datasets.read_rankings(
            request.file,
            user=roles["user"],
            items=roles["items"],
            ignore=roles["ignore"],
            blank=words(request.blank),
            order_separator=request.order_separator,
            count=request.count,
        )
        if request.private:
            check_rare_items(rankings, written=True)
        table = datasets.broken_rankings(rankings)
        say_reading(table, listed=request.items is not None)
        return table
    for given, of in ((request.blank, "--blank"), (request.order_separator, "--order-separator")):
        if given:
            raise Refusal(
                f"{of} is for cells of orders (rank_1, rank_2, ...; order), which {request.source} has none of: leave "
                "it out."
            )
    if request.weight is not None:
        return _with_weights(request, roles)
    if request.max_per_item is None and comparisons_in_engine(request.file, request, roles):
        rows = scan_comparisons(request.file.path, most_items=MAX_ITEMS, **roles)
        say_reading(rows, listed=request.items is not None)
        return rows
    return read_comparisons(request.file, request, request.items, by_user=by_user)


def _with_weights(request: Request, roles: ComparisonRoles) -> datasets.ComparisonTable:
    """Comparisons with weights, which are held in memory."""
    if request.source in datasets.available():
        raise Refusal(f"{request.source} is a named data set without weights: leave out --weight.")
    shape, weight = shape_roles(request), request.weights[0]
    table = datasets.read_comparisons(
        request.file, count=request.count, weight=weight, **shape, **roles
    )
    say_reading(table, listed=request.items is not None)
    return table


def reads_orders(request: Request, user: str | None) -> bool:
    """Whether FILE holds rankings as orders, by its header, which are broken into pairs."""
    header = without(request.file.name, read_header(request.file), request.ignore or ())
    return not given_columns(request, COMPARING) and lists_orders(header, user)


def notes_on(
    table: datasets.ComparisonTable | ComparisonRows | datasets.ChoiceTable,
) -> tuple[str, ...]:
    """Notes of the loader but that no users are named, where each comparison is protected by itself."""
    if table.has_users:
        return table.notes
    return tuple(note for note in table.notes if "names no users" not in note)


def bounded(
    table: datasets.ComparisonTable | datasets.ChoiceTable,
    request: Request,
    entropy: Entropy,
    what: str = "comparisons",
) -> tuple[Privacy, np.ndarray | None, tuple[str, ...]]:
    """The promise for users of at most L rows, the rows that stay (None: all), and a remark on the others.

    Args:
        table: rows of users.
        request: the options, of which L is one.
        entropy: what decides which rows stay.
        what: what a row is, for the remark.
    """
    most = user_limit(table, request)
    privacy = dataclasses.replace(request.privacy, contributions=most)
    if table.comparisons_per_user <= most:
        return privacy, None, ()
    kept = _kept_rows(table, most, entropy)
    return privacy, kept, _left_out(len(table), int(kept.sum()), most, what)


def _left_out(
    rows: int, kept: int, most: int, what: str = "comparisons", per_item: int | None = None
) -> tuple[str, ...]:
    also = "" if per_item is None else f", and {per_item} of them about one item"
    return private_remark(
        f"{rows - kept} of {rows} {what} were left out, chosen at random, to keep at most {most} per user{also}."
    )


def _kept_rows(
    table: datasets.ComparisonTable | datasets.ChoiceTable,
    most: int,
    entropy: Entropy,
    per_item: int | None = None,
) -> np.ndarray:
    """``(N,)`` bool, the comparisons that stay: ``most`` random ones of each user, whatever they say."""
    if per_item is not None and isinstance(table, datasets.ComparisonTable):
        items = table.winners, table.losers
        if entropy.seed is not None:
            drawn = np.asarray(jax.random.bits(entropy.key(), (len(table),)))
            order = np.lexsort((drawn, table.users))
            return capped_rows(table.users, order, most, items, per_item)
        return exact_bound(table.users, most, items=items, max_per_item=per_item)
    if entropy.seed is None:
        return exact_bound(table.users, most)
    return np.asarray(bound_contributions(entropy.key(), table.users, most))


def _weights(
    table: datasets.ComparisonTable | ComparisonRows, request: Request
) -> np.ndarray | None:
    """``(N,)``, what each comparison counts; None: all count once.

    Weights up to their bound, in units of it under privacy, else in units of their mean.
    """
    if not isinstance(table, datasets.ComparisonTable) or table.weights is None:
        return None
    most = request.weights[1] or np.inf
    if request.private:
        return np.asarray(quickly(functools.partial(bounded_weights, most=most), table.weights))
    weights = np.minimum(table.weights, most)
    if not np.any(weights > 0):
        raise Refusal(f"all weights in {table.name} are 0: there is nothing to rank.")
    return weights / weights.mean()


def _count(
    table: datasets.ComparisonTable | ComparisonRows,
    limit: int | None,
    entropy: Entropy,
    weights: np.ndarray | None = None,
    per_item: int | None = None,
) -> tuple[WinCounts, int]:
    """Count wins of all comparisons, or of ``limit`` random ones of each user; also returns how many are kept.

    Args:
        table: the comparisons.
        limit: L; None for all.
        entropy: what decides which rows stay.
        weights: ``(N,)``, what each row counts, of a table in memory; None: all count once.
        per_item: the most rows of a user about one item; None for any number.
    """
    if not isinstance(table, datasets.ComparisonTable):
        wins = table.win_counts(limit, None if limit is None else entropy.salt())
        counts: Any = np.asarray(wins.matrix)
        ties: Any = np.asarray(wins.ties)
        return WinCounts(counts, ties=ties), round(float(counts.sum()))
    kept = None if limit is None else _kept_rows(table, limit, entropy, per_item)
    number = len(table) if kept is None else int(kept.sum())
    if kept is not None:
        weights = kept * (1.0 if weights is None else weights)
    tied = table.tied if table.ties else None
    counts: Any = count_on_host(table.winners, table.losers, table.num_items, weights, tied)
    ties: Any = np.asarray(0.0 if tied is None else count_ties(tied, weights))
    return WinCounts(counts, ties=ties), number


def user_limit(
    table: datasets.ComparisonTable | ComparisonRows | datasets.ChoiceTable, request: Request
) -> int:
    """Return L; without ``--max-per-user`` no user may exceed the questionnaire, or 1."""
    if not table.has_users:
        raise Refusal(
            f"{table.name} does not say who compared, so users can't be protected as a whole: name the "
            "column by --user, or protect single comparisons by --unit comparison."
        )
    if request.max_per_user is not None:
        return request.max_per_user
    asked = 1 if table.questionnaire is None else len(table.questionnaire)
    if table.comparisons_per_user > asked:
        raise Refusal(
            f"a user of {table.name} gave more than {asked} comparison{'s' * (asked > 1)}, and a guarantee for users "
            "needs a bound: choose one by --max-per-user, without looking at the data, such as the number of "
            "questions that every user was asked. It is published with the result; users with more keep a random "
            "choice of that many; a smaller bound means less noise. --unit comparison protects single comparisons only."
        )
    return asked


def _noise(
    table: datasets.ComparisonTable | ComparisonRows, request: Request, privacy: Privacy
) -> tuple[str, np.ndarray | None]:
    """The noise, and for K-norm noise the pairs that every user was asked.

    K-norm noise is the default where these are known, unless users keep fewer comparisons than they were asked for,
    which may change less than all answers together.
    """
    asked = table.questionnaire if request.shapes_noise else None
    if request.noise == "k-norm" and asked is None:
        raise Refusal(
            f"--noise k-norm has the shape of the pairs that all users were asked, which {table.name} does not say "
            "(the named data sets coffee, cemspc, immig and cars do): leave --noise out."
        )
    whole = asked is not None and privacy.comparisons_per_unit >= len(asked)
    if request.noise == "k-norm" or (request.noise is None and whole):
        return "k-norm", asked
    return request.noise_drawn, None


def _sensitivity(
    table: datasets.ComparisonTable | ComparisonRows, request: Request, privacy: Privacy, noise: str
) -> tuple[float, float, tuple[str, ...]]:
    """How far one unit moves all win totals together and a single one, and the public facts that this relies on."""
    norm = "l1" if noise == "laplace" else "l2"
    total = float(totals_sensitivity(privacy, norm, per_item=request.max_per_item))
    one = float(privacy.comparisons_per_unit)
    if request.unit != "user" or table.questionnaire is None or request.ties == "davidson":
        return total, one, table.public
    pairs = table.questionnaire
    known = questionnaire_sensitivity(pairs, table.num_items, privacy, norm)
    meetings = float(np.bincount(pairs.ravel()).max())
    used = known < total or (request.method == "one-shot" and meetings < one)
    public = (*table.public, "questionnaire") if used else table.public
    return min(known, total), min(meetings, one), public
