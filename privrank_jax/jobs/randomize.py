"""``pr.randomize``: each user's answers randomized, as users can do it at home.

Comparisons become randomized reports, rankings synthetic ones, drawn from the Mallows model around each user's own, and
preferences for training the same with the order of the two answers randomized.

**Ties of rankings** are broken by a random order of all items, drawn for each user. Two weak orders that agree after an
item is removed become, under the same random order, rankings that agree after it is removed; so the guarantee for
rankings carries over to the mixture, and a tie is as protected as an order.
"""

from __future__ import annotations

import dataclasses
import os
import secrets
from collections.abc import Callable, Iterable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from privrank_jax import mallows
from privrank_jax._types import Key
from privrank_jax._validate import check_choice
from privrank_jax.data import preferences, randomized
from privrank_jax.data.comparisons import Comparisons
from privrank_jax.data.engine import ComparisonRows
from privrank_jax.data.preferences import PreferenceScan
from privrank_jax.data.randomized import Reports, SyntheticRankings, check_destination
from privrank_jax.data.rankings import Rankings
from privrank_jax.exact.entropy import random_words
from privrank_jax.jobs import checks
from privrank_jax.jobs.answers import kept_rows
from privrank_jax.jobs.mechanisms import REHEARSAL, Randomness, draw
from privrank_jax.jobs.reports import reports_guarantee
from privrank_jax.jobs.spending import Payment
from privrank_jax.jobs.synthetic import rankings_guarantee
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.privacy import Privacy
from privrank_jax.release.ledger import Ledger

TIES = ("refuse", "coin", "drop")
UNITS = ("comparison", "user")
_HELD = (
    "the answers were randomized here, just as each user can do it at home: the guarantee is about what the file "
    "tells, and whoever holds {}, which is unchanged, knows the answers"
)
_SORTED = "the rows are sorted, so their order reveals nothing"
_UNNAMED = "the data name no users: a user with several {} spends their sum"
_TIES = (
    "ties='coin' decides them at random first, which protects a tie as any answer; ties='drop', not for rankings, "
    "leaves them out, which shows which they were"
)

Data = Comparisons | ComparisonRows | Rankings | PreferenceScan

FilePath = str | os.PathLike[str]


@dataclasses.dataclass(frozen=True, repr=False, kw_only=True)
class Randomized:
    """Randomized answers, which may be given away.

    Attributes:
        name: of the original data.
        kind: what was randomized: ``"comparisons"``, ``"rankings"`` or ``"preferences"``.
        data: the reports, the synthetic rankings, or the source of the preferences.
        guarantee: of what is written.
        counts: how many answers, users and items there are.
        epsilons: for whom ε is told, and ε, in words.
        notes: what else to know of a file of them.
        seed: of a rehearsal, whose noise is simulated, so that nothing may be given away; None in a release.
        warnings: remarks for the holder of the data alone.
        check_destination: raises :class:`~privrank_jax.data.DataError` unless a path is one that ``write`` takes.
        write: writes them to a path, with sorted rows, and returns the names of the columns or fields.

    Files end in .csv, .tsv or .parquet, those of preferences in .jsonl or .jsonl.gz. ``write`` raises
    :class:`~privrank_jax.data.DataError` if it can't, or if preferences have changed.
    """

    name: str
    kind: str
    data: Reports | SyntheticRankings | PreferenceScan
    guarantee: Guarantee
    counts: dict[str, int]
    epsilons: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    seed: int | None
    warnings: tuple[str, ...]
    check_destination: Callable[[FilePath], None]
    write: Callable[[FilePath], tuple[str, ...]]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}: {self.guarantee.in_words()}>"

    @property
    def rehearsal(self) -> bool:
        """Whether nothing may be given away."""
        return self.seed is not None


