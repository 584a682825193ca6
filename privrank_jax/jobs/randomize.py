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
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

from privrank_jax import mallows
from privrank_jax._types import Key
from privrank_jax._validate import check_choice
from privrank_jax.data.comparisons import Comparisons
from privrank_jax.data.engine_counts import ComparisonRows, RankingRows
from privrank_jax.data.preferences import (
    PreferenceScan,
    check_preferences_destination,
    labels_guarantee,
    write_preferences,
)
from privrank_jax.data.rankings import Rankings
from privrank_jax.data.reports import Reports, check_destination, write_reports
from privrank_jax.data.synthetic import (
    SyntheticRankings,
    check_item_names,
    write_synthetic_rankings,
)
from privrank_jax.exact.entropy import random_words
from privrank_jax.jobs.checks import (
    check_rare_items,
    check_size,
    hardly_private,
    private_remark,
    what_is,
)
from privrank_jax.jobs.comparisons import kept_rows
from privrank_jax.jobs.mechanisms import REHEARSAL, Randomness, Sampled, sample
from privrank_jax.jobs.reports import reports_guarantee
from privrank_jax.jobs.result import frame_of
from privrank_jax.jobs.spending import Payment
from privrank_jax.jobs.synthetic import rankings_guarantee
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.privacy import Privacy
from privrank_jax.release.ledger import Ledger

TIES = ("refuse", "coin", "drop")
UNITS = ("comparison", "user")
_BEST_SHARE = 2.1773189849653067  # 2x where tanh(x)^2/x is largest
_HELD = (
    "the answers were randomized here, just as each user can do it at home: the guarantee is about what the file "
    "tells, and whoever holds {}, which is unchanged, knows the answers"
)

Data = Comparisons | ComparisonRows | Rankings | RankingRows | PreferenceScan


@dataclasses.dataclass(frozen=True, repr=False)
class Randomized:
    """Randomized answers, which may be given away.

    Attributes:
        name: of the original data.
        data: the reports, the synthetic rankings, or the source of the preferences.
        guarantee: of what is written.
        counts: how many answers, users and items there are.
        epsilons: for whom ε is told, and ε, in words.
        notes: what else to know of a file of them.
        seed: of a rehearsal; None in a release.
        warnings: remarks for the holder of the data alone.
        keeps_users: whether users are written.
        labels: of preferences: the rows that are written, whether the first answer of each is written as chosen, and ε.
    """

    name: str
    data: Reports | SyntheticRankings | PreferenceScan
    guarantee: Guarantee
    counts: dict[str, int]
    epsilons: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    seed: int | None
    warnings: tuple[str, ...]
    keeps_users: bool
    labels: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}: {self.guarantee.in_words()}>"

    @property
    def rehearsal(self) -> bool:
        """Whether the noise is simulated, so that nothing may be given away."""
        return self.seed is not None

    @property
    def kind(self) -> str:
        """What was randomized: ``"comparisons"``, ``"rankings"`` or ``"preferences"``."""
        names = {Reports: "comparisons", SyntheticRankings: "rankings"}
        return names.get(type(self.data), "preferences")

    @property
    def most_labels(self) -> int:
        """Of preferences: the most labels of one user; else 0."""
        if self.labels is None:
            return 0
        assert isinstance(self.data, PreferenceScan)
        return int(np.unique(self.data.users[self.labels[0]], return_counts=True)[1].max())

    def check_destination(self, path: str | os.PathLike[str]) -> None:
        """Raise :class:`~privrank_jax.data.DataError` unless they can be written to a file of this name."""
        if isinstance(self.data, PreferenceScan):
            check_preferences_destination(path)
            return
        check_destination(path)
        if isinstance(self.data, SyntheticRankings):
            check_item_names(Path(path), self.data.table.item_names)

    def write(self, path: str | os.PathLike[str]) -> tuple[str, ...]:
        """Write them to a file, whose rows are sorted, and return the names of its columns or fields.

        Args:
            path: .csv, .tsv or .parquet; of preferences .jsonl or .jsonl.gz.

        Raises:
            DataError: the file cannot be written; preferences have changed since they were read.
        """
        if isinstance(self.data, Reports):
            return write_reports(path, self.data, users=self.keeps_users)
        if isinstance(self.data, SyntheticRankings):
            return write_synthetic_rankings(path, self.data, users=self.keeps_users)
        assert self.labels is not None
        kept, bits, epsilon = self.labels
        return write_preferences(path, self.data, kept, bits, epsilon, users=self.keeps_users)

    def to_frame(self) -> Any:
        """The reports or the synthetic rankings as a data frame, of pandas, polars or PyArrow.

        Raises:
            ValueError: preferences, which are written to a file.
            ImportError: none of these packages is installed.
        """
        import tempfile

        if isinstance(self.data, PreferenceScan):
            raise ValueError("preferences are written to a file: write(path).")
        with tempfile.TemporaryDirectory() as folder:  # in the order, and with the cells, of a file
            path = Path(folder) / "private.csv"
            self.write(path)
            import csv

            with path.open(encoding="utf-8", newline="") as file:
                return frame_of(list(csv.DictReader(file)))


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
    accept_idealized: bool = False,
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
        accept_idealized: draw even what can't be drawn exactly; the guarantee then says so.
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
    source = Randomness(key, accept_idealized=accept_idealized)
    asked = {"unit": unit, "ties": ties, "public": tuple(public), "max_per_user": max_per_user}
    made = randomized(data, epsilon, source, keep_users=keep_users, **asked)
    payment = Payment(ledger, lambda: data.sha256, made.name, "privatize")
    payment.spend(made.guarantee, "randomized answers", rehearsal=made.rehearsal)
    return made


