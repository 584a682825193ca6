"""Comparisons of pairs of items, and their reader; a faulty file is refused as a whole.

No row is dropped and no name is changed; anything that looks wrong raises an error that says where it is.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int, Integer, Shaped

from privrank_jax._counting import count_on_host
from privrank_jax._neighbors import of_column
from privrank_jax.data.cells import count_of, mark_of, score_of, time_of, weight_of
from privrank_jax.data.columns import Column, Faults, Table, repeated
from privrank_jax.data.covariates import (
    Covariates,
    arranged,
    covariate_roles,
    read_covariates,
)
from privrank_jax.data.errors import BadCell, DataError, quoted, say
from privrank_jax.data.file import Origin
from privrank_jax.data.header import check_no_counts, find_columns, without
from privrank_jax.data.kinds import (
    NO_USERS,
    SEEN_ITEMS,
    Data,
    Meetings,
    counted_note,
    meetings_of_pairs,
    named_once,
    public_facts,
)
from privrank_jax.data.names import Names, check_names, form, is_blank, public_items
from privrank_jax.data.shapes import (
    LEFT,
    LETTERS,
    RIGHT,
    TIE,
    WORDS,
    Battle,
    OneHot,
    Pairs,
    Scores,
    Shape,
    Tally,
    advice_on,
    check_outcomes,
    folded,
    shape_of,
)

if TYPE_CHECKING:
    from privrank_jax.comparisons import Comparisons as Arrays
    from privrank_jax.data.rankings import Rankings
    from privrank_jax.pairwise.covariates import CovariateTable

_BROKEN = (
    "each ranking of k items counts as the k(k - 1)/2 comparisons of its pairs, equal ranks as ties"
)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Comparisons(Data):
    """N comparisons of m named items by n users, as NumPy arrays that nothing writes to.

    The list of items is public: it appears in the output of every release. A reader that had no public list says in
    ``notes`` that it took the items from the data.

    Attributes:
        users: (N,) int32, index into ``user_names`` (the row number when the data name no users).
        winners: (N,) int32, index into ``item_names``; for a tie the first item that was shown.
        losers: (N,) int32, the other item.
        tied: (N,) bool, the user preferred neither.
        item_names: the m names, in the public order of a named data set, else sorted.
        user_names: the n original user ids, or () when the data name no users; then each row stands for itself and
            only a guarantee per comparison can be given.
        name: name of the data set or file.
        questionnaire: (P, 2) int32, the pairs that *every* user was asked, when that is public; else None. It lists
            what was asked, not what was answered: see ``missing``.
        notes: what the reader did to the data (rows left out, a column turned), one sentence each; of the form of the
            data only, so that a private release may show them.
        reading: what was detected in the form of a file, rather than said by the caller; part of the notes, unless
            rows of users decide it, as the keys of JSON objects do.
        remarks: what the reader did, with what was counted in the data or depends on rows, for the data holder only.
        public: facts that this reading takes as public, by their names in a
            :class:`~privrank_jax.privacy.Guarantee`: ``"items"`` where the list of items was read off the data.
        weights: (N,) float64, at least 0, or None where each comparison counts once.
        weight_column: the column that they come from.
        covariates: of each comparison, or None.
        times: (N,) datetime64[us], UTC, or None.
        users_are: what one user is, such as ``"column 'user'"``; "" where the data name none.
        origin: where the data come from.

    Raises:
        DataError: arrays that do not fit together, an index out of range, an item compared with itself, fewer than two
            items, or an item named twice.

    >>> users, winners, losers, tied = [0, 0, 1], [0, 1, 0], [1, 2, 2], [False, False, True]
    >>> found = Comparisons(users, winners, losers, tied, item_names=("a", "b", "c"))
    >>> found.num_items, found.num_users, found.comparisons_per_user, found.ties
    (3, 2, 2, 1)
    """

    users: Integer[np.ndarray, "rows"]
    winners: Integer[np.ndarray, "rows"]
    losers: Integer[np.ndarray, "rows"]
    tied: Bool[np.ndarray, "rows"]
    item_names: tuple[str, ...]
    user_names: tuple[str, ...] = ()
    name: str = ""
    questionnaire: Integer[np.ndarray, "pairs 2"] | None = None
    notes: tuple[str, ...] = ()
    reading: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    public: tuple[str, ...] = ()
    weights: Float[np.ndarray, "rows"] | None = None
    weight_column: str = ""
    covariates: Covariates | None = None
    times: Shaped[np.ndarray, "rows"] | None = None
    users_are: str = ""
    origin: Origin | None = None

    def __post_init__(self) -> None:
        for field, dtype in (
            ("users", np.int32),
            ("winners", np.int32),
            ("losers", np.int32),
            ("tied", np.bool_),
            ("weights", np.float64),
        ):
            if getattr(self, field) is not None:
                self._freeze(field, np.array(getattr(self, field), dtype=dtype))
        if self.questionnaire is not None:
            self._freeze("questionnaire", np.array(self.questionnaire, np.int32).reshape(-1, 2))
        for field in ("item_names", "user_names", "notes", "reading", "remarks", "public"):
            object.__setattr__(self, field, tuple(getattr(self, field)))
        self._check()

    def _freeze(self, field: str, array: np.ndarray) -> None:
        array.setflags(write=False)
        object.__setattr__(self, field, array)

    def _check(self) -> None:
        shapes = {a.shape for a in (self.users, self.winners, self.losers, self.tied)}
        if len(shapes) != 1 or self.users.ndim != 1:
            raise DataError(f"users, winners, losers and tied must share one shape (N,): {shapes}")
        if self.weights is not None:
            right = self.weights.shape == self.users.shape and np.all(np.isfinite(self.weights))
            if not right or self.weights.min(initial=0) < 0:
                raise DataError("weights must be finite numbers of at least 0, one for each row")
        check_names(self.item_names)
        asked = () if self.questionnaire is None else (self.questionnaire,)
        for items in (self.winners, self.losers, *asked):
            if items.size and (items.min() < 0 or items.max() >= self.num_items):
                raise DataError(f"items must be given as indices 0 to {self.num_items - 1}")
        if np.any(self.winners == self.losers):
            raise DataError("an item is compared with itself: remove that row")
        bound = len(self.user_names) or None
        if self.users.size and (self.users.min() < 0 or (bound and self.users.max() >= bound)):
            raise DataError("users must be indices into user_names")

    def __len__(self) -> int:
        return self.users.size

    @property
    def num_users(self) -> int:
        """Number n of users; those whose answers are all missing count too."""
        return len(self.user_names) or int(self.users.max(initial=-1)) + 1

    @property
    def counts_per_user(self) -> Int[np.ndarray, "users"]:
        """(n,) int64, comparisons of each user. Private: do not publish without noise."""
        return np.bincount(self.users, minlength=self.num_users)

    @property
    def comparisons_per_user(self) -> int:
        """The largest number of comparisons of one user, the smallest L that drops nothing."""
        return int(self.counts_per_user.max(initial=0))

    def meetings(self, items: Sequence[int]) -> Meetings:
        """How often each of these items was compared with each item, and how often it would be by chance.

        Args:
            items: k places of items.

        Returns:
            Two ``(k, m)`` arrays. Private.
        """
        once = np.ones(len(self))
        return meetings_of_pairs(self.winners, self.losers, once, self.num_items, items)

    @property
    def ties(self) -> int:
        """Number of ties."""
        return int(self.tied.sum())

    def ties_of_pairs(self) -> Float[np.ndarray, "items items"]:
        """(m, m) symmetric, how many comparisons of each pair are ties. Private.

        >>> Comparisons([0, 0], [0, 1], [1, 0], [True, False], ("a", "b")).ties_of_pairs().tolist()
        [[0.0, 1.0], [1.0, 0.0]]
        """
        first, second = self.winners[self.tied], self.losers[self.tied]
        found = count_on_host(first, second, self.num_items, None, None)
        return found + found.T

    @property
    def rare_items(self) -> tuple[str, ...]:
        """Items that one user alone was shown, or one row where the data name no users. Private."""
        return named_once(self.item_names, self.users, self.winners, self.losers)

    @property
    def missing(self) -> int | None:
        """Questions left unanswered, over all users; None without a questionnaire.

        The sensitivity 2 maxcut(G) of noisy counts holds while *which* questions a user answered is public. Where an
        answer may also vanish or appear, a pair inside a side of the cut can move the totals by 1, and the bound is
        maxcut(G) + P.
        """
        if self.questionnaire is None:
            return None
        return len(self.questionnaire) * self.num_users - len(self)

    def arrays(self) -> Arrays:
        """The same comparisons as a pytree of JAX arrays, no row masked."""
        import jax.numpy as jnp

        from privrank_jax.comparisons import Comparisons as Arrays

        columns = (self.users, self.winners, self.losers, self.tied, np.ones(len(self), bool))
        return Arrays(*map(jnp.asarray, columns), num_items=self.num_items)

    def covariate_table(
        self,
        bounds: dict[str, tuple[float, float]] | None = None,
        kept: Bool[np.ndarray, "rows"] | None = None,
        *,
        private: bool = False,
    ) -> CovariateTable:
        """The rows that are kept, as :func:`~privrank_jax.pairwise.covariate_table` makes it.

        Args:
            bounds: name to (low, high), between which values are clipped.
            kept: (N,) bool; default: all rows.
            private: whether covariates are; each needs bounds then, but for the advantage of the first item.

        Raises:
            ValueError: there are no covariates, or as there.
        """
        from privrank_jax.pairwise import covariate_table

        if self.covariates is None:
            raise ValueError(f"{self.name} was read without covariates.")
        found, rows = self.covariates, np.ones(len(self), bool) if kept is None else kept
        outcomes = np.where(self.tied, 0.5, found.first == self.winners)
        return covariate_table(
            found.first[rows],
            found.second[rows],
            outcomes[rows],
            {name: column[rows] for name, column in found.values.items()},
            num_items=self.num_items,
            users=self.users[rows],
            bounds={**dict.fromkeys(found.sides, (0.0, 1.0)), **(bounds or {})},
            private=private,
        )


@dataclasses.dataclass(frozen=True)
class Plan:
    """Which columns of a table of comparisons are read, by its header alone.

    Attributes:
        shape: how comparisons are written; None: winners and losers.
        columns: roles to columns.
        unused: columns without a role.
        ignored: columns that are left out.
        public: the list of items, if there is one.
        names: of all columns, which no item has.
        asked: the arguments of :func:`plan_of`.
    """

    shape: Shape | None
    columns: dict[str, str]
    unused: list[str]
    ignored: list[str]
    public: tuple[str, ...] | None
    names: tuple[str, ...]
    asked: dict[str, Any]

    @property
    def by_cells(self) -> bool:
        """Whether rows with the same items, outcome and tie say the same, but for their user."""
        beside = {"count", "weight", "time", "side", "group"} & self.columns.keys()
        return not (isinstance(self.shape, Pairs | Tally) or beside or self.asked["covariates"])

    def but(self, role: str) -> Plan:
        """The same without a role."""
        columns = {one: column for one, column in self.columns.items() if one != role}
        return dataclasses.replace(self, columns=columns)


def plan_of(
    name: str,
    header: Sequence[str],
    *,
    user: str | None = "user",
    winner: str = "winner",
    loser: str = "loser",
    tie: str | None = "tie",
    count: str | None = None,
    weight: str | None = None,
    items: Iterable[str] | None = None,
    ignore: Iterable[str] = (),
    covariates: Sequence[str] = (),
    side: str | None = None,
    group: str | None = None,
    time: str | None = None,
    **sides: str | None,
) -> Plan:
    """Recognize how comparisons are written; :func:`privrank_jax.read` explains the arguments.

    Args:
        name: of the file, for messages.
        header: names of its columns.
        user, winner, loser, tie, count, weight, items, ignore, covariates, side, group, time: as there.
        sides: ``left``, ``right``, ``outcome``, ``left_wins``, ``right_wins``, ``left_score``, ``right_score``.

    Raises:
        DataError: a column is missing, has two roles, or would be misread.
    """
    public = None if items is None else public_items(items)
    kept = without(name, header, ignore)
    shape = shape_of(name, kept, winner, loser, **sides)
    roles = {"user": user, "tie": tie, "count": count, "weight": weight, "time": time}
    pair = (winner, loser)
    if isinstance(shape, Pairs | Tally):
        if covariates or side or group or time:
            raise DataError(
                f"{name}: a row is several comparisons, and covariates and times are read of each: write a row for "
                "each comparison"
            )
    else:
        if shape is None and side in pair:  # who was first would say who won
            raise DataError(f"{name}: column {side!r} has two roles: name one column for each")
        pair = pair if shape is None else (shape.left, shape.right)
        roles |= covariate_roles(name, kept, pair, covariates, side, group)
    if isinstance(shape, Tally) and count is not None:
        raise DataError(
            f"{name}: wins are counts already, and {say('count', count)} counts rows: leave out one of them"
        )
    try:
        columns, unused = find_columns(name, kept, roles | _item_roles(shape, pair))
    except DataError as error:
        raise DataError(f"{error}{advice_on(kept) if shape is None else ''}") from None
    check_no_counts(name, unused)
    if shape is None:
        check_outcomes(name, [one for one in kept if one not in pair], *pair)
    elif "tie" in columns and not isinstance(shape, Battle):
        raise DataError(
            f"{name}: column {tie!r} marks ties, and so may other columns: say {say('tie', None)} if outcomes say it, "
            "or remove it"
        )
    asked = {"user": user, "covariates": tuple(covariates), "side": side}
    ignored = [column for column in header if column not in kept]
    return Plan(shape, columns, unused, ignored, public, (*columns.values(), *unused), asked)


def read_comparisons(table: Table, **asked: Any) -> Comparisons:
    """Read comparisons from an opened table.

    Args:
        table: the columns.
        asked: as for :func:`plan_of`.

    Raises:
        DataError: what is wrong, where, and how to fix it.
    """
    return read_planned(table, plan_of(table.name, table.header, **asked))


def read_planned(table: Table, plan: Plan) -> Comparisons:
    """Read the columns of a plan."""
    shape, columns, public = plan.shape, plan.columns, plan.public
    covariates, side = plan.asked["covariates"], plan.asked["side"]
    cells = dict(zip(columns, table.columns(list(columns.values()))))
    if shape is None:
        cells |= {"left": cells["winner"], "right": cells["loser"]}
    faults, number = Faults(table), None
    if "count" in cells:
        counted = faults.read(cells["count"], count_of)
        faults.rows = np.flatnonzero(counted)
        cells = {role: column.take(faults.rows) for role, column in cells.items()}
        number = counted[faults.rows]
    weights = faults.read(cells["weight"], weight_of, float) if "weight" in cells else None
    named_items = Names("item", True, public or getattr(shape, "items", None), plan.names)
    met = _compared(faults, cells, shape, named_items)
    people, users = Names("user", False), None
    if "user" in cells:
        part = faults.part(met.rows)
        users = part.read(cells["user"].take(met.rows), people.__getitem__)
        faults.join(part)
    tied = np.zeros(met.rows.size, bool)
    if "tie" in cells:
        tied = faults.read(cells["tie"], mark_of).astype(bool)
    outcome, spoken = _outcomes(faults, cells, shape, met, tied, named_items)
    found = None
    if covariates or side is not None:
        both = [cells[role] for role in ("left", "right")]
        found = read_covariates(faults, cells, covariates, side, both)
    times = faults.read(cells["time"], time_of, "datetime64[us]") if "time" in cells else None
    faults.stop()
    if not met.rows.size:
        what = "answers" if isinstance(shape, Pairs) else "rows"
        raise DataError(f"{table.name} has no {what} below its header: there is nothing to rank")
    _check_words(table.name, spoken, named_items)
    names, place = named_items.in_order()
    first, second = (np.array(place)[codes] for codes in (met.first, met.second))
    each = np.arange(met.rows.size)
    if number is not None or met.number is not None:
        once = np.ones(met.rows.size, np.int64)
        once = once if number is None else once * number[met.rows]
        each = repeated(table.name, once if met.number is None else once * met.number, users)
    turned = outcome == RIGHT
    notes = (SEEN_ITEMS,) * (public is None) + (NO_USERS,) * ("user" not in cells)
    if number is not None:
        notes = (counted_note(columns["count"]), *notes)
    if weights is not None:
        notes = (f"each row has the weight in column {columns['weight']!r}", *notes)
    if found is not None:
        shown, numbers, groups = found
        at = met.rows
        numbers = {name: column[at] for name, column in numbers.items()}
        groups = None if groups is None else groups[at]
        found = arranged(table.name, first, second, shown[at], numbers, groups, side).taken(each)
    return Comparisons(
        users=np.arange(each.size) if users is None else users[each],
        winners=np.where(turned, second, first)[each],
        losers=np.where(turned, first, second)[each],
        tied=(outcome == TIE)[each],
        weights=None if weights is None else weights[met.rows][each],
        weight_column=columns.get("weight", ""),
        covariates=found,
        times=None if times is None else times[met.rows][each],
        item_names=names,
        user_names=tuple(people),
        name=table.name,
        public=public_facts(seen_items=public is None),
        users_are="" if plan.asked["user"] is None else of_column(plan.asked["user"]),
        **table.said(
            *(() if shape is None else (shape.reading,)),
            notes=notes,
            unused=[one for one in table.header if one in (*plan.unused, *plan.ignored)],
        ),
    )


class _Met(NamedTuple):
    """Pairs of items that were compared, in order: the row of each, its items' codes, and how often it counts."""

    rows: np.ndarray
    first: np.ndarray
    second: np.ndarray
    number: np.ndarray | None = None
    answers: np.ndarray | None = None  # in a file of pairs: the column of each