@dataclasses.dataclass(frozen=True)
class _Asked:
    """The arguments of :func:`randomize` that say what is drawn."""

    epsilon: float | np.ndarray
    source: Randomness
    unit: str
    ties: str
    public: tuple[str, ...]
    max_per_user: int | None
    keep_users: bool

    def budgets(self, number: int) -> Float[np.ndarray, "answers"]:
        """ε of each answer."""
        return np.broadcast_to(np.asarray(self.epsilon, float), (number,))

    def note(self, first: str, tied: str = "") -> str:
        """The note of a guarantee: what the ε refers to, and what ties are protected as."""
        ties = f"Ties are protected like {tied}." if tied and self.ties == "coin" else ""
        rehearsal = REHEARSAL.capitalize() if self.source.rehearsal else ""
        return " ".join(filter(None, (first, ties, rehearsal)))


def randomize(
    data: Data,
    epsilon: float | Float[np.ndarray, "answers"],
    *,
    unit: str = "comparison",
    ties: str = "refuse",
    public: Iterable[str] = (),
    max_per_user: int | None = None,
    keep_users: bool = True,
    key: Key | None = None,
    ledger: Ledger | None = None,
) -> Randomized:
    """Randomize each user's answers, as users can do it at home: local differential privacy.

    Args:
        data: comparisons, rankings or preferences, of :func:`privrank_jax.read`.
        epsilon: ε of each comparison, each rank, or each preference; an array for personal budgets.
        unit: of preferences: ``"comparison"``, or ``"user"``: all labels of a user share ε evenly.
        ties: ``"refuse"``, ``"coin"`` (decided by a fair coin, then randomized like any answer) or ``"drop"`` (left
            out, which shows that it was a tie; not for rankings).
        public: ``("ranked-items",)`` if which items each user ranked is public anyway.
        max_per_user: of preferences under ``unit="user"``: the most labels of one user, of whom a random choice stays.
        keep_users: whether users are written.
        key: PRNG key of a rehearsal, which must not be given away.
        ledger: of the data; pays before anything is returned.

    Returns:
        The randomized answers, with their guarantee.

    Raises:
        ValueError: arguments, or data, that do not go together; nothing was spent.
        LedgerError: the ledger does not allow it; nothing was spent.

    >>> import privrank_jax as pr
    >>> made = pr.randomize(pr.read("coffee"), 1.0, ties="coin", key=jax.random.key(0))
    >>> made.counts["reports"], made.guarantee.trust
    (2841, 'local')
    """
    source, public = Randomness(key), tuple(public)
    check_choice("ties", ties, TIES)
    check_choice("unit", unit, UNITS)
    for fact in public:
        check_choice("public", fact, ("ranked-items",))
    for one in {float(np.min(epsilon)), float(np.max(epsilon))}:
        checks.check_size(one)
    scanned, ranked = isinstance(data, PreferenceScan), isinstance(data, Rankings)
    if not isinstance(data, Data):
        raise ValueError(
            f"comparisons, rankings and preferences are randomized, not {checks.what_is(data)}."
        )
    if (not scanned and (unit == "user" or max_per_user is not None)) or (public and not ranked):
        raise ValueError(
            "`unit` and `max_per_user` are for preferences, `public` for rankings: leave them out."
        )
    number = data.num_users if isinstance(data, Rankings) else len(data)
    if np.shape(epsilon) not in ((), (number,)):
        raise ValueError(
            f"epsilon must be one number, or one for each of {number:,} answers (of rankings: users), not "
            f"{np.shape(epsilon)}."
        )
    table: Any = data.in_memory() if isinstance(data, ComparisonRows) else data
    keeps = keep_users and bool(table.user_names if ranked else table.has_users)
    asked = _Asked(epsilon, source, unit, ties, public, max_per_user, keeps)
    make = _preferences if scanned else _rankings if ranked else _comparisons
    with jax.enable_x64(True):
        made = make(table, asked)
    kept = "the file keeps the users" if keeps else "the file leaves the users out"
    (of, budgets), whole = made.pop("each"), made.pop("whole")
    low, high = float(np.min(budgets)), float(np.max(budgets))
    epsilons = [(f"epsilon of a {of}", f"{low:g}" if low == high else f"{low:g} to {high:g}")]
    epsilons += [(f"epsilon of a {who}, at most", f"{most:g}") for who, most in whole]
    made["epsilons"] = tuple(epsilons)
    made["guarantee"] = made["guarantee"].given(users=table.users_are)
    made["counts"] = {name: count for name, count in made["counts"].items() if count is not None}
    made["notes"] = (_HELD.format(table.name), *made["notes"], kept)
    made["warnings"] = (*checks.hardly_private(float(np.max(epsilon))), *made["warnings"])
    found = Randomized(name=table.name, seed=source.seed, **made)
    payment = Payment(ledger, lambda: data.sha256, found.name, "privatize")
    payment.spend(found.guarantee, "randomized answers", rehearsal=found.rehearsal)
    return found


