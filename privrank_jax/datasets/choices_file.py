"""Read a file of choices from sets, one per row, into a table; a faulty file is refused as a whole."""

from __future__ import annotations

import dataclasses
import os
from array import array
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Int

from privrank_jax._cells.choice_shapes import ChoiceColumns, choices_named, shown_items
from privrank_jax._cells.codes import NameCodes, check_names, public_items
from privrank_jax._cells.columns import Roles, without
from privrank_jax._cells.counts import CountCodes, check_no_counts, counted_note, repeated
from privrank_jax._cells.errors import BadCell, DataError
from privrank_jax._cells.meetings import Meetings, meetings_of_sets
from privrank_jax._cells.public import NamedTable, notes_on_comparisons, public_facts
from privrank_jax._cells.text_files import File
from privrank_jax.datasets.formats import Source, open_source, read_header
from privrank_jax.datasets.table import named_once

if TYPE_CHECKING:
    from privrank_jax.pairwise.choices import Choices


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class ChoiceTable(NamedTable):
    """N choices of one of several named items each.

    Attributes:
        users: ``(N,)`` int32, index into ``user_names`` (the row number when the data name no users).
        sets: ``(N, s)`` int32, the items shown, index into ``item_names``, the chosen one first; -1 pads.
        item_names: the m names, in the public order of a list, else sorted.
        user_names: the n original user ids, or () when the data name no users.
        name: name of the file.
        notes: what the loader did, of the form of the data only, so that a private release may show them.
        reading: what was detected in the form of a file.
        remarks: what the loader did with columns that are no form, for the data holder only.
        public: facts that this reading takes as public: ``"items"`` where the list of items was read off the data.
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
    questionnaire: None = None  # as of other tables: nothing is known of what all users were asked

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

    def choices(self, kept: Bool[np.ndarray, "rows"] | None = None) -> Choices:
        """All choices, or those that are kept, as a pytree of JAX arrays; the others have weight 0.

        >>> table = ChoiceTable(np.arange(2), np.array([[0, 1, 2], [2, 0, -1]]), ("a", "b", "c"))
        >>> table.choices(np.array([True, False])).totals.tolist()
        [1.0, 0.0, 0.0]
        """
        import jax

        from privrank_jax.comparisons import default_float
        from privrank_jax.pairwise.choices import Choices

        weights = np.asarray(np.ones(len(self)) if kept is None else kept, default_float())
        offered = self.sets >= 0
        sets = np.where(offered, self.sets, self.sets[:, :1])
        arrays = (sets, offered, self.sets[:, 0], weights)
        shown, real, chosen, counted = jax.device_put([*map(np.ascontiguousarray, arrays)])
        return Choices(shown, real, chosen, counted, self.num_items)


def read_choices(
    path: str | os.PathLike[str],
    *,
    user: str | None = "user",
    chosen: str | None = None,
    shown: Sequence[str] = (),
    items: Iterable[str] | None = None,
    count: str | None = None,
    ignore: Iterable[str] = (),
) -> ChoiceTable:
    """Read choices from a file with a header row (CSV, TSV), JSON Lines, or a Parquet file.

    A row names the item that was chosen, and all items that were shown, the chosen one among them: in one column of
    texts such as ``A|B|C`` (also ``A;B;C``), or in a column each, blank where fewer were shown.

    Args:
        path: as for :func:`~privrank_jax.datasets.read_comparisons`.
        user: column of the user's id; None: the file names no users.
        chosen: column of the item that was chosen; default ``chosen`` or a similar name.
        shown: the column of texts, or the columns of single items; default ``shown``, ``options`` or a similar name, or
            ``shown_1``, ``shown_2``, ..., ``option_1``, ...
        items: the public list of items; default: those shown, sorted; that list is then public.
        count: column of how often a row counts, a whole number: a row that counts c times is c choices, of one user
            where the file names users.
        ignore: columns that are not used, whatever they are called.

    Returns:
        A table of N choices in the order of the file.

    Raises:
        DataError: what is wrong, where, and how to fix it: no such columns, fewer than two items in a row, one of them
            twice, a chosen item that was not shown, and what
            :func:`~privrank_jax.datasets.read_comparisons` refuses in names.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "choices.csv"
    >>> _ = path.write_text("user,chosen,shown\\nann,tea,milk|tea\\nbob,milk,milk|tea|water\\n")
    >>> table = read_choices(path)
    >>> table.item_names, table.sets.tolist()
    (('milk', 'tea', 'water'), [[1, 0, -1], [0, 1, 2]])
    """
    public, file = None if items is None else public_items(items), File.of(path)
    header = without(file.name, read_header(file), ignore)
    columns = choices_named(file.name, header, chosen, shown)
    roles: Roles = {"user": user, "chosen": columns.chosen, "count": count}
    roles |= {f"shown {k}": column for k, column in enumerate(columns.shown)}
    source = open_source(file, roles, "choice")
    check_no_counts(source.name, (one for one in source.ignored if one in header))
    return _encode(source, roles, columns, public)


def _encode(
    source: Source, roles: Roles, columns: ChoiceColumns, public: tuple[str, ...] | None
) -> ChoiceTable:
    at = source.positions
    at_shown = [at[f"shown {k}"] for k in range(len(columns.shown))]
    names, people = NameCodes("item", True, public), NameCodes("user", False)
    users, sets, column = array("i"), [], columns.chosen
    counts, often = CountCodes(), array("i")
    try:
        for row in source.rows:
            if "count" in at:
                column = roles["count"] or ""
                if not counts[row[at["count"]]]:
                    continue
                often.append(counts[row[at["count"]]])
            column = columns.shown[0]
            codes = [names[item] for item in shown_items([row[k] for k in at_shown])]
            column = columns.chosen
            first = names[(row[at["chosen"]] or "").strip()]
            if first not in codes:
                raise BadCell(f"{row[at['chosen']]!r} was chosen, but is not among the items shown")
            sets.append([first, *(code for code in codes if code != first)])
            if "user" in at:
                column = roles["user"] or ""
                users.append(people[row[at["user"]]])
    except BadCell as error:
        where = f"{source.name}, {source.where()}, column {column!r}"
        raise DataError(f"{where}: {error}", *error.arguments) from None
    if not sets:
        raise DataError(f"{source.name} has no rows below its header: there is nothing to rank")
    order, place = names.in_order()
    check_names(order)
    padded = np.full((len(sets), max(map(len, sets))), -1, np.int32)
    for number, codes in enumerate(sets):
        padded[number, : len(codes)] = [place[code] for code in codes]
    notes = notes_on_comparisons(source.positions, seen_items=public is None)
    each = np.arange(len(sets))
    if "count" in at:
        each = repeated(source.name, often)
        notes = (counted_note(roles["count"] or ""), *notes)
    return ChoiceTable(
        np.frombuffer(users, np.int32)[each]
        if "user" in at
        else np.arange(each.size, dtype=np.int32),
        padded[each],
        order,
        tuple(people),
        source.name,
        public=public_facts(seen_items=public is None),
        **source.said(columns.reading, notes=notes),
    )