def _item_roles(shape: Shape | None, pair: tuple[str, str]) -> dict[str, str]:
    """The columns of items and of what says which is preferred, by roles."""
    if isinstance(shape, Pairs):
        return {f"pair {k}": column for k, (column, *_) in enumerate(shape.columns)}
    if shape is None:
        return {"winner": pair[0], "loser": pair[1]}
    roles = {"left": pair[0], "right": pair[1]}
    if isinstance(shape, OneHot):
        return roles | {f"outcome {k}": column for k, column in enumerate(shape.outcomes)}
    return shape._asdict()


def _compared(faults: Faults, cells: dict[str, Column], shape: Shape | None, names: Names) -> _Met:
    """The pairs that were compared; a blank is no answer in a file of pairs, nor is a mark of a missing value."""
    if isinstance(shape, Pairs):
        answered = np.stack(
            [
                np.array([not _no_answer(word, pair) for word in cells[f"pair {k}"].words], bool)[
                    cells[f"pair {k}"].codes
                ]
                for k, (_, *pair) in enumerate(shape.columns)
            ],
            axis=1,
        )
        faults.some_key([cells[f"pair {k}"] for k in range(len(shape.columns))])
        rows, answers = np.nonzero(answered)
        pairs = []
        for column, *pair in shape.columns:
            try:
                pairs.append([names[item] for item in pair])
            except BadCell as error:
                raise DataError(f"{faults.table.name}, column {column!r}: {error}") from None
        codes = np.array(pairs)
        return _Met(rows, codes[answers, 0], codes[answers, 1], None, answers)
    number = None
    if isinstance(shape, Tally):
        wins = [
            faults.read(cells[role], count_of, np.int64) for role in ("left_wins", "right_wins")
        ]
        number = np.stack(wins, axis=1).ravel()
    first, second = faults.together([cells["left"], cells["right"]], names.__getitem__)
    right = cells["right"]
    faults.where(
        first == second,
        right.name,
        lambda row: (
            f"item {quoted(right.words[right.codes[row]])} is compared with itself: correct or remove the row"
        ),
    )
    rows = np.arange(first.size)
    if number is None:
        return _Met(rows, first, second)
    some = np.flatnonzero(number)
    rows = np.repeat(rows, 2)[some]
    return _Met(rows, first[rows], second[rows], number[some], some % 2)


