"""Tables of choices: one column of the item that was chosen, and the items shown, in one text or in a column each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from privrank_jax._arguments import value_of
from privrank_jax._cells.columns import spelled_in
from privrank_jax._cells.errors import BadCell, DataError
from privrank_jax._cells.names import form
from privrank_jax._cells.order_shapes import is_blank

_CHOSEN = ("chosen", "choice", "selected", "picked")
_SHOWN = ("shown", "options", "offered", "alternatives", "choice set")
_NUMBERED = re.compile(r"(shown|options?|offered|alternatives?)[ _.-]?[0-9]+", re.ASCII)
_BETWEEN = re.compile(r"[|;]")
CHOSEN, SHOWN = value_of("chosen", "chosen"), value_of("shown", "shown")


class ChoiceColumns(NamedTuple):
    """The columns of a table of choices.

    Attributes:
        chosen: the item that was chosen.
        shown: the items shown: one column of texts such as ``A|B|C``, or several of one item each.
    """

    chosen: str
    shown: tuple[str, ...]

    @property
    def reading(self) -> str:
        """How such columns are read, in words that depend on them alone."""
        if len(self.shown) == 1:
            shown = f"column {self.shown[0]!r} (items with | or ; between them)"
        else:
            shown = f"columns {self.shown[0]!r} to {self.shown[-1]!r} (an item each, or blank)"
        return f"column {self.chosen!r} is the item chosen from those of {shown}"


def choice_columns(
    header: Sequence[str], chosen: str | None = None, shown: Sequence[str] = ()
) -> ChoiceColumns | None:
    """The columns of choices, by the names that were given, else by usual names; None where there are none.

    >>> choice_columns(["user", "Chosen", "option_1", "option_2"])
    ChoiceColumns(chosen='Chosen', shown=('option_1', 'option_2'))
    >>> choice_columns(["user", "chosen", "rejected"]) is None
    True
    """
    found = [column for column in header if form(column) in _CHOSEN]
    texts = [column for column in header if form(column) in _SHOWN]
    numbered = [column for column in header if _NUMBERED.fullmatch(form(column))]
    one = chosen or (found[0] if len(found) == 1 else None)
    several = tuple(shown) or tuple(texts if len(texts) == 1 else numbered)
    if one is None or not several or (len(several) == 1 and several[0] in numbered):
        return None
    spelled = (spelled_in(header, column) or column for column in several)
    return ChoiceColumns(spelled_in(header, one) or one, tuple(spelled))


def choices_named(
    name: str, header: Sequence[str], chosen: str | None, shown: Sequence[str]
) -> ChoiceColumns:
    """The same where some were named; :class:`DataError` where others are not clear."""
    found = choice_columns(header, chosen, shown)
    if found is None:
        raise DataError(
            f"{name}: choices need a column of the item chosen and one of the items shown, or several of one item "
            f"each: name them by {CHOSEN} and {SHOWN}; the columns are {', '.join(map(repr, header))}",
            CHOSEN,
            SHOWN,
        )
    return found


def shown_items(cells: Sequence[str | None]) -> list[str]:
    """The items that were shown: of one text, or of several cells, of which some may be blank.

    Raises:
        BadCell: fewer than two, or one of them twice.

    >>> shown_items(["tea | milk"]), shown_items(["tea", "", "milk"])
    (['tea', 'milk'], ['tea', 'milk'])
    """
    names = _BETWEEN.split(cells[0] or "") if len(cells) == 1 else [cell or "" for cell in cells]
    items = [name.strip() for name in names if not is_blank(name)]
    if len(items) < 2:
        raise BadCell(
            "fewer than two items are shown: write them with | or ; between them, such as A|B|C, or remove the row"
        )
    if len(set(items)) < len(items):
        twice = next(item for item in items if items.count(item) > 1)
        raise BadCell(f"{twice!r} is shown twice in one row: keep it once")
    return items
