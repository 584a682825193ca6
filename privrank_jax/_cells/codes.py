"""Cells to codes: names of users and items, and marks of ties; each spelling is checked once, when it first appears."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from privrank_jax._arguments import value_of
from privrank_jax._cells.errors import ITEMS, BadCell, DataError
from privrank_jax._cells.names import MISSING, did_you_mean, difference, form, person, unclear
from privrank_jax._cells.outcomes import NAME_THEM, SHAPE

_TIES = {
    **dict.fromkeys(("1", "1.0", "true", "yes"), 1),
    **dict.fromkeys(("", "0", "0.0", "false", "no"), 0),
}
_FILL = "fill it in or remove the row"
_BOTH = (
    "name both items of a comparison. A tie has both of them and a 1 in a column `tie`; only a row without an answer "
    "may be left out"
)


class NameCodes(dict[Any, int]):
    """Names to codes by first appearance; a name is checked once, when it first appears.

    Args:
        what: what is named, for messages.
        fold_case: whether spellings that differ by case are one name; of users they are in e-mail addresses only.
        public: all allowed names.
        columns: columns of a file of comparisons; without ``public`` no item may have the name of a column.
        blank: of items on ballots: words that name none, whose code is -1, unless ``public`` has them; marks of which
            that is unclear are refused. None: all words are names.
    """

    def __init__(
        self,
        what: str,
        fold_case: bool,
        public: tuple[str, ...] | None = None,
        columns: Iterable[str] | None = None,
        blank: Iterable[str] | None = None,
    ) -> None:
        super().__init__({name: code for code, name in enumerate(public or ())})
        self.what, self.fold_case, self.closed = what, fold_case, public is not None
        self.spellings: dict[str, str] = {}
        self.compared = columns is not None
        self.columns = {form(column) for column in columns or ()}
        self.ballots, self.blank = blank is not None, {form(word) for word in blank or ()}

    def __missing__(self, name: str | None) -> int:
        if self.blank and form(name or "") in self.blank:
            return -1
        present = check_present(name, self.what, _BOTH if self.compared else _FILL)
        mark = value_of("blank", [present]) if self.ballots and unclear(present) else None
        if self.closed:
            blank = "" if mark is None else f", or say {mark} if it names no item"
            raise BadCell(
                f"{name!r} is not in the list of items{did_you_mean(present, self)}: correct the file "
                f"or add it to {ITEMS}{blank}",
                ITEMS,
                *(() if mark is None else (mark,)),
            )
        if mark is not None:
            raise BadCell(
                f"{name!r} may be a mark rather than an item: say {mark} if it names no item, or list the {ITEMS}, "
                "with it if it is one",
                mark,
                ITEMS,
            )
        if "\0" in present:
            raise BadCell(f"the {self.what} is {name!r}, with a NUL character: remove that")
        if form(present) in self.columns:
            raise BadCell(
                f"{present!r} is the name of a column: if cells say in which column the preferred item stands, "
                f"{NAME_THEM}. If it is an item, put it into {ITEMS}",
                *SHAPE,
                ITEMS,
            )
        shared = form(present) if self.fold_case else person(present)
        twin = self.spellings.setdefault(shared, present)
        if twin != name:
            raise named_twice(self.what, twin, present)
        self[name] = code = len(self)
        return code

    def in_order(self) -> tuple[tuple[str, ...], list[int]]:
        """The names, in the order of a public list, else sorted; and the place of each code among them.

        >>> codes = NameCodes("item", True)
        >>> codes["tea"], codes["milk"], codes.in_order()
        (0, 1, (('milk', 'tea'), [1, 0]))
        """
        names = item_list(self, tuple(self) if self.closed else None)
        place = {name: k for k, name in enumerate(names)}
        return names, [place[name] for name in self]


def check_present(name: str | None, what: str, mend: str = _FILL) -> str:
    """Return the name; raise :class:`BadCell`, with advice, if it is blank, marks a missing value or holds NUL."""
    if name is None or not form(name):
        raise BadCell(f"the {what} is missing: {mend}")
    if name.strip().casefold() in MISSING:
        message = f"the {what} is {name!r}, which marks a missing value: {mend}"
        if what != "item":
            raise BadCell(message)
        raise BadCell(f"{message}; if it is a name, put it into {ITEMS}", ITEMS)
    if "\0" in name:
        raise BadCell(f"the {what} is {name!r}, with a NUL character: remove that")
    return name


def named_twice(what: str, first: str, second: str) -> BadCell:
    """The message on two spellings of one name."""
    return BadCell(f"{what} named twice: {first!r} and {second!r} {difference(first, second)}")


class TieCodes(dict[Any, int]):
    """Cells of the tie column to 0 or 1."""

    def __missing__(self, cell: str | None) -> int:
        code = _TIES.get((cell or "").strip().casefold())
        if code is None:
            raise BadCell(f"{cell!r} does not say whether it is a tie: write 1 or 0 (yes, no)")
        self[cell] = code
        return code


def item_list(names: Iterable[str], public: tuple[str, ...] | None = None) -> tuple[str, ...]:
    """The list of items that a release shows, made here for every form of data.

    It is the public list, in the order of its author, or else the names that were found, sorted: their order in a file
    may be that of its first row, as with the keys of JSON objects, and so show what one user answered.

    >>> item_list(["tea", "milk"]), item_list(["tea", "milk"], ("tea", "water", "milk"))
    (('milk', 'tea'), ('tea', 'water', 'milk'))
    """
    return tuple(sorted(names)) if public is None else public


def check_names(names: Sequence[str]) -> None:
    """Raise :class:`DataError` unless there are at least two names, each once."""
    if len(names) < 2:
        raise DataError(f"a ranking needs at least two items, got {list(names)}")
    if len(set(names)) != len(names):
        raise DataError("an item is named twice in item_names: give each item its own name")


def public_items(items: Iterable[str]) -> tuple[str, ...]:
    """Check the given list of items: at least two names, none blank, each listed once."""
    if isinstance(items, str):
        raise DataError(f"items must be a list of names, got the single text {items!r}")
    names = tuple(str(item) for item in items)
    if len(names) < 2:
        raise DataError(f"items must name at least two items to rank, got {list(names)}")
    spellings: dict[str, str] = {}
    for name in names:
        if not form(name):
            raise DataError("items holds a blank name: remove it")
        if "\0" in name:
            raise DataError(f"items: {name!r} has a NUL character: remove that")
        if form(name) in spellings:
            twin = spellings[form(name)]
            raise DataError(f"items: item named twice, {twin!r} and {name!r}: keep one of them")
        spellings[form(name)] = name
    return names