def _no_answer(word: Any, pair: Sequence[str]) -> bool:
    """Whether a cell of a file of pairs holds nothing, or a mark of a missing value that no item has as its name."""
    return word not in pair and not isinstance(word, tuple) and is_blank(word)


def _outcomes(
    faults: Faults,
    cells: dict[str, Column],
    shape: Shape | None,
    met: _Met,
    tied: np.ndarray,
    names: Names,
) -> tuple[np.ndarray, set[str]]:
    """The outcome of each comparison, and the words that were read as one."""
    if shape is None:
        return np.where(tied, TIE, LEFT), set()
    if isinstance(shape, Tally):
        assert met.answers is not None
        return np.where(met.answers == 0, LEFT, RIGHT), set()
    if isinstance(shape, Scores):
        one, other = (faults.read(cells[role], score_of, float) for role in shape._fields[2:])
        return np.where(one == other, TIE, np.where(one > other, LEFT, RIGHT)), set()
    if isinstance(shape, OneHot):
        return _one_hot(faults, [cells[f"outcome {k}"] for k in range(len(shape.outcomes))]), set()
    if isinstance(shape, Battle):
        ties = tied
        return _spoken(faults, cells["outcome"], shape, (met.first, met.second), names, ties)
    assert met.answers is not None
    outcome, spoken = np.zeros(met.rows.size, np.int64), set()
    for k in range(len(shape.columns)):
        mine = met.answers == k
        column = cells[f"pair {k}"].take(met.rows[mine])
        part = faults.part(met.rows[mine])
        pair = met.first[mine], met.second[mine]
        outcome[mine], words = _spoken(part, column, None, pair, names)
        faults.join(part)
        spoken |= words
    return outcome, spoken