def randomized(
    data: Data,
    epsilon: float | np.ndarray,
    source: Randomness,
    *,
    unit: str = "comparison",
    ties: str = "refuse",
    public: tuple[str, ...] = (),
    max_per_user: int | None = None,
    keep_users: bool = True,
) -> Randomized:
    """The same, before anything is paid."""
    check_choice("ties (--ties)", ties, TIES)
    check_choice("unit (--unit)", unit, UNITS)
    for fact in public:
        check_choice("public (--public)", fact, ("ranked-items",))
    for one in {float(np.min(epsilon)), float(np.max(epsilon))}:
        check_size(one)
    if not isinstance(data, PreferenceScan) and (unit == "user" or max_per_user is not None):
        raise ValueError(
            "unit (--unit) and max_per_user (--max-per-user) are for preferences: leave them out."
        )
    if not isinstance(data, Data):
        raise ValueError(
            f"comparisons, rankings and preferences are randomized, not {what_is(data)}: reports and synthetic "
            "rankings are randomized already, which once more would only add noise to."
        )
    number = data.num_users if isinstance(data, Rankings | RankingRows) else len(data)
    if np.shape(epsilon) not in ((), (number,)):
        raise ValueError(
            f"epsilon must be one number, or one for each of the {number:,} answers (of rankings: users), got shape "
            f"{np.shape(epsilon)}."
        )
    if isinstance(data, Comparisons) and data.weights is not None:
        raise ValueError("reports have no weights: read the comparisons without them.")
    if not isinstance(data, Rankings | RankingRows) and public:
        raise ValueError(
            "public (--public) is for rankings; of other answers it is always public what they are about."
        )
    with jax.enable_x64(True):
        if isinstance(data, PreferenceScan):
            made = _preferences(data, epsilon, source, unit, ties, max_per_user, keep_users)
        elif isinstance(data, Rankings | RankingRows):
            table = data if isinstance(data, Rankings) else data.in_memory()
            made = _rankings(table, epsilon, source, ties, public, keep_users)
        else:
            table = data if isinstance(data, Comparisons) else data.in_memory()
            made = _comparisons(table, epsilon, source, ties, keep_users)
    warned = hardly_private(float(np.max(epsilon)))
    return dataclasses.replace(made, warnings=(*warned, *made.warnings))


def guarantee_note(first: str, ties: str, tied: str, source: Randomness) -> str:
    """The note of a guarantee: what the ε refers to, and what ties are protected as."""
    parts = [first]
    if ties == "coin":
        parts.append(f"Ties are protected like {tied}.")
    if source.rehearsal:
        parts.append(REHEARSAL.capitalize())
    return " ".join(parts)


