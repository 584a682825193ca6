"""PrefLib's files of orders, ``.soc``, ``.soi``, ``.toc`` and ``.toi``, and of categories, ``.cat``.

A faulty file is refused as a whole. In a suffix, s stands for strict orders, t for ties, c for complete ones, i for
those that may leave alternatives out. The format, which is that since 2022, has a header of lines ``# KEY: value``
(with ``# ALTERNATIVE NAME k: name``), then lines ``count: 1,{2,3},4``. Alternatives are numbered from 1, the best comes
first, those in braces are tied. A line of categories has a group for each of them, the best first, ``{}`` for none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from privrank_jax.data.elections import approved, check_size, counted, distinct, in_line, whole
from privrank_jax.data.errors import BadCell, DataError, quoted
from privrank_jax.data.file import File
from privrank_jax.data.rankings import Rankings, Ratings

SUFFIXES = {
    ".soc": "complete orders without ties",
    ".soi": "orders without ties, which may leave alternatives out",
    ".toc": "complete orders, which may have ties",
    ".toi": "orders that may have ties and leave alternatives out",
    ".cat": "categories",
}
_GROUP = r"\s*(?:\d+|\{[\d\s,]*\})\s*"
_GROUPS = re.compile(rf"{_GROUP}(?:,{_GROUP})*", re.ASCII)
_NAME_KEY = re.compile(r"ALTERNATIVE NAME (\d+)", re.ASCII)


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
            match, no names, no orders.
    """
    suffix = file.checked(SUFFIXES, "of PrefLib, .soc, .soi, .toc, .toi and .cat files are read")
    return parse_preflib(file.lines(), file.name, suffix)


def parse_preflib(text: Iterable[str], name: str, suffix: str) -> Rankings:
    """The lines of a PrefLib file into a table; see :func:`read_preflib`."""
    names: list[tuple[int, str]] = []
    stated: dict[str, tuple[int, int]] = {}  # what: line, number
    orders: list[tuple[int, int, list[list[str]]]] = []  # line, count, groups
    for line, row in enumerate(map(str.strip, text), start=1):
        first, colon, rest = map(str.strip, row.lstrip("#").partition(":"))
        key = first.upper()
        with in_line(name, line):
            if row and not row.startswith("#"):
                if not colon:
                    raise BadCell(
                        f"{quoted(row)} is no order: write count: 1,2,3, as PrefLib does since 2022"
                    )
                count = whole("the count of an order", first, least=1)
                orders.append((line, count, _groups(rest, suffix)))
            elif found := _NAME_KEY.fullmatch(key):
                k = whole("the number of an alternative", found[1], least=1)
                names.append((k, rest))
            elif key.startswith("NUMBER "):
                what = key.removeprefix("NUMBER ").replace("PREFERENCES", "ORDERS").lower()
                stated[what] = line, whole(key, rest, least=0)
            elif key == "DATA TYPE" and rest.casefold() not in ("", suffix[1:]):
                raise BadCell(f"DATA TYPE is {quoted(rest)}, but the suffix {suffix}: fix one")
    if not names:
        raise DataError(f"{name} names no alternatives: it needs lines # ALTERNATIVE NAME 1: name")
    if sorted(k for k, _ in names) != list(range(1, len(names) + 1)):
        raise DataError(f"{name}: number the alternatives from 1 to {len(names)}, each once")
    labels = distinct(name, [label for _, label in sorted(names)])
    ranks, counts = counted(name, "alternative", len(names), orders)
    lines = dict[bytes, int]()
    for row, (line, _, groups) in zip(ranks, orders):
        with in_line(name, line):
            _check_groups(groups, len(names), suffix, stated)
            if (twin := lines.setdefault(row.tobytes(), line)) != line:
                raise BadCell(f"the order of line {twin} again: add the two counts up")
    totals = {"alternatives": len(names), "voters": sum(counts), "unique orders": len(orders)}
    for what, found in totals.items():
        line, number = stated.get(what, (0, found))
        if number != found:
            said = f"{number} {what} are stated, but {found} are there"
            raise DataError(f"{name}, line {line}: {said}: complete the file, or fix its header")
    check_size(name, sum(counts), len(names))
    ranks = np.repeat(ranks, counts, axis=0)
    if suffix != ".cat":
        return Rankings(ranks, item_names=labels, name=name)
    scale = np.arange(stated["categories"][1] - 1, -1, -1, dtype=float)
    if len(scale) == 2:
        return approved(ranks, item_names=labels, name=name)
    return Ratings.of_levels(ranks, scale, item_names=labels, name=name)


def _groups(text: str, suffix: str) -> list[list[str]]:
    """The alternatives of each group, the best first."""
    inner = [group.strip("{} ") for group in re.findall(r"\{.*?\}|\d+", text)]
    if not _GROUPS.fullmatch(text) or (suffix != ".cat" and "" in inner):
        raise BadCell(
            f"{quoted(text.strip())} is not an order: write numbers of alternatives between commas, best first, those "
            "of one group in braces, as in 3,{1,2}"
        )
    return [[one.strip() for one in group.split(",")] if group else [] for group in inner]


def _check_groups(
    groups: list[list[str]], items: int, suffix: str, stated: dict[str, tuple[int, int]]
) -> None:
    """Refuse what the suffix of the file excludes."""
    if suffix == ".cat":
        if len(groups) > stated.get("categories", (0, 0))[1]:
            raise BadCell(
                f"{len(groups)} categories are more than a line # NUMBER CATEGORIES states: write braces around the "
                "alternatives of each, as in 3,{1,2},{}"
            )
        return
    ranked = sum(map(len, groups))
    if suffix.startswith(".s") and ranked > len(groups):
        found, other = "alternatives are tied", f".t{suffix[2:]}"
    elif suffix.endswith("c") and ranked < items:
        found, other = f"{ranked} of {items} alternatives are ranked", f"{suffix[:3]}i"
    else:
        return
    hold = f"{suffix} files hold {SUFFIXES[suffix]}"
    raise BadCell(f"{found}, but {hold}: rename the file to {other}")
