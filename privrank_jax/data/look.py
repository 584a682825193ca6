"""``pr.look``: how a table is read, and what it holds, for its holder; nothing of it may be published."""

from __future__ import annotations

import dataclasses
import itertools
import os
import re
import shlex
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from privrank_jax.data.cells import is_nothing, number_of, parsed_time
from privrank_jax.data.columns import Column
from privrank_jax.data.comparisons import plan_of
from privrank_jax.data.errors import DataError, listed, quoted, short
from privrank_jax.data.file import File
from privrank_jax.data.header import letters
from privrank_jax.data.names import unclear
from privrank_jax.data.reader import KINDS, defines_users, kind_of, open_source, read_told
from privrank_jax.data.roles import ComparisonRoles

_FEW = 12  # words or items that are shown
_MANY = 1000  # distinct words of a column, beyond which none is looked at
_FORMS = (
    "rank FILE --winner COLUMN --loser COLUMN",
    "rank FILE --left COLUMN --right COLUMN --outcome COLUMN",
    "rank FILE --chosen COLUMN --shown COLUMN",
    "rank FILE --best COLUMN --worst COLUMN --shown COLUMN",
    "aggregate FILE --item COLUMN --rank COLUMN",
    "aggregate FILE --order COLUMN --order-separator SIGN",
    "aggregate FILE --items COLUMN..COLUMN",
    "aggregate FILE --items COLUMN..COLUMN --ratings LOW:HIGH",
    "aggregate FILE --items COLUMN..COLUMN --approvals",
)
_USERS = re.compile(
    "(user|voter|respondent|participant|worker|judge|rater|annotator|assessor|student|person|subject|visitor)"
    "(id|name)?|pid|uid|email"
)


