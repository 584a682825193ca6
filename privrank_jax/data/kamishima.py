"""Kamishima's order files of the SUSHI data (``sushi3a.5000.10.order``, ``sushi3b.5000.10.order``).

They may be used for research, but not passed on; they are at www.kamishima.net/sushi. A header line ``10 1`` or
``100 1`` holds the number of items; then each line ``0 10 i1 ... i10`` is one person's order: two leading numbers, and
item ids from 0, best first. The ten items of set A have other ids than the same items in set B.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from privrank_jax.data.elections import in_line
from privrank_jax.data.errors import BadCell, DataError
from privrank_jax.data.file import File
from privrank_jax.data.rankings import Rankings, check_size, ranks_from_orders

SUFFIX = ".order"
SET_A = (
    "shrimp", "sea eel", "tuna", "squid", "sea urchin", "salmon roe", "egg", "fatty tuna", "tuna roll", "cucumber roll",
)  # fmt: skip
_NUMBERS = re.compile(r"\d{1,9}(?:\s+\d{1,9})*", re.ASCII)


def read_kamishima(file: File) -> Rankings:
    """Read an order file of the SUSHI data; of set B each person ranks 10 of 100 items, the others are unknown.

    Args:
        file: ends in .order. With 10 items they are those of set A; with more, names come from a file
            ``sushi3.idata`` in the same folder, else they are ``item 0``, ``item 1``, ...

    Raises:
        DataError: what is wrong, and in which line.
    """
    file.checked((SUFFIX,), "give an .order file")
    items, orders = 0, []
    for line, text in enumerate(map(str.strip, file.lines()), start=1):
        with in_line(file.name, line):
            if text and not _NUMBERS.fullmatch(text):
                raise BadCell("whole numbers between blanks are expected here")
            row = [int(cell) for cell in text.split()]
            if row and not items:
                if len(row) != 2 or row[0] < 2:
                    raise BadCell(
                        "the first line must hold the number of items and a 1, as in 10 1"
                    )
                items = row[0]
            elif row:
                length = len(orders[0]) if orders else len(row) - 2
                if len(row) < 3 or not row[1] == len(row) - 2 == length:
                    raise BadCell(
                        f"{len(row)} numbers, of which the second must be the length of the order, and all orders as "
                        f"long as the first, {length}"
                    )
                if max(row[2:]) >= items or len(set(row[2:])) < length:
                    raise BadCell(f"item ids must be distinct and from 0 to {items - 1}")
                orders.append(row[2:])
    check_size(file.name, len(orders), items)
    known = SET_A if items == len(SET_A) else _names(file.path.with_name("sushi3.idata"), items)
    ranks = ranks_from_orders(np.array(orders), items)
    missing = "last" if len(orders[0]) == items else "unknown"
    return Rankings(ranks, item_names=known, name=file.name, missing=missing)


def _names(path: Path, items: int) -> tuple[str, ...]:
    """Names of set B: tab-separated lines (id, name, ...), in some copies below a header."""
    if not path.exists():
        return tuple(f"item {k}" for k in range(items))
    cells = [line.rstrip("\r\n").split("\t") for line in File(path).lines()]
    rows = [row for row in cells if row[0].strip().isdecimal() and len(row) > 1]
    known = {row[0].strip(): row[1].strip() for row in rows}
    if len(rows) != items or set(known) != set(map(str, range(items))):
        raise DataError(f"{path.name} does not name the items 0 to {items - 1}, each once")
    return tuple(known[str(k)] for k in range(items))
