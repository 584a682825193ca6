"""``pr.look``: how a table is read, and what it holds, for its holder; nothing of it may be published."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from privrank_jax.data.cells import is_nothing, number_of, parsed_time
from privrank_jax.data.columns import Column, Table
from privrank_jax.data.errors import DataError, listed, quoted, short
from privrank_jax.data.file import File
from privrank_jax.data.names import unclear
from privrank_jax.data.outcomes import plan_of
from privrank_jax.data.reader import KINDS, kind_of, named_sets, open_table, read_told
from privrank_jax.data.roles import ComparisonRoles

_FEW = 12  # words or items that are shown
_MANY = 1000  # distinct words of a column, beyond which none is looked at
_FORMS = (
    "rank FILE --winner COLUMN --loser COLUMN",
    "rank FILE --left COLUMN --right COLUMN --outcome COLUMN",
    "rank FILE --chosen COLUMN --shown COLUMN",
    "rank FILE --best COLUMN --worst COLUMN --shown COLUMN",
    "aggregate FILE --items COLUMN..COLUMN",
    "aggregate FILE --items COLUMN..COLUMN --ratings LOW:HIGH",
    "aggregate FILE --items COLUMN..COLUMN --approvals",
    "aggregate FILE --item COLUMN --rank COLUMN",
    "aggregate FILE --order COLUMN --order-separator SIGN",
)
_OF_KIND = {
    "reports": "rank",
    "synthetic": "aggregate",
    "preferences": "privatize",
    "rankings": "aggregate",
}


@dataclasses.dataclass(frozen=True, repr=False)
class Look:
    """What a table holds, and how it is read. Private: for the holder of the data.

    Attributes:
        name: of the data.
        rows: their number.
        columns: groups of columns of like content, and what that is, in words.
        kind: what the table holds by the usual names of its columns; "" if they have none.
        roles: the columns that have a role by their usual names.
        reading: what was recognized.
        users, most: the number of users, and the most rows of one; None where no column names them.
        items: how often each item occurs, the most frequent first; None where it is not known what is an item.
        odd: words that may be marks rather than items.
        refused: why it can't be read as it is; "" if it can.
        commands: forms of the next command; where no usual names say what the data are, FILE and COLUMN are left open.
    """

    name: str
    rows: int
    columns: tuple[tuple[tuple[str, ...], str], ...]
    kind: str
    roles: dict[str, str]
    reading: tuple[str, ...]
    users: int | None
    most: int | None
    items: tuple[tuple[str, int], ...] | None
    odd: tuple[str, ...]
    refused: str
    commands: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {self.name!r}; print it to see what the data hold>"

    def __str__(self) -> str:
        return "\n".join(self.paragraphs())

    def paragraphs(self) -> Iterator[str]:
        """What it says, a sentence or a list each."""
        yield f"{self.name}: {self.rows:,} rows. For you alone: nothing here is private."
        for columns, content in self.columns:
            names = (
                listed(columns, 4)
                if len(columns) < 5
                else f"{columns[0]!r} to {columns[-1]!r} ({len(columns)})"
            )
            yield f"  {names}: {content}"
        if self.kind:
            roles = ", ".join(f"{one} is {column!r}" for one, column in self.roles.items())
            yield f"Read as {self.kind} by usual names{f': {roles}' * bool(roles)}."
        else:
            yield "No usual names say what it holds: name the columns, as below."
        yield from (f"{one}." for one in self.reading)
        if self.users is not None:
            yield f"{self.users:,} users, of whom one has up to {self.most:,} rows."
        if self.items is not None:
            shown = ", ".join(f"{short(item)} ({number:,})" for item, number in self.items[:_FEW])
            yield f"{len(self.items)} items: {shown}{', …' * (len(self.items) > _FEW)}"
        if self.odd:
            yield f"Words that may name no item (`blank`): {listed(self.odd)}"
        if self.refused:
            yield f"Refused as it is: {self.refused}"
        yield (
            "Next:"
            if self.kind
            else "Next, one of (with --user COLUMN, and --items seen or a list for a release):"
        )
        yield from (f"  privrank {command}" for command in self.commands)


def look(
    source: Any,
    *,
    name: str | None = None,
    separator: str | None = None,
    encoding: str | None = None,
    sheet: str | int | None = None,
) -> Look:
    """See what a table holds and how it is read; nothing is released, and nothing may be published of it.

    Args:
        source, name, separator, encoding, sheet: as for :func:`privrank_jax.read`.

    Returns:
        What was seen: columns, kind, items, odd words, and the commands to go on with.

    Raises:
        DataError: the table can't be opened.

    >>> found = look({"user": ["ann", "bob"], "winner": ["tea", "milk"], "loser": ["milk", "tea"]})
    >>> found.kind, found.users, found.items, found.commands
    ('comparisons', 2, (('milk', 2), ('tea', 2)), ('rank FILE --epsilon 1 --items seen --max-per-user L',))
    """
    if isinstance(source, str | os.PathLike):
        if str(source) in named_sets():
            raise DataError(f"{source} is a named data set: read it, and see its `notes`")
        source = source if isinstance(source, File) else File(source, separator, encoding)
    table = open_table(source, name, sheet)
    columns = table.columns(list(dict.fromkeys(table.header)))
    kind = kind_of(table.name, table.header, {})
    found, refused = None, ""
    if kind != "preferences":
        try:
            found = read_told(source, {}, name=name, sheet=sheet)
        except DataError as error:
            refused = str(error) if kind else ""
    users = getattr(found, "num_users", None) if getattr(found, "has_users", False) else None
    return Look(
        name=table.name,
        rows=len(columns[0]) if columns else 0,
        columns=tuple(_groups(columns)),
        kind=kind,
        roles=_roles(table, kind),
        reading=tuple(getattr(found, "reading", table.reading)),
        users=users,
        most=getattr(found, "comparisons_per_user", 1) if users is not None else None,
        items=_counts(found),
        odd=tuple(sorted({word for column in columns for word in _odd(column)})),
        refused=refused,
        commands=tuple(_commands(kind, str(source) if isinstance(source, File) else "FILE")),
    )


def _groups(columns: Sequence[Column]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Neighboring columns of like content, and that content."""
    group: list[str] = []
    content = ""
    for column in columns:
        found = _content(column)
        if group and found != content:
            yield tuple(group), content
            group = []
        group, content = [*group, column.name], found
    if group:
        yield tuple(group), content