@dataclasses.dataclass(frozen=True, repr=False)
class Look:
    """What a table holds, and how it is read. Private: for the holder of the data; print it to see all.

    Attributes:
        kind: what the table holds by the usual names of its columns; "" if they have none.
        items: how often each item occurs, the most frequent first; None where it is not known what is an item.
        odd: words that may be marks rather than items.
        commands: forms of the next command; what only the holder knows is left open, in capitals.
        told: all that was seen, a sentence or a list each.
    """

    kind: str
    items: tuple[tuple[str, int], ...] | None
    odd: tuple[str, ...]
    commands: tuple[str, ...]
    told: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<{type(self).__name__}; print it to see what the data hold>"

    def __str__(self) -> str:
        return "\n".join(self.paragraphs())

    def paragraphs(self) -> tuple[str, ...]:
        """What was seen, and the commands."""
        return (*self.told, "Next:", *(f"  privrank {command}" for command in self.commands))


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
        What was seen.

    Raises:
        DataError: the table can't be opened, or its format says itself what it holds.

    >>> found = look({"user": ["ann", "bob"], "winner": ["tea", "milk"], "loser": ["milk", "tea"]})
    >>> found.kind, found.items
    ('comparisons', (('milk', 2), ('tea', 2)))
    """
    if isinstance(source, str | os.PathLike):
        if defines_users(source):
            raise DataError(f"{source} says itself what it holds: read it, and see its notes")
        source = source if isinstance(source, File) else File(source, separator, encoding)
    table, _ = open_source(source, name, sheet)
    columns = table.columns(list(dict.fromkeys(table.header)))
    kind, found, refused = kind_of(table.name, table.header, {}), None, ""
    if kind != "preferences":
        try:
            found = read_told(source, {}, name=name, sheet=sheet)
        except DataError as error:
            refused = str(error) if kind else ""
    roles, items = KINDS[kind].roles() if kind else None, _counts(found)
    columns_of = roles.find(table.header, *roles.columns()) if roles else {}
    if isinstance(roles, ComparisonRoles):
        columns_of = plan_of(table.name, table.header, roles).columns
    odd = tuple(sorted({word for column in columns for word in _odd(column)}))
    rows = len(columns[0]) if columns else 0
    told = [f"{table.name}: {rows:,} rows. For you alone: nothing here is private."]
    for content, group in itertools.groupby(columns, _content):
        told.append(f"  {listed([column.name for column in group])}: {content}")
    by_role = ", ".join(f"{k} is {one!r}" for k, one in columns_of.items() if one in table.header)
    said = f"Read as {kind} by usual names{by_role and f': {by_role}'}."
    told.append(said if kind else "No usual names say what it holds: name the columns, as below.")
    told += [f"{one}." for one in getattr(found, "reading", table.reading)]
    if found is not None and getattr(found, "has_users", False):
        most = getattr(found, "comparisons_per_user", 1)
        told.append(f"{found.num_users:,} users, of whom one has up to {most:,} rows.")
    if items is not None:
        shown = ", ".join(f"{short(item)} ({number:,})" for item, number in items[:_FEW])
        told.append(f"{len(items)} items: {shown}{', …' * (len(items) > _FEW)}")
    if odd:
        told.append(f"Words that may name no item (`blank`): {listed(odd)}")
    if refused:
        told.append(f"Refused as it is: {refused}")
    file = shlex.quote(str(source)) if isinstance(source, File) else "FILE"
    commands = (one.replace("FILE", file) for one in _commands(kind, columns, odd))
    return Look(kind, items, odd, tuple(commands), tuple(told))


def _content(column: Column) -> str:
    """What the cells of a column are, in words."""
    words = [word for _, _, word in column.in_order()]
    filled: list[Any] = [one for one in words if isinstance(one, tuple) or not is_nothing(one)]
    blanks = ", with blanks" * (len(filled) < len(words))
    if not filled:
        return "blank"
    if any(isinstance(word, tuple) for word in filled):
        return f"lists{blanks}"
    numbers = [number for word in filled if (number := number_of(word)) is not None]
    if len(numbers) == len(filled):
        whole = "whole " * all(map(float.is_integer, numbers))
        return f"{whole}numbers from {min(numbers):g} to {max(numbers):g}{blanks}"
    if all(parsed_time(word) is not None for word in filled[:_FEW]):
        return f"times{blanks}"
    if len(filled) <= _FEW:
        return f"{', '.join(map(quoted, sorted(filled)))}{blanks}"
    return f"{len(filled):,} different texts, such as {quoted(filled[0])}{blanks}"


def _odd(column: Column) -> set[str]:
    """Words of a column that may be marks rather than items, where others are items."""
    words = column.words if len(column.words) <= _MANY else ()
    texts = {word for word in words if isinstance(word, str) and word.strip()}
    texts = {word for word in texts if number_of(word) is None}
    found = set(filter(unclear, texts))
    return found if found != texts else set()


def _counts(data: Any) -> tuple[tuple[str, int], ...] | None:
    """How often each item occurs."""
    if hasattr(data, "ranks"):
        items = np.nonzero(data.ranks >= 0)[1]
    elif hasattr(data, "sets"):
        items = data.sets[data.sets >= 0]
    elif hasattr(data, "winners"):
        items = np.concatenate([data.winners, data.losers])
    else:
        return None
    pairs = zip(data.item_names, np.bincount(items, minlength=data.num_items).tolist())
    return tuple(sorted(pairs, key=lambda pair: (-pair[1], pair[0])))


def _commands(kind: str, columns: Sequence[Column], odd: Sequence[str]) -> Iterator[str]:
    """Forms of the next command; what only the holder knows is left open."""
    usual = [column.name for column in columns if _USERS.fullmatch(letters(column.name))]
    user = min(usual, key=lambda name: letters(name) != "user", default="COLUMN")
    told = f" --user {shlex.quote(user)}"
    words = [" ".join(word.split()) for word in odd]  # by which words of several lines are known
    if words := [word for word in words if "," not in word and word.isprintable()]:
        told += f" --blank {shlex.quote(','.join(words))}"
    told += " --epsilon 1"
    if kind in ("reports", "synthetic"):
        yield f"{'rank' if kind == 'reports' else 'aggregate'} FILE"
    elif kind == "preferences":
        yield "privatize FILE --epsilon 1 --out private.jsonl"
    elif kind == "rankings":
        yield f"aggregate FILE{told} --items seen"
    elif kind:
        yield f"rank FILE{told} --items seen --max-per-user L"
    else:
        yield from (f"{one}{told}{' --items seen' * ('--items' not in one)}" for one in _FORMS)