# --- comparisons --------------------------------------------------------------------------------------


def _comparisons(table: Comparisons, asked: _Asked) -> dict[str, Any]:
    """One report per comparison."""
    if table.weights is not None:
        raise ValueError("reports have no weights: read the comparisons without them.")
    rare, source = checks.check_rare_items(table, written=False), asked.source
    keep, remarks, ties = ~table.tied, (), f"{table.ties} of {len(table)} comparisons are ties"
    if table.ties and asked.ties == "refuse":
        raise ValueError(f"{ties}, and a report is a yes or a no: {_TIES}.")
    if table.ties and asked.ties == "coin":
        keep, remarks = keep | True, checks.private_remark(f"{ties}; a fair coin decided each.")
    elif table.ties:
        remarks = checks.private_remark(
            f"{ties}, and were left out: all who know the questions see which."
        )
    if not keep.any():
        raise ValueError("all comparisons are ties: ties='drop' would leave nothing.")
    if source.rehearsal:
        coins = np.asarray(jax.random.bernoulli(source.key(), 0.5, (len(table),)))
    else:
        random = np.frombuffer(secrets.token_bytes(-(-len(table) // 8)), np.uint8)
        coins = np.unpackbits(random, count=len(table)).astype(bool)
    bits = np.where(table.tied, coins, table.winners < table.losers)[keep]
    budgets = asked.budgets(len(table))[keep]
    drawn = draw("randomized-response", source, bits, budgets)
    reports = Reports(
        users=table.users[keep],
        first=np.minimum(table.winners, table.losers)[keep],
        second=np.maximum(table.winners, table.losers)[keep],
        reports=np.asarray(drawn.value),
        epsilon=budgets,
        item_names=table.item_names,
        user_names=table.user_names,
        name=table.name,
    )
    first = "the largest epsilon of any comparison, and of all those of any user together."
    guarantee = reports_guarantee(reports, drawn.numerics, asked.note(first, "answers"))
    whole = reports.largest_epsilon_of_a_user
    notes = ["who compared which items, and at which epsilon, is taken as public", _SORTED]
    if not reports.has_users:
        notes.append(_UNNAMED.format("comparisons"))
    return {
        "kind": "comparisons",
        "data": reports,
        "guarantee": guarantee.given(public=("ties",) * (asked.ties == "drop")),
        "each": ("comparison", reports.epsilon),
        "whole": [] if whole is None else [("user, all comparisons", whole)],
        "counts": {"reports": len(reports), "users": reports.num_users, "items": table.num_items},
        "notes": notes,
        "warnings": (*rare, *remarks, *drawn.remarks),
        "check_destination": check_destination,
        "write": lambda path: randomized.write_reports(path, reports, users=asked.keep_users),
    }


# --- rankings -----------------------------------------------------------------------------------------


def _rankings(table: Rankings, asked: _Asked) -> dict[str, Any]:
    """One synthetic ranking per user."""
    if asked.ties == "drop":
        raise ValueError(f"rankings can't leave out their ties: {_TIES}.")
    checks.check_rare_items(table, written=True)
    if not table.complete and not asked.public:
        raise ValueError(
            f"{table.partial_users:,} of {table.num_users:,} users did not rank all items, and a synthetic ranking "
            "shows which its user ranked. If that is public anyway, say public=['ranked-items']; the guarantee is then "
            "for their order alone."
        )
    ranks, remarks = _untied(table, asked)
    budgets, source = asked.budgets(table.num_users), asked.source
    drawn = draw("mallows-sample", source, ranks, budgets)
    told = {key: getattr(table, key) for key in ("user_names", "name", "missing", "notes")}
    drawn_ranks = Rankings(drawn.value, table.item_names, **told)
    rankings = SyntheticRankings(drawn_ranks, np.asarray(budgets))
    note = asked.note("the largest of any user.", "orders")
    guarantee = rankings_guarantee(rankings, drawn.numerics, note)
    guarantee = guarantee.given(public=("budgets",) * (np.ndim(asked.epsilon) > 0))
    # For whole users, what the file shows whatever is drawn is public: who took part, where it keeps users, and items
    # that were read off the rankings; which items each user ranked says these too. A changed rank changes neither.
    keeps = asked.keep_users
    said_by_ranks = {"items"} if "ranked-items" in guarantee.attained.public else set()
    shown = ({*table.public} - said_by_ranks) | ({"participation"} if keeps else set())
    also = tuple(other.given(public=shown) for other in guarantee.also)
    said = (n for n in table.notes if n.startswith("the cells are") or "names no users" in n)

    return {
        "kind": "rankings",
        "data": rankings,
        "guarantee": dataclasses.replace(guarantee, also=also),
        "each": ("rank", budgets),
        "whole": [("whole ranking", float(also[0].epsilon))],
        "counts": {"rankings": table.num_users, "items": table.num_items},
        "notes": (_SORTED, *said),
        "warnings": (*remarks, *drawn.remarks),
        "check_destination": lambda path: check_destination(path, table.item_names),
        "write": lambda path: randomized.write_synthetic_rankings(path, rankings, users=keeps),
    }


def simulated_mallows(
    key: Key, ranks: Int[np.ndarray, "users items"], epsilon: Float[np.ndarray, "users"]
) -> Int[np.ndarray, "users items"]:
    """Draw one ranking for each user; the simulated twin of ``mallows.sample.release``."""
    keys = jax.random.split(key, len(ranks))
    return np.asarray(jax.vmap(mallows.sample)(keys, ranks, jnp.asarray(epsilon)))


def _untied(table: Rankings, asked: _Asked) -> tuple[np.ndarray, tuple[str, ...]]:
    """Break ties in the ranks by a random order, uniform and independent for each user; and a remark."""
    ranks, source = table.ranks, asked.source
    if not table.tied:
        return ranks, ()
    ordered = np.sort(ranks, axis=1)
    tied = np.any((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0), axis=1)
    count = f"{np.sum(tied):,} of {table.num_users:,} users rank some items equal"
    if asked.ties == "refuse":
        raise ValueError(f"{count}, and a synthetic ranking has no ties: {_TIES}.")
    if source.rehearsal:
        coins = np.asarray(jax.random.uniform(source.key(), ranks.shape))
    else:  # two of m words are equal with probability below m²/2^65, and then the first item comes first
        coins = random_words(ranks.size).reshape(ranks.shape)
    found = np.argsort(np.lexsort((coins, ranks), axis=1), axis=1).astype(ranks.dtype)
    unranked = np.sum(ranks < 0, axis=1, keepdims=True, dtype=ranks.dtype)  # these sort first
    remark = checks.private_remark(f"{count}; these were put into a random order.")
    return np.where(ranks < 0, ranks, found - unranked), remark


# --- preferences --------------------------------------------------------------------------------------


def _preferences(scan: PreferenceScan, asked: _Asked) -> dict[str, Any]:
    """One report per pair of answers, of which one was chosen: whether the first is written as chosen."""
    epsilon: Any = asked.epsilon
    source, most = asked.source, asked.max_per_user
    alike, shares, keeps = np.ndim(epsilon) == 0, asked.unit == "user", asked.keep_users
    unbounded = most is not None and (not shares or most < 1)
    if unbounded or (shares and not (alike and scan.has_users)):
        raise ValueError(
            "unit='user' divides one epsilon among at most `max_per_user` >= 1 labels of a user: name users by `user`."
        )
    kept, remarks = _kept_labels(scan, asked)
    bits, promise = scan.bits[kept], None
    if alike:
        promise = Privacy(float(epsilon), unit=asked.unit, adjacency="flip")
        drawn = draw("preference-labels", source, bits, promise, users=scan.users[kept])
        reports, budgets = drawn.value.value, np.asarray(drawn.value.diagnostics.epsilon)
        checks.check_size(float(budgets.min()))
    else:
        budgets = np.asarray(epsilon, float)[kept]
        drawn = draw("randomized-response", source, bits, budgets)
        reports = drawn.value
    note = asked.note("prompts and the texts of both answers are public.")
    about = {"numerics": drawn.numerics, "note": note}
    guarantee = preferences.labels_guarantee(scan, kept, budgets, asked=promise, **about)
    if scan.ignored:  # fields of the first line may tell which answer was chosen
        remarks += checks.private_remark(
            f"fields left out: {', '.join(scan.ignored)}; `keep` keeps one."
        )
    carried = f", and the fields {', '.join(scan.keep)}" if scan.keep else ""
    joined = "; join them by id" if "id" in scan.names else ""
    whole = [one.epsilon for one in (guarantee.attained, *guarantee.also) if one.unit == "user"]
    users = int(np.unique(scan.users[kept]).size) if scan.has_users else None
    told, labels = float(np.sum(np.tanh(0.5 * budgets) ** 2)), (kept, np.asarray(reports), budgets)
    notes = [
        f"for training, these labels say about as much as {told:.3g} that were not randomized: the sum of "
        "tanh^2(epsilon/2)",
        f"public: prompts, the texts of both answers, who answered which prompt, at which epsilon{carried}; protected: "
        "which answer was chosen",
        f"the lines are sorted by what is public in them, so their order reveals nothing{joined}",
    ]
    if shares and (best := max(1, round(epsilon / 2.18))) < round(epsilon / budgets.min()):
        notes.append(f"labels that share epsilon = {epsilon:g} say most with max_per_user={best}")
    if not scan.has_users:
        notes.append(_UNNAMED.format("labels"))
    return {
        "kind": "preferences",
        "data": scan,
        "guarantee": guarantee,
        "each": ("label", budgets),
        "whole": [("user, all labels", float(one)) for one in whole],
        "counts": {"labels": int(np.sum(kept)), "users": users},
        "notes": notes,
        "warnings": (*remarks, *drawn.remarks),
        "check_destination": preferences.check_preferences_destination,
        "write": lambda path: preferences.write_preferences(path, scan, *labels, users=keeps),
    }


def _kept_labels(scan: PreferenceScan, asked: _Asked) -> tuple[np.ndarray, tuple[str, ...]]:
    """The rows to write, ``(N,)`` bool, and remarks for the holder of the data; depends on public facts and coins."""
    kept, remarks = np.ones(len(scan), bool), ()
    if scan.ties and asked.ties == "refuse":
        raise ValueError(
            f"{scan.name}: chosen and rejected are the same in {len(scan.ties):,} lines, first in row "
            f"{scan.ties[0] + 1}: ties='drop' leaves them out, which shows nothing, as texts are public."
        )
    if scan.ties and asked.ties == "drop":
        kept[list(scan.ties)] = False
        if not kept.any():
            raise ValueError("all pairs are ties: ties='drop' would leave nothing.")
        remarks = (f"{len(scan.ties):,} lines of two equal answers were left out.",)
    if asked.max_per_user is not None:
        rows = np.flatnonzero(kept)
        stay = kept_rows(scan.users[rows], asked.max_per_user, asked.source)
        kept[rows[~stay]] = False
        if not stay.all():
            remarks += (f"{int(np.sum(~stay)):,} labels beyond the limit were left out.",)
    return kept, remarks
