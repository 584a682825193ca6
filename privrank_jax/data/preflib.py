"""PrefLib's files of orders, ``.soc``, ``.soi``, ``.toc`` and ``.toi``, and of categories, ``.cat``.

A faulty file is refused as a whole. In a suffix, s stands for strict orders, t for ties, c for complete ones, i for
those that may leave alternatives out. The format, which is that since 2022, has a header of lines ``# KEY: value``
(with ``# ALTERNATIVE NAME k: name``), then lines ``count: 1,{2,3},4``. Alternatives are numbered from 1, the best comes
first, those in braces are tied. A line of categories has a group for each of them, the best first, ``{}`` for none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from privrank_jax.data.errors import DataError
from privrank_jax.data.file import File
from privrank_jax.data.names import form
from privrank_jax.data.rankings import MOST_CELLS, Approvals, Rankings, Ratings

SUFFIXES = {
    ".soc": "complete orders without ties",
    ".soi": "orders without ties, which may leave alternatives out",
    ".toc": "complete orders, which may have ties",
    ".toi": "orders that may have ties and leave alternatives out",
    ".cat": "categories",
}
_GROUP = r"\s*(?:\d+|\{\s*\d+(?:\s*,\s*\d+)*\s*\})\s*"
_ORDER = re.compile(rf"{_GROUP}(?:,{_GROUP})*", re.ASCII)
_CATEGORIES = re.compile(
    rf"(?:{_GROUP}|\s*\{{\s*\}}\s*)(?:,(?:{_GROUP}|\s*\{{\s*\}}\s*))*", re.ASCII
)
_NAME_KEY = re.compile(r"ALTERNATIVE NAME (\d+)", re.ASCII)
_LONGEST_NUMBER = 18  # digits; int() of more may take long, and none is meant
_TOTALS = {
    "NUMBER ALTERNATIVES": "alternatives",
    "NUMBER VOTERS": "voters",
    "NUMBER UNIQUE ORDERS": "unique orders",
    "NUMBER UNIQUE PREFERENCES": "unique orders",
    "NUMBER CATEGORIES": "categories",
}

Line = tuple[int, str]


def read_preflib(file: File) -> Rankings:
    """Read a PrefLib file of orders or categories.

    Args:
        file: ends in .soc, .soi, .toc, .toi or .cat.

    Returns:
        One row per voter. Alternatives left out are rank -1, by PrefLib's rule behind those that are ranked
        (``missing="last"``). Two categories are approvals of the first; more are ratings, from the number of categories
        less 1 down to 0.

    Raises:
        DataError: what is wrong, in which line, and how to fix it: an alternative named twice or twice in an
            order, an unknown one, a count below 1, ties or gaps that the suffix excludes, totals that do not
            match, an empty file, no orders.
    """
    suffix = file.checked(SUFFIXES, "of PrefLib, .soc, .soi, .toc, .toi and .cat files are read")
    return parse_preflib(file.lines(), file.name, suffix)


def parse_preflib(text: Iterator[str] | list[str], name: str, suffix: str) -> Rankings:
    """The lines of a PrefLib file into a table; see :func:`read_preflib`."""
    lines = [(number, line.strip()) for number, line in enumerate(text, start=1) if line.strip()]
    if not lines:
        raise DataError(f"{name} is empty: it needs the names of the alternatives and its orders")
    content = _parsed(lines, name)
    kind = content.data_type or suffix[1:]
    if kind.casefold() != suffix[1:]:
        raise DataError(
            f"{name} says DATA TYPE {kind[:40]}, but its suffix is {suffix}: rename the file, or fix its header"
        )
    return _table(content, name, suffix)


@dataclass
class _Content:
    """What a file says: alternatives by number, stated totals, lines of orders."""

    names: dict[int, str] = field(default_factory=dict)
    stated: dict[str, tuple[int, int]] = field(default_factory=dict)  # what: (line, number)
    orders: list[tuple[int, str, str]] = field(default_factory=list)  # line, count, order
    data_type: str = ""
    forms: dict[str, int] = field(default_factory=dict)  # normal form of a name -> its number

    def add_name(self, where: str, number: str, name: str) -> None:
        """Note an alternative, each number and each name once."""
        k = _number(where, "the number of an alternative", number, least=1)
        name = name.strip()
        if not name:
            raise DataError(f"{where}: alternative {k} has no name: give it one")
        if k in self.names:
            raise DataError(f"{where}: alternative {k} is named twice: keep one of the lines")
        other = self.forms.setdefault(form(name), k)
        if other != k:
            raise DataError(
                f"{where}: alternatives {other} and {k} are both named {name!r}: rename one"
            )
        self.names[k] = name


def _parsed(lines: list[Line], name: str) -> _Content:
    content = _Content()
    for number, line in lines:
        where = f"{name}, line {number}"
        first, colon, rest = line.lstrip("#").partition(":")
        if not line.startswith("#"):
            if not colon:
                raise DataError(
                    f"{where}: {_cut(line)} is no order: write count: 1,2,3, as PrefLib does since 2022"
                )
            content.orders.append((number, first, rest))
            continue
        key = first.strip().upper()
        if found := _NAME_KEY.fullmatch(key):
            content.add_name(where, found[1], rest)
        elif key in _TOTALS:
            what = _TOTALS[key]
            if what in content.stated:
                raise DataError(f"{where}: {key} is stated twice: keep one of the lines")
            content.stated[what] = number, _number(where, key, rest, least=0)
        elif key == "DATA TYPE":
            content.data_type = rest.strip()
    return content


def _table(content: _Content, name: str, suffix: str) -> Rankings:
    items = len(content.names)
    if not items:
        raise DataError(f"{name} names no alternatives: it needs lines # ALTERNATIVE NAME 1: name")
    _compare(content, name, "alternatives", items, "are named")
    if set(content.names) != set(range(1, items + 1)):
        raise DataError(
            f"{name}: the {items} alternatives must be numbered from 1 to {items}, found "
            f"{_cut(', '.join(map(str, sorted(content.names))))}"
        )
    if not content.orders:
        raise DataError(f"{name} has no orders below its header: there is nothing to rank")
    rows, counts, seen = [], [], {}
    for number, count, order in content.orders:
        where = f"{name}, line {number}"
        counts.append(_number(where, "the count of an order", count, least=1))
        if suffix == ".cat":
            row = _categories(where, order, content)
        else:
            row = _order(where, order, content.names, suffix)
        twin = seen.setdefault(row, number)
        if twin != number:
            raise DataError(f"{where}: the order of line {twin} again: add the two counts up")
        rows.append(row)
    _compare(content, name, "voters", sum(counts), "are counted in the orders")
    _compare(content, name, "unique orders", len(rows), "are there")
    if sum(counts) * items > MOST_CELLS:
        raise DataError(
            f"{name}: {sum(counts):,} voters times {items:,} alternatives is more than this reader accepts "
            f"({MOST_CELLS:,})"
        )
    ranks = np.repeat(np.array(rows, np.int32), counts, axis=0)
    said = {"item_names": tuple(content.names[k] for k in range(1, items + 1)), "name": name}
    if suffix != ".cat":
        return Rankings(ranks, **said)
    groups = content.stated["categories"][1]
    scale = np.arange(groups - 1, -1, -1, dtype=float)
    if groups == 2:
        ranks = np.where(ranks == 0, 0, 1).astype(np.int32)
        return Approvals.of_levels(ranks, scale, **said)
    return Ratings.of_levels(ranks, scale, **said)


def _categories(where: str, text: str, content: _Content) -> tuple[int, ...]:
    """The category of each alternative, from 0, -1 where it is in none."""
    if "categories" not in content.stated:
        raise DataError(f"{where}: .cat files need a line # NUMBER CATEGORIES: 2")
    groups = re.findall(r"\{[^}]*\}|\d+", text)
    if not _CATEGORIES.fullmatch(text) or len(groups) > content.stated["categories"][1]:
        raise DataError(
            f"{where}: {_cut(text.strip())} does not list its categories: write the alternatives of each: "
            "3,{1,2},{}"
        )
    found = [-1] * len(content.names)
    for place, group in enumerate(groups):
        for one in re.findall(r"\d+", group):
            k = _known(where, one, content.names)
            if found[k - 1] >= 0:
                raise DataError(f"{where}: alternative {k} is in two categories: remove one")
            found[k - 1] = place
    return tuple(found)


def _known(where: str, text: str, names: dict[int, str]) -> int:
    """The number of an alternative that there is."""
    k = _number(where, "the number of an alternative", text, least=0)
    if k not in names:
        raise DataError(
            f"{where}: there is no alternative {k}, only 1 to {len(names)}: fix the order or the header"
        )
    return k


def _order(where: str, order: str, names: dict[int, str], suffix: str) -> tuple[int, ...]:
    """Ranks of all alternatives by one order, -1 where it leaves one out."""
    if not _ORDER.fullmatch(order):
        raise DataError(
            f"{where}: {_cut(order.strip())} is not an order: write numbers of alternatives between commas, best "
            "first, ties in braces, as in 3,{1,2}"
        )
    ranks, before = [-1] * len(names), 0
    for group in re.findall(r"\{[^}]*\}|\d+", order):
        members = re.findall(r"\d+", group)
        if len(members) > 1 and suffix.startswith(".s"):
            raise DataError(
                f"{where}: a tie, {_cut(group)}, but {suffix} files hold {SUFFIXES[suffix]}: rename the file "
                f"to .t{suffix[2:]}"
            )
        for text in members:
            k = _known(where, text, names)
            if ranks[k - 1] >= 0:
                raise DataError(f"{where}: alternative {k} appears twice in one order: remove one")
            ranks[k - 1] = before
        before += len(members)
    if before < len(names) and suffix.endswith("c"):
        raise DataError(
            f"{where}: {before} of {len(names)} alternatives are ranked, but {suffix} files hold "
            f"{SUFFIXES[suffix]}: rename the file to {suffix[:3]}i"
        )
    return tuple(ranks)


def _compare(content: _Content, name: str, what: str, found: int, are: str) -> None:
    """Refuse a stated total that differs from the count."""
    line, stated = content.stated.get(what, (0, found))
    if stated != found:
        raise DataError(
            f"{name}, line {line}: {stated} {what} are stated, but {found} {are}: the file is incomplete, or "
            "its header is wrong"
        )


def _number(where: str, what: str, text: str, least: int) -> int:
    text = text.strip()
    if not re.fullmatch(r"[+-]?\d+", text, re.ASCII) or len(text) > _LONGEST_NUMBER:
        raise DataError(f"{where}: {what} is {_cut(text)}: write a whole number")
    if int(text) < least:
        raise DataError(f"{where}: {what} is {text}: it must be at least {least}")
    return int(text)


def _cut(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:40] + "...")
