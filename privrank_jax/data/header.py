"""Columns of a header by the names that were given, whatever their case, and by usual names; keys of JSON exactly.

**Keys of JSON objects** are those of all rows, so that one user can add a key, leave one out or spell it in another
way. No row may change how another one is read: the key that is named is the column, as it is spelled; two keys that
differ by case, blanks, ``_`` or ``-`` alone are refused, so that a usual name is that of one key; and a row that has
none of the keys that hold answers is refused (:meth:`~privrank_jax.data.columns.Faults.some_key`), so that a key of one
user makes no column that others were not asked for.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from privrank_jax.data.errors import DataError, say
from privrank_jax.data.names import did_you_mean, form

_COUNTS = {
    "count", "counts", "cnt", "n", "freq", "freqs", "frequency", "frequencies", "weight", "weights", "votes", "ballots",
    "times", "multiplicity", "repetitions", "occurrences", "howoften", "howmany", "votecount", "ballotcount",
    "rowcount", "numvotes", "nvotes", "numballots", "nballots", "numberofvotes", "numberofballots",
}  # fmt: skip
_TIES = {"tie", "ties", "tied", "istie", "istied", "draw", "draws", "drawn"}


class Keys(list[str]):
    """The keys of the JSON objects of a file as a header, of which none is taken for another."""

    def check(self, name: str) -> None:
        """Raise :class:`DataError` where two keys of a file of this name may be two spellings of one.

        >>> Keys(["item", "Item"]).check("f")
        Traceback (most recent call last):
        ...
        privrank_jax.data.errors.DataError: f: the keys 'item' and 'Item' differ only by case, blanks, _ or -: ...
        """
        known: dict[str, str] = {}
        for key in self:
            twin = known.setdefault(re.sub(r"[\s_-]", "", form(key)), key)
            if twin != key:
                raise DataError(
                    f"{name}: the keys {twin!r} and {key!r} differ only by case, blanks, _ or -: spell them one way in "
                    "all objects, or rename one of them"
                )


def but(header: Sequence[str], left_out: Collection[str | None]) -> list[str]:
    """The columns of a header but some, as a header of its kind."""
    return type(header)(column for column in header if column not in left_out)  # type: ignore[call-arg]


def letters(column: str) -> str:
    """The letters and digits of a column, without case.

    >>> letters("Model_A ")
    'modela'
    """
    return "".join(c for c in column.casefold() if c.isalnum())


def spelled_in(header: Sequence[str], column: str | None) -> str | None:
    """The column of a header that is meant: one of this name, else the only one that differs by case or outer blanks.

    >>> spelled_in(["User ", "Winner"], "user"), spelled_in(["User", "USER"], "user"), spelled_in(["User"], None)
    ('User ', 'user', None)
    >>> spelled_in(Keys(["User"]), "user")
    'user'
    """
    if column is None or column in header or isinstance(header, Keys):
        return column
    found = [other for other in header if form(other) == form(column)]
    return found[0] if len(found) == 1 else column


def without(name: str, header: Sequence[str], ignore: Iterable[str]) -> list[str]:
    """The columns of a header but those to ignore.

    Args:
        name: of the file, for messages.
        header: its columns.
        ignore: names of columns, also several in one text with commas between, where no column has that text as its
            name.

    Raises:
        DataError: there is no such column.

    >>> without("f", ["Age", "a", "b", "no, why"], ["age,b", "no, why"])
    ['a']
    """
    found: set[str | None] = set()
    for given in (ignore,) if isinstance(ignore, str) else ignore:
        parts = [part.strip() for part in given.split(",")]
        if (
            spelled_in(header, given) in header
        ):  # of keys, then, a key of one user does not decide which it is
            parts = [given, *(set(parts) & set(header) if isinstance(header, Keys) else ())]
        for column in parts:
            meant = spelled_in(header, column)
            found.add(meant if meant in header else column_of(name, header, "ignore", column))
    return but(header, found)


def column_of(name: str, header: Sequence[str], role: str, column: str) -> str:
    """The column that an argument names.

    Raises:
        DataError: there is none, or several have this name.
    """
    meant = spelled_in(header, column)
    number = list(header).count(meant or "")
    if number > 1:
        raise DataError(f"{name}: {number} columns are named {column!r}: rename one")
    if meant is None or not number:
        by = say(role.partition(" ")[0])
        none = f", or say {say('user', None)} if there is none" if role == "user" else ""
        raise DataError(
            f"{name}: no column {column!r}{did_you_mean(column, header)}; the columns are "
            f"{', '.join(map(repr, header)) or 'none'}. Name the {role} column of this file by {by}{none}"
        )
    return meant


def find_columns(
    name: str, header: Sequence[str], roles: Mapping[str, str | None]
) -> tuple[dict[str, str], list[str]]:
    """Each role's column, and the columns without a role; a tie column of the default name may be absent.

    Args:
        name: of the file, for messages.
        header: its columns.
        roles: role to the name of its column; None if there is none.

    Raises:
        DataError: a column is missing, is there twice, or has two roles.
    """
    found: dict[str, str] = {}
    for role, column in roles.items():
        if column is None:
            continue
        if role == "tie" and column == "tie" and spelled_in(header, column) not in header:
            _refuse_lookalikes(name, header, roles)
            continue
        meant = column_of(name, header, role, column)
        if meant in found.values():
            raise DataError(f"{name}: column {column!r} has two roles: name one column for each")
        twins = [one for one in header if letters(one) in _TIES and one != meant]
        if role == "tie" and column == "tie" and twins:
            raise DataError(
                f"{name}: columns {meant!r} and {twins[0]!r} both look like marks of ties: leave one out by "
                f"{say('ignore', twins[:1])}"
            )
        found[role] = meant
    return found, [column for column in header if column not in found.values()]


def _refuse_lookalikes(name: str, header: Sequence[str], roles: Mapping[str, str | None]) -> None:
    """Refuse a column of ties under another name, whose rows would be read as decisions."""
    for column in header:
        if letters(column) in _TIES and column not in roles.values():
            raise DataError(
                f"{name}: column {column!r} looks like a mark of ties: give {say('tie', column)} to use it, or "
                f"{say('tie', None)} to read every row as a decision"
            )


def check_no_counts(name: str, unused: Iterable[str], *, items: bool = False) -> None:
    """Raise :class:`DataError` if a column says, by its name, how often a row counts, and would not be used.

    Args:
        name: of the file.
        unused: columns that no argument names.
        items: whether they would be read as items.
    """
    for column in unused:
        if letters(column) in _COUNTS:
            item = f"; if it is an item, list the {say('items')}" if items else ""
            weight = "" if items else f", or {say('weight', column)} if it is a weight"
            raise DataError(
                f"{name}: column {column!r} looks like how often a row counts, and each row would count once: say "
                f"{say('count', column)}{weight}{item}; if it is something else, leave it out by "
                f"{say('ignore', [column])}"
            )