def from_to(low: float, high: float) -> str:
    """A number, or the least and the greatest.

    >>> from_to(1.0, 1.0), from_to(0.5, 2.0)
    ('1', '0.5 to 2')
    """
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def _notes(name: str, keeps: bool, *more: str) -> tuple[str, ...]:
    kept = "the file keeps the users" if keeps else "the file leaves the users out"
    return (_HELD.format(name), *(one.format(kept=kept) for one in more))


# --- comparisons --------------------------------------------------------------------------------------


def _comparisons(
    table: Comparisons, epsilon: float | np.ndarray, source: Randomness, ties: str, keep_users: bool
) -> Randomized:
    warnings = check_rare_items(table, written=False)
    budgets = np.broadcast_to(np.asarray(epsilon, float), (len(table),))
    drawn = randomize_comparisons(table, budgets, ties, source)
    reports = drawn.value
    note = "the largest epsilon of any comparison, and of all those of any user together."
    note = guarantee_note(note, ties, "answers", source)
    guarantee = reports_guarantee(reports, drawn.numerics, note)
    guarantee = guarantee.given(public=("ties",) * (ties == "drop"), users=table.users_are)
    keeps = keep_users and reports.has_users
    notes = _notes(
        table.name,
        keeps,
        "who compared which items, and at which epsilon, is taken as public; {kept}",
        "the rows are sorted, so their order reveals nothing",
        *(
            ("the data name no users: a user with several comparisons spends their sum",)
            * (not reports.has_users)
        ),
    )
    told = from_to(float(reports.epsilon.min()), reports.largest_epsilon)
    epsilons, whole = (("epsilon of a comparison", told),), reports.largest_epsilon_of_a_user
    if whole is not None:
        epsilons += (("epsilon of a user, all comparisons, at most", f"{whole:g}"),)
    counts = {"reports": len(reports), "users": reports.num_users, "items": reports.num_items}
    return Randomized(
        table.name,
        reports,
        guarantee,
        {name: count for name, count in counts.items() if count is not None},
        epsilons,
        notes,
        source.seed,
        (*warnings, *drawn.remarks),
        keeps,
    )


