"""Texts of items, best first, such as ``A>B=C`` or ``A;B;C``: what separates the items of a whole column."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Container, Iterator, Sequence
from typing import Any, NamedTuple

from privrank_jax.data.errors import BadCell, DataError, quoted, say
from privrank_jax.data.names import is_blank

_NUMBER = re.compile(r"\s*[0-9]+(\.[0-9]*)?\s*", re.ASCII)


class Sign(NamedTuple):
    """What stands between the items of an order.

    Attributes:
        name: as messages show it.
        text: between two items; None: any blanks.
    """

    name: str
    text: str | None

    def occurs_in(self, cell: str) -> bool:
        """Whether it stands in a cell, so that the cell is an order rather than a single item."""
        if self.text == ">":
            return any(sign in cell for sign in ">≻=")
        return len(cell.split()) > 1 if self.text is None else self.text in cell

    def groups_of(self, cell: str) -> list[list[str]]:
        """Items of a cell that is not blank, best first, those that are tied together.

        Only > and ≻, which are one sign, have = for ties. What ends with another sign ends with its last item.

        Raises:
            BadCell: a sign without a name beside it.

        >>> SIGNS[0].groups_of("a > b=c"), SIGNS[1].groups_of("a; b;")
        ([['a'], ['b', 'c']], [['a'], ['b']])
        """
        if self.text == ">":
            parts = cell.replace("≻", ">").split(">")
            groups = [[name.strip() for name in part.split("=")] for part in parts]
        else:
            groups = [[name.strip()] for name in cell.split(self.text)]
            lines = self.text == "\n"  # of which some may be blank
            groups = [group for group in groups if group[0]] if lines else groups
            if len(groups) > 1 and not groups[-1][0]:
                del groups[-1]
        if not all(name for group in groups for name in group):
            shown = self.name if self.text == ">" or self.text is None else repr(self.name)
            ties = ", and = between ties, such as A>B=C" if self.text == ">" else ""
            raise BadCell(
                f"{quoted(cell)} is no order: write the items, best first, with {shown} between them{ties}"
            )
        return groups

    def names_in(self, cell: str) -> set[str]:
        """The items of a cell, whether it is a whole order or not."""
        try:
            return {name for group in self.groups_of(cell) for name in group}
        except BadCell:
            return set()


SIGNS = (
    Sign(">", ">"),
    Sign(";", ";"),
    Sign("|", "|"),
    Sign("newline", "\n"),
    Sign(",", ","),
    Sign("blank", None),
)
_STRENGTH = (
    0,
    0,
    0,
    1,
    2,
    3,
)  # of two signs in a column the stronger one, whose number is smaller, counts
_WEAK = 2  # from which on names of items have such signs too, as in "Washington, DC"
_SPELLED = {
    "≻": ">",
    "space": "blank",
    "comma": ",",
    "semicolon": ";",
    "pipe": "|",
    "\\n": "newline",
    "\n": "newline",
}


def said_sign(said: str) -> Sign:
    """The sign that the caller names.

    Raises:
        DataError: it is none.

    >>> said_sign("semicolon"), said_sign("/")
    (Sign(name=';', text=';'), Sign(name='/', text='/'))
    """
    word = said if said == "\n" else said.strip().casefold() or "blank"
    name = _SPELLED.get(word, said.strip() or "blank")
    known = next((sign for sign in SIGNS if sign.name == name.casefold()), None)
    if known is None and any(sign.isalnum() for sign in name):
        raise DataError(
            f"{say('order_separator', said)} is none: give what stands between the items of an order, without letters "
            "and digits, or newline or blank"
        )
    return known or Sign(name, name)


def sign_of(name: str, column: str, cells: Collection[str], public: Collection[str] | None) -> Sign:
    """What separates the items of a column of orders: one sign for all of its cells, by their form.

    With a list of items it is the first sign that no item of the list has and by which each cell names items of the
    list alone. Without one, each cell must have the sign, or be an item that a cell with the sign names; comma and
    blank separate only where each item stands in two different cells, for names of items have them too. Of several such
    signs the strongest counts; a column without one is refused.

    A release may show neither the sign nor anything that depends on it but the items. Two data sets that differ in the
    rows of one user may have different signs, and yet all other rows say the same in both: by the first sign no item of
    the first has this sign, nor, with the same list of items, any of the second. So no other cell has it, else it would
    be part of an item there; and none has the second sign either.

    Args:
        name: of the file.
        column: of orders.
        cells: all that differ, without blank ones.
        public: the list of items, if there is one.

    Raises:
        DataError: no sign, or none alone, fits all cells.
    """
    if public is not None:
        free = [sign for sign in SIGNS if not any(map(sign.occurs_in, public))]
        if not free:
            raise _unclear(name, column, "items of the list have all signs that may", cells)
        listed = frozenset(public)
        fitting = (sign for sign in free if all(_only(sign.names_in(one), listed) for one in cells))
        used = (sign for sign in free if any(map(sign.occurs_in, cells)))
        return next(fitting, next(used, free[0]))
    if len(cells) < 2 and not any(sign.occurs_in(cell) for cell in cells for sign in SIGNS):
        return SIGNS[0]
    fits = [
        (strength, sign)
        for strength, sign in zip(_STRENGTH, SIGNS, strict=True)
        if _fits(sign, cells, weak=strength >= _WEAK)
    ]
    best = [sign for strength, sign in fits if strength == fits[0][0]]
    if len(best) == 1:
        return best[0]
    if best:
        both = " and ".join(repr(sign.name) for sign in best)
        raise _unclear(name, column, f"{both} may both stand between the items", cells)
    raise _unclear(name, column, "no sign stands between the items of each cell", cells)


def _unclear(name: str, column: str, why: str, cells: Collection[str]) -> DataError:
    return DataError(
        f"{name}, column {column!r}: these are no orders such as A>B>C, and no lists such as A;B;C: {why}, as in "
        f"{quoted(min(cells))}. Say what does, such as {say('order_separator', ';')}, or list the {say('items')}"
    )


def _only(names: set[str], listed: frozenset[str]) -> bool:
    return bool(names) and names <= listed


def _fits(sign: Sign, cells: Collection[str], *, weak: bool) -> bool:
    """Whether each cell has the sign or is an item of one that has it; ``weak``: and each item is in two cells."""
    orders = [cell for cell in cells if sign.occurs_in(cell)]
    number = Counter(item for cell in orders for item in sign.names_in(cell))
    explained = all(sign.occurs_in(cell) or cell.strip() in number for cell in cells)
    return bool(orders) and explained and not (weak and min(number.values(), default=0) < 2)


def check_no_ranks(name: str, columns: Sequence[str], items: Collection[str]) -> None:
    """Raise :class:`DataError` where all cells below places are numbers, so that they may be ranks of items."""
    if items and all(_NUMBER.fullmatch(item) for item in items):
        raise DataError(
            f"{name}: its columns {', '.join(map(repr, columns[:2]))}, ... are places, but all their cells are "
            f"numbers. If these are items, best first, list the {say('items')}; if they are ranks of items, name the "
            "columns after the items"
        )


def orders_note(columns: Sequence[str], *, approved: bool) -> str:
    """How such columns are read, in words that depend on them alone; ``approved``: whether in no order."""
    if approved:
        return f"column {columns[0]!r} holds the items that a user approves of, such as A;B;C, in any order"
    if len(columns) == 1:
        return (
            f"column {columns[0]!r} holds orders such as A>B=C or A;B;C, the best first, = for ties"
        )
    return f"columns {columns[0]!r} to {columns[-1]!r} are places, so their cells are items, the best in {columns[0]!r}"


def places_in(cell: Any, sign: Sign, listed: Container[str] = ()) -> Iterator[tuple[int, str]]:
    """The items of a cell with their places, from 0; a cell may be a list, and a listed item named like a blank.

    Raises:
        BadCell: a sign without a name beside it.
    """
    if isinstance(cell, tuple):
        yield from (
            (place, one) for place, one in enumerate(cell) if one is not None and one.strip()
        )
    elif not is_blank(cell) or str(cell or "").strip() in listed:
        for place, group in enumerate(sign.groups_of(cell)):
            yield from ((place, name) for name in group)
