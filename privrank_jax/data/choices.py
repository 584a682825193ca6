"""Choices from sets of items, and their reader; a faulty file is refused as a whole."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Int

from privrank_jax._neighbors import of_column
from privrank_jax.data.cells import count_of
from privrank_jax.data.columns import Column, Faults, Table, repeated
from privrank_jax.data.errors import BadCell, DataError, quoted, say
from privrank_jax.data.file import Origin
from privrank_jax.data.header import check_no_counts, find_columns, without
from privrank_jax.data.kinds import (
    NO_USERS,
    SEEN_ITEMS,
    Data,
    Meetings,
    counted_note,
    meetings_of_sets,
    named_once,
    public_facts,
)
from privrank_jax.data.names import Names, check_names, public_items
from privrank_jax.data.shapes import choice_columns, shown_items

if TYPE_CHECKING:
    from privrank_jax.pairwise.choices import Choices as Arrays


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Choices(Data):
    """N choices of one of several named items each.

    Attributes:
        users: ``(N,)`` int32, index into ``user_names`` (the row number when the data name no users).
        sets: ``(N, s)`` int32, the items shown, index into ``item_names``, the chosen one first; -1 pads.
        item_names: the m names, in the public order of a list, else sorted.
        user_names: the n original user ids, or () when the data name no users.
        name: name of the file.
        notes: what the reader did, of the form of the data only, so that a private release may show them.
        reading: what was detected in the form of a file.
        remarks: what the reader did with columns that are no form, for the data holder only.
        public: facts that this reading takes as public: ``"items"`` where the list of items was read off the data.
        users_are: what one user is; "" where the data name none.
        origin: where the data come from.
    """

    users: Int[np.ndarray, "rows"]
    sets: Int[np.ndarray, "rows size"]
    item_names: tuple[str, ...]
    user_names: tuple[str, ...] = ()
    name: str = ""
    notes: tuple[str, ...] = ()
    reading: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    public: tuple[str, ...] = ()
    users_are: str = ""
    origin: Origin | None = None
    questionnaire: None = None  # as of comparisons: nothing is known of what all users were asked

    def __len__(self) -> int:
        return self.users.size

    @property
    def num_users(self) -> int:
        """The number of users; each choice is of another one where the data name none."""
        return len(self.user_names) or len(self)

    @property
    def comparisons_per_user(self) -> int:
        """The largest number of choices of one user."""
        return int(np.bincount(self.users).max(initial=0))

    @property
    def rare_items(self) -> tuple[str, ...]:
        """Items that one user alone was shown, or one row where the data name no users. Private."""
        return named_once(self.item_names, self.users, *self.sets.T)

    def meetings(self, items: Sequence[int]) -> Meetings:
        """How often each of these items was shown with each item, and how often by chance, as of rankings. Private."""
        shown = np.zeros((len(self), self.num_items + 1), bool)
        np.put_along_axis(shown, self.sets, True, axis=1)  # -1: the column that is left out
        return meetings_of_sets(shown[:, :-1], items)

    def choices(self, kept: Bool[np.ndarray, "rows"] | None = None) -> Arrays:
        """All choices, or those that are kept, as a pytree of JAX arrays; the others have weight 0.

        >>> found = Choices(np.arange(2), np.array([[0, 1, 2], [2, 0, -1]]), ("a", "b", "c"))
        >>> found.choices(np.array([True, False])).totals.tolist()
        [1.0, 0.0, 0.0]
        """
        import jax

        from privrank_jax.comparisons import default_float
        from privrank_jax.pairwise.choices import Choices as Arrays

        weights = np.asarray(np.ones(len(self)) if kept is None else kept, default_float())
        offered = self.sets >= 0
        sets = np.where(offered, self.sets, self.sets[:, :1])
        arrays = (sets, offered, self.sets[:, 0], weights)
        shown, real, chosen, counted = jax.device_put([*map(np.ascontiguousarray, arrays)])
        return Arrays(shown, real, chosen, counted, self.num_items)


def read_choices(
    table: Table,
    *,
    user: str | None = "user",
    chosen: str | None = None,
    shown: Sequence[str] = (),
    items: Iterable[str] | None = None,
    count: str | None = None,
    ignore: Iterable[str] = (),
) -> Choices:
    """Read choices from an opened table: the item that was chosen, and all that were shown, the chosen one among them.

    The items shown stand in one column of texts such as ``A|B|C`` (also ``A;B;C``) or of lists, or in a column each,
    blank where fewer were shown. :func:`privrank_jax.read` explains the arguments.

    Raises:
        DataError: what is wrong, where, and how to fix it: no such columns, fewer than two items in a row, one of them
            twice, a chosen item that was not shown, a name that is missing or spelled in two ways.

    >>> from privrank_jax.data.table import open_frame
    >>> cells = {"chosen": ["tea", "milk"], "shown": ["milk|tea", "milk|tea|water"]}
    >>> found = read_choices(open_frame(cells), user=None)
    >>> found.item_names, found.sets.tolist()
    (('milk', 'tea', 'water'), [[1, 0, -1], [0, 1, 2]])
    """
    public = None if items is None else public_items(items)
    header = without(table.name, table.header, ignore)
    columns = choice_columns(header, chosen, shown)
    if columns is None:
        raise DataError(
            f"{table.name}: choices need a column of the item chosen and one of the items shown, or several of one "
            f"item each: name them by {say('chosen', 'COLUMN')} and {say('shown', 'COLUMN')}; the columns are "
            f"{', '.join(map(repr, header))}"
        )
    roles = {"user": user, "chosen": columns.chosen, "count": count}
    roles |= {f"shown {k}": column for k, column in enumerate(columns.shown)}
    named, unused = find_columns(table.name, header, roles)
    check_no_counts(table.name, unused)
    cells = dict(zip(named, table.columns(list(named.values()))))
    faults, often = Faults(table), None
    if "count" in cells:
        counted = faults.read(cells["count"], count_of)
        faults.rows = np.flatnonzero(counted)
        cells = {role: column.take(faults.rows) for role, column in cells.items()}
        often = counted[faults.rows]
    names, people = Names("item", True, public), Names("user", False)
    sets = _sets(faults, [cells[f"shown {k}"] for k in range(len(columns.shown))], names)
    first = faults.read(cells["chosen"], lambda word: names[str(word or "").strip()])
    faults.where(
        ~np.any(sets == first[:, None], axis=1),
        columns.chosen,
        lambda row: (
            f"{quoted(cells['chosen'].words[cells['chosen'].codes[row]])} was chosen, but is not among the items "
            "shown"
        ),
    )
    users = faults.read(cells["user"], people.__getitem__) if "user" in cells else None
    faults.stop()
    if not first.size:
        raise DataError(f"{table.name} has no rows below its header: there is nothing to rank")
    order, place = names.in_order()
    check_names(order)
    sets = _chosen_first(np.append(place, -1)[sets], np.array(place)[first])
    each = np.arange(first.size) if often is None else repeated(table.name, often, users)
    notes = (SEEN_ITEMS,) * (public is None) + (NO_USERS,) * (users is None)
    return Choices(
        np.arange(each.size, dtype=np.int32) if users is None else users[each],
        sets[each],
        order,
        tuple(people),
        table.name,
        public=public_facts(seen_items=public is None),
        users_are="" if user is None else of_column(user),
        **table.said(
            columns.reading,
            notes=notes if count is None else (counted_note(named["count"]), *notes),
            unused=[one for one in table.header if one not in named.values()],
        ),
    )


def _sets(faults: Faults, columns: Sequence[Column], names: Names) -> np.ndarray:
    """The items shown in each row, ``(N, s)``, -1 where there are fewer."""
    joined = columns[0]
    if len(columns) > 1:  # rows that show the same are one word
        both, codes = np.unique(
            np.stack([column.codes for column in columns], axis=1), axis=0, return_inverse=True
        )
        words = [[column.words[k] for column, k in zip(columns, row)] for row in both.tolist()]
        joined = Column(columns[0].name, codes.ravel(), words)
    found: list[list[int]] = [[] for _ in joined.words]
    for row, code, word in joined.in_order():
        try:
            shown = shown_items(
                word if isinstance(word, list) else [word], names if names.closed else ()
            )
            found[code] = [names[item] for item in shown]
        except BadCell as error:
            faults.add(row, joined.name, error)
            break
    width = max(map(len, found), default=0)
    padded = np.array([one + [-1] * (width - len(one)) for one in found], np.int32)
    return padded.reshape(len(found), width)[joined.codes]


def _chosen_first(sets: np.ndarray, first: np.ndarray) -> np.ndarray:
    """The same sets with the chosen item first, the others in their order."""
    if not sets.size:
        return sets.astype(np.int32)
    later = np.where(sets == first[:, None], -1, np.arange(1, sets.shape[1] + 1))
    return np.take_along_axis(sets, np.argsort(later, axis=1, kind="stable"), axis=1).astype(
        np.int32
    )