def randomize_comparisons(
    table: Comparisons, epsilon: Float[np.ndarray, "rows"], ties: str, source: Randomness
) -> Sampled:
    """Draw one report per comparison; the value is :class:`~privrank_jax.data.Reports`."""
    keep, remarks = np.ones(len(table), bool), ()
    if table.ties:
        keep, remarks = _tied_comparisons(table, ties)
    bits = table.winners < table.losers
    bits = np.where(table.tied, _coins(len(table), source), bits)[keep]
    drawn = sample("randomized-response", source, bits, epsilon[keep])
    found = Reports(
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


def _tied_comparisons(table: Comparisons, ties: str) -> tuple[np.ndarray, tuple[str, ...]]:
    """The comparisons to keep; the remark with the number of ties is private and must not be shared."""
    count = f"{table.ties} of {len(table)} comparisons are ties"
    if ties == "refuse":
        raise ValueError(
            f"{count}, and a report is a yes or a no. ties='coin' (--ties coin) lets a fair coin decide each tie "
            "before it is randomized: ties stay as protected as answers, and count half on average. ties='drop' leaves "
            "them out, which shows everyone who knows the questions that they were ties."
        )
    if ties == "coin":
        return np.ones(len(table), bool), private_remark(f"{count}; a fair coin decided each.")
    if table.ties == len(table):
        raise ValueError("all comparisons are ties: ties='drop' (--ties drop) would leave nothing.")
    remark = (
        f"{count}, and were left out: anyone who knows the questions sees which. ties='coin' (--ties coin) "
        "protects them."
    )
    return ~table.tied, private_remark(remark)


def _coins(count: int, source: Randomness) -> Bool[np.ndarray, "rows"]:
    """Draw fair coins from the operating system except in a rehearsal."""
    if source.rehearsal:
        return np.asarray(jax.random.bernoulli(source.key(), 0.5, (count,)))
    drawn = np.frombuffer(secrets.token_bytes(-(-count // 8)), np.uint8)
    return np.unpackbits(drawn, count=count).astype(bool)


# --- rankings -----------------------------------------------------------------------------------------


def _rankings(
    table: Rankings,
    epsilon: float | np.ndarray,
    source: Randomness,
    ties: str,
    public: tuple[str, ...],
    keep_users: bool,
) -> Randomized:
    if ties == "drop":
        raise ValueError(
            "ties='drop' (--ties drop) is for comparisons. In rankings ties='coin' (--ties coin) puts tied items into "
            "a random order before the ranking is randomized: ties stay as protected as orders."
        )
    check_rare_items(table, written=True)
    if not table.complete and not public:
        raise ValueError(
            f"{table.partial_users:,} of {table.num_users:,} users did not rank all items, and a synthetic ranking "
            "shows which its user ranked. If that is public anyway, as where each user was given a list of items to "
            "order, say public=['ranked-items'] (--public ranked-items): the guarantee then holds for the order of "
            "those items only. Otherwise have all users rank the same items."
        )
    budgets = np.broadcast_to(np.asarray(epsilon, float), (table.num_users,))
    drawn = randomize_rankings(table, budgets, ties, source)
    rankings = drawn.value
    note = guarantee_note("the largest of any user.", ties, "orders", source)
    personal = ("budgets",) * (np.ndim(epsilon) > 0)
    guarantee = rankings_guarantee(rankings, drawn.numerics, note)
    guarantee = guarantee.given(public=personal, users=table.users_are)
    keeps = keep_users and bool(table.user_names)
    guarantee = _of_whole_users(guarantee, table, keeps=keeps)
    said = [
        note for note in table.notes if note.startswith("the cells are") or "names no users" in note
    ]
    notes = _notes(
        table.name, keeps, "{kept}", "the rows are sorted, so their order reveals nothing", *said
    )
    told = from_to(float(budgets.min()), float(budgets.max()))
    whole = f"{float(guarantee.also[0].epsilon):g}"
    return Randomized(
        table.name,
        rankings,
        guarantee,
        {"rankings": table.num_users, "items": table.num_items},
        (("epsilon of a rank", told), ("epsilon of a whole ranking, at most", whole)),
        notes,
        source.seed,
        drawn.remarks,
        keeps,
    )


def _of_whole_users(promised: Guarantee, table: Rankings, *, keeps: bool) -> Guarantee:
    """The guarantee, which for whole users takes as public what the file shows of them whatever is drawn.

    That is who took part, where it keeps users or omits those who ranked nothing, and the items, where they were read
    off the rankings; which items each user ranked says these too. A rank that changes leaves both as they are.
    """
    shown = {*table.public, *("participation",) * keeps}
    if "ranked-items" in promised.attained.public:
        shown.discard("items")
    also = tuple(other.given(public=shown) for other in promised.also)
    return dataclasses.replace(promised, also=also)


def randomize_rankings(
    table: Rankings, epsilon: Float[np.ndarray, "users"], ties: str, source: Randomness
) -> Sampled:
    """Draw one synthetic ranking per user; the value is :class:`~privrank_jax.data.SyntheticRankings`."""
    ranks, remarks = table.ranks, ()
    if table.tied:
        ordered = np.sort(ranks, axis=1)
        tied = np.any((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0), axis=1)
        count = f"{np.sum(tied):,} of {table.num_users:,} users rank some items equal"
        if ties == "refuse":
            raise ValueError(
                f"{count}, and a synthetic ranking has no ties. ties='coin' (--ties coin) puts them into a random "
                "order before the ranking is randomized: ties stay as protected as orders."
            )
        ranks = _untied(ranks, source)
        remarks = private_remark(f"{count}; these were put into a random order.")
    drawn = sample("mallows-sample", source, ranks, epsilon)
    untied = Rankings(
        drawn.value, table.item_names, table.user_names, table.name, table.missing, table.notes
    )
    found = SyntheticRankings(untied, np.asarray(epsilon))
    return dataclasses.replace(drawn, value=found, remarks=(*remarks, *drawn.remarks))


def simulated_mallows(
    key: Key, ranks: Int[np.ndarray, "users items"], epsilon: Float[np.ndarray, "users"]
) -> Int[np.ndarray, "users items"]:
    """Draw one ranking for each user; the simulated twin of ``mallows.sample.release``."""
    keys = jax.random.split(key, len(ranks))
    return np.asarray(jax.vmap(mallows.sample)(keys, ranks, jnp.asarray(epsilon)))


def _untied(ranks: np.ndarray, source: Randomness) -> np.ndarray:
    """Break ties in the ranks by a random order, uniform and independent for each user."""
    if source.rehearsal:
        coins = np.asarray(jax.random.uniform(source.key(), ranks.shape))
    else:
        # Two of m words are equal with probability below m²/2^65, and then the first item comes first.
        coins = random_words(ranks.size).reshape(ranks.shape)
    order = np.lexsort((coins, ranks), axis=1)
    found = np.empty_like(ranks)
    np.put_along_axis(found, order, np.arange(ranks.shape[1], dtype=ranks.dtype)[None], axis=1)
    # Unranked items (-1) sort first.
    return np.where(ranks < 0, ranks, found - np.sum(ranks < 0, axis=1, keepdims=True))


# --- preferences --------------------------------------------------------------------------------------


def _preferences(
    scan: PreferenceScan,
    epsilon: float | np.ndarray,
    source: Randomness,
    unit: str,
    ties: str,
    max_per_user: int | None,
    keep_users: bool,
) -> Randomized:
    promise = None if np.ndim(epsilon) else Privacy(float(epsilon), unit=unit, adjacency="flip")
    if unit == "user" and (promise is None or not scan.has_users):
        raise ValueError(
            "unit='user' (--unit user) divides one epsilon among the labels of a user: give one epsilon, and name the "
            "field of users (--user)."
        )
    if max_per_user is not None and (unit != "user" or max_per_user < 1):
        raise ValueError(
            "max_per_user (--max-per-user) bounds what one user gives: it must be at least 1, and "
            "needs unit='user' (--unit user)."
        )
    kept, remarks = _kept_labels(scan, ties, max_per_user, source)
    about = _about_limit(scan, float(epsilon), ties, max_per_user) if unit == "user" else ()
    drawn, budgets = randomize_labels(scan, kept, promise, epsilon, source)
    note = "prompts and the texts of both answers are public."
    if source.rehearsal:
        note += f" {REHEARSAL.capitalize()}"
    guarantee = labels_guarantee(
        scan, kept, budgets, asked=promise, numerics=drawn.numerics, note=note
    ).given(users=scan.users_are)
    if scan.ignored:  # fields of the first line may tell which answer was chosen
        left = f"fields left out: {', '.join(scan.ignored)}; keep (--keep) keeps one."
        remarks += private_remark(left)
    keeps = keep_users and scan.has_users
    carried = f", and the fields {', '.join(scan.keep)}" if scan.keep else ""
    notes = _notes(
        scan.name,
        keeps,
        f"for training, these labels say about as much as {worth(budgets):.3g} that were not randomized: the sum of "
        "tanh^2(epsilon/2)",
        f"public: prompts, the texts of both answers, who answered which prompt, at which epsilon{carried}; protected: "
        "which answer was chosen",
        "{kept}",
        "the lines are sorted by what is public in them, so their order reveals nothing"
        + ("; join them by id" if "id" in scan.names else ""),
        *(
            ("the data name no users: a user with several labels spends their sum",)
            * (not scan.has_users)
        ),
    )
    counts = {"labels": int(np.sum(kept))}
    if scan.has_users:
        counts["users"] = int(np.unique(scan.users[kept]).size)
    epsilons = (("epsilon of a label", from_to(float(budgets.min()), float(budgets.max()))),)
    for one in (guarantee.attained, *guarantee.also):
        if one.unit == "user":
            epsilons += (("epsilon of a user, all labels, at most", f"{float(one.epsilon):g}"),)
    return Randomized(
        scan.name,
        scan,
        guarantee,
        counts,
        epsilons,
        notes,
        source.seed,
        (*about, *remarks, *drawn.remarks),
        keeps,
        (kept, np.asarray(drawn.value), budgets),
    )


def _kept_labels(
    scan: PreferenceScan, ties: str, max_per_user: int | None, source: Randomness
) -> tuple[np.ndarray, tuple[str, ...]]:
    """The rows to write, ``(N,)`` bool, and remarks for the holder of the data; depends on public facts and coins."""
    kept, remarks = np.ones(len(scan), bool), ()
    if scan.ties and ties == "refuse":
        raise ValueError(
            f"{scan.name}: chosen and rejected are the same in {len(scan.ties):,} lines, first in row "
            f"{scan.ties[0] + 1}. ties='drop' (--ties drop) leaves them out, for there is nothing to learn from them "
            "(which shows nothing, as the texts are public); ties='coin' (--ties coin) keeps them."
        )
    if scan.ties and ties == "drop":
        kept[list(scan.ties)] = False
        if not kept.any():
            raise ValueError("all pairs are ties: ties='drop' (--ties drop) would leave nothing.")
        remarks = (f"{len(scan.ties):,} lines of two equal answers were left out.",)
    if max_per_user is not None:
        rows = np.flatnonzero(kept)
        stay = kept_rows(scan.users[rows], max_per_user, source)
        kept[rows[~stay]] = False
        if not stay.all():
            remarks += (f"{int(np.sum(~stay)):,} labels beyond the limit were left out.",)
    return kept, remarks


def randomize_labels(
    scan: PreferenceScan,
    kept: Bool[np.ndarray, "rows"],
    promise: Privacy | None,
    epsilon: float | np.ndarray,
    source: Randomness,
) -> tuple[Sampled, Float[np.ndarray, "labels"]]:
    """Draw a report for each row that stays: whether its first answer is written as chosen; and its ε."""
    bits = scan.bits[kept]
    if promise is None:
        budgets = np.asarray(epsilon, float)[kept]
        drawn = sample("randomized-response", source, bits, budgets)
        return dataclasses.replace(drawn, value=np.asarray(drawn.value)), budgets
    drawn = sample("preference-labels", source, bits, promise, users=scan.users[kept])
    budgets = np.asarray(drawn.value.diagnostics.epsilon)
    check_size(float(budgets.min()))
    return dataclasses.replace(drawn, value=np.asarray(drawn.value.value)), budgets


def _about_limit(
    scan: PreferenceScan, epsilon: float, ties: str, max_per_user: int | None
) -> tuple[str, ...]:
    """Which limit makes the labels of users say most, where another one was chosen; who answered what is public."""
    rows = np.ones(len(scan), bool)
    if ties == "drop":
        rows[list(scan.ties)] = False
    counts = np.unique(scan.users[rows], return_counts=True)[1]
    given, best = max_per_user or int(counts.max()), best_limit(epsilon)
    now, most = (
        worth(epsilon / held, held)
        for held in (np.minimum(counts, given), np.minimum(counts, best))
    )
    if now >= 0.99 * most:
        return ()
    return private_remark(
        f"the labels of a user share epsilon = {epsilon:g}, and what a label says falls faster than its share: these "
        f"say as much as {now:.3g} labels that were not randomized, with max_per_user={best} (--max-per-user {best}) "
        f"as much as {most:.3g}. Who answered what is public here, so the limit may be chosen so."
    )


def worth(epsilon: np.ndarray | float, labels: np.ndarray | int = 1) -> float:
    """How many labels without randomization say as much: Σ tanh²(ε/2), the information of reports of ε each."""
    return float(np.sum(labels * np.square(np.tanh(0.5 * epsilon))))


def best_limit(epsilon: float) -> int:
    """The L for which users who share ε among at most L labels tell most, whatever number of labels they have.

    k labels of one user say f(k) = k tanh²(ε/2k). With x = ε/2k it is (ε/2) tanh²(x)/x, which rises until
    sinh(2x) = 4x, at x = 1.0886, and falls then. So f rises up to some k and falls from there, and its maximum over
    whole numbers is the best limit for each user: one who has fewer labels keeps all.
    """
    least = max(1, int(epsilon / _BEST_SHARE))
    return max((least, least + 1), key=lambda most: worth(epsilon / most, most))