def _spoken(
    faults: Faults,
    column: Column,
    battle: Battle | None,
    pair: tuple[np.ndarray, np.ndarray],
    names: Names,
    tied: np.ndarray | None = None,
) -> tuple[np.ndarray, set[str]]:
    """Outcomes that are said in words, or by the name of an item or a column; and the words."""
    words = dict(WORDS if battle is None else battle.words)
    for side, named in zip((LEFT, RIGHT), battle[:2] if battle else ()):
        if words.setdefault(folded(named), side) != side:
            raise DataError(
                f"{faults.table.name}: column {named!r} is named like another outcome than that of its side: rename it"
            )
    known = [words.get(folded(word), -1) if isinstance(word, str) else -1 for word in column.words]
    items = [names.get(word, -1) if isinstance(word, str) else -1 for word in column.words]
    word, item = (np.array(one, np.int64)[column.codes] for one in (known, items))
    left, right = item == pair[0], item == pair[1]
    said = np.where(left, LEFT, np.where(right, RIGHT, word))
    blank = np.array([is_blank(one) for one in column.words], bool)[column.codes]
    said = said if tied is None else np.where(tied & blank, TIE, said)

    def cell(row: int) -> Any:
        return column.words[column.codes[row]]

    faults.where(said < 0, column.name, lambda row: _unknown(cell(row), battle))
    letter = np.array(
        [isinstance(one, str) and folded(one) in LETTERS for one in column.words], bool
    )
    faults.where(
        (left | right) & (word >= 0) & (word != said) & ~letter[column.codes],
        column.name,
        lambda row: (
            f"{quoted(cell(row))} is the name of an item and also a word for another outcome: rename the item in the "
            "whole file"
        ),
    )
    if tied is not None:
        faults.where(
            tied & (said != TIE),
            column.name,
            lambda row: (
                f"{quoted(cell(row))} is no tie, and another column marks one: correct one of them"
            ),
        )
    spoken = np.unique(column.codes[~(left | right) & (word >= 0)]).tolist()
    return said, {column.words[code] for code in spoken}