def _content(column: Column) -> str:
    """What the cells of a column are, in words."""
    words = [word for _, _, word in column.in_order()]
    filled = [word for word in words if isinstance(word, tuple) or not is_nothing(word)]
    blanks = ", with blanks" if len(filled) < len(words) else ""
    if not filled:
        return "blank"
    if any(isinstance(word, tuple) for word in filled):
        return f"lists{blanks}"
    texts = [str(word) for word in filled]
    numbers = [number_of(word) for word in texts[:_MANY]]
    if all(number is not None for number in numbers):
        whole = all(float(number or 0).is_integer() for number in numbers)
        ends = f"{min(map(float, numbers)):g} to {max(map(float, numbers)):g}"  # type: ignore[arg-type]
        return f"{'whole ' * whole}numbers from {ends}{blanks}"
    if all(parsed_time(word) is not None for word in texts[:_FEW]):
        return f"times{blanks}"
    if len(filled) <= _FEW:
        return f"{', '.join(map(quoted, sorted(texts)))}{blanks}"
    return f"{len(filled):,} different texts, such as {quoted(filled[0])}{blanks}"


def _odd(column: Column) -> list[str]:
    """Words of a column that may be marks rather than items, where most are neither blank nor numbers."""
    words = [word for word in column.words if isinstance(word, str) and word.strip()]
    if len(words) > _MANY or sum(number_of(word) is None for word in words) < 2:
        return []
    return [word for word in words if unclear(word)]


def _roles(table: Table, kind: str) -> dict[str, str]:
    if kind == "comparisons":
        found = plan_of(table.name, table.header, ComparisonRoles()).columns
    elif kind:
        roles = KINDS[kind].roles()
        found = roles.find(table.header, *roles.columns())
    else:
        return {}
    user = {} if kind in ("", "preferences") else ComparisonRoles().find(table.header, "user")
    return {**({"user": "user"} if "user" in table.header else user), **found}


def _counts(data: Any) -> tuple[tuple[str, int], ...] | None:
    """How often each item occurs."""
    if data is None:
        return None
    if hasattr(data, "ranks"):
        number = np.sum(data.ranks >= 0, axis=0)
    elif hasattr(data, "sets"):
        number = np.bincount(data.sets[data.sets >= 0], minlength=data.num_items)
    elif hasattr(data, "winners"):
        number = np.bincount(np.concatenate([data.winners, data.losers]), minlength=data.num_items)
    else:
        return None
    order = sorted(zip(data.item_names, number.tolist()), key=lambda pair: (-pair[1], pair[0]))
    return tuple(order)


def _commands(kind: str, file: str) -> Iterator[str]:
    """Forms of the next command; what only the holder knows is left open."""
    if kind in ("reports", "synthetic"):
        yield f"{_OF_KIND[kind]} {file}"
    elif kind == "preferences":
        yield f"privatize {file} --epsilon 1 --out private.jsonl"
    elif kind:
        bound = " --max-per-user L" if kind != "rankings" else ""
        yield f"{_OF_KIND.get(kind, 'rank')} {file} --epsilon 1 --items seen{bound}"
    else:
        yield from _FORMS