def _unknown(cell: Any, battle: Battle | None) -> str:
    if is_blank(cell):
        return (
            "the outcome is missing: fill it in or remove the row, or name the column that marks ties by "
            f"{say('tie')}: a blank is a tie there"
        )
    column = f" the name of its column ({battle.left!r} or {battle.right!r})," if battle else ""
    sides = (battle or Battle("", "", "")).sides
    return (
        f"{quoted(cell)} does not say which of the two items is preferred: write the item,{column} {sides}; or tie, "
        "draw, D, 0.5 or both bad"
    )


def _one_hot(faults: Faults, columns: Sequence[Column]) -> np.ndarray:
    """The one of the outcomes that is marked."""

    def mark(cell: Any) -> int:
        try:
            return mark_of(cell)
        except BadCell:
            return 2  # which no row may have

    marks = np.stack([faults.read(column, mark) for column in columns], axis=1)

    def message(row: int) -> str:
        cells = ", ".join(quoted(column.words[column.codes[row]]) for column in columns)
        names = ", ".join(repr(column.name) for column in columns)
        return f"one of the columns {names} must be 1 and the others 0, but they are {cells}: correct or remove the row"

    faults.where(marks.sum(axis=1) != 1, columns[0].name, message)
    return np.minimum(np.argmax(marks, axis=1), TIE)


def _check_words(name: str, spoken: set[str], items: Iterable[str]) -> None:
    """Raise :class:`DataError` if an item has the name of a word that was read as an outcome of two others."""
    used = {form(word): word for word in sorted(spoken)}
    for item in items:
        if form(item) in used:
            raise DataError(
                f"{name}: the outcome {quoted(used[form(item)])} of two other items is also the name of an item: "
                "rename the item in the whole file"
            )


def broken(rankings: Rankings) -> Comparisons:
    """The pairs of items that each user ranked, as comparisons of this user; items left out say nothing.

    A user who ranked k items has k(k - 1)/2 comparisons, which a guarantee for users must count as contributions. The
    twin of :func:`~privrank_jax.pairwise.break_rankings`, with ties. Where the rankings name no users, each row is one.

    Args:
        rankings: -1 for items that a user did not rank.

    Returns:
        Their comparisons, sorted by user.

    >>> from privrank_jax.data import Rankings
    >>> found = broken(Rankings([[1, 0, -1], [0, 0, 1]], item_names=("a", "b", "c")))
    >>> found.winners.tolist(), found.losers.tolist(), found.tied.tolist()
    ([1, 0, 0, 1], [0, 1, 2, 2], [False, True, False, False])
    """
    first, second = np.triu_indices(rankings.num_items, 1)
    ranks = np.asarray(rankings.ranks)
    users, pairs = np.nonzero((ranks[:, first] >= 0) & (ranks[:, second] >= 0))
    one, other = first[pairs], second[pairs]
    ahead = ranks[users, one] <= ranks[users, other]
    return Comparisons(
        users=users,
        winners=np.where(ahead, one, other),
        losers=np.where(ahead, other, one),
        tied=ranks[users, one] == ranks[users, other],
        item_names=rankings.item_names,
        user_names=rankings.user_names or tuple(map(str, range(1, rankings.num_users + 1))),
        name=rankings.name,
        notes=(_BROKEN, *rankings.notes),
        reading=(*rankings.reading, _BROKEN),
        remarks=rankings.remarks,
        public=rankings.public,
        users_are=rankings.users_are,
        origin=rankings.origin,
    )
