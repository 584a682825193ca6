"""Kamishima's order files of the SUSHI data (``sushi3a.5000.10.order``, ``sushi3b.5000.10.order``).

They may be used for research, but not passed on; they are at www.kamishima.net/sushi. A header line ``10 1`` or
``100 1`` holds the number of items; then each line ``0 10 i1 ... i10`` is one person's order: two leading numbers, and
item ids from 0, best first. The ten items of set A have other ids than the same items in set B.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from privrank_jax.data.errors import DataError
from privrank_jax.data.file import File
from privrank_jax.data.names import form
from privrank_jax.data.rankings import MOST_CELLS, Rankings, ranks_from_orders

SUFFIX = ".order"
SET_A = (
    "shrimp", "sea eel", "tuna", "squid", "sea urchin", "salmon roe", "egg", "fatty tuna", "tuna roll", "cucumber roll",
)  # fmt: skip
_ID = re.compile(r"\d{1,9}", re.ASCII)
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
    path = file.path
    rows = [(k, line.strip()) for k, line in enumerate(file.lines(), start=1) if line.strip()]
    numbers = []
    for line, text in rows:
        if not _NUMBERS.fullmatch(text):
            raise DataError(
                f"{path.name}, line {line}: whole numbers between blanks are expected here"
            )
        numbers.append([int(cell) for cell in text.split()])
    if not numbers or len(numbers[0]) != 2 or numbers[0][0] < 2:
        raise DataError(
            f"{path.name}: the first line must hold the number of items and a 1, as in 10 1"
        )
    if len(numbers) == 1:
        raise DataError(f"{path.name} has no orders below its first line: there is nothing to rank")
    items, length = numbers[0][0], len(numbers[1])
    for (line, _), row in zip(rows[1:], numbers[1:]):
        if len(row) != length or length < 3 or row[1] != length - 2:
            raise DataError(
                f"{path.name}, line {line}: {len(row)} numbers, of which the second must be the length of the "
                f"order, and all orders as long as the first, {length - 2}"
            )
        if max(row[2:], default=items) >= items or len(set(row[2:])) != len(row[2:]):
            raise DataError(
                f"{path.name}, line {line}: item ids must be distinct and from 0 to {items - 1}"
            )
    if (len(numbers) - 1) * items > MOST_CELLS:
        raise DataError(
            f"{path.name}: {len(numbers) - 1:,} orders times {items:,} items is more than this reader accepts "
            f"({MOST_CELLS:,})"
        )
    orders = np.array(numbers[1:], np.int64)[:, 2:]
    return Rankings(
        ranks_from_orders(orders, items),
        item_names=SET_A if items == len(SET_A) else _names(path.with_name("sushi3.idata"), items),
        name=path.name,
        missing="last" if length - 2 == items else "unknown",
    )


def _names(path: Path, items: int) -> tuple[str, ...]:
    """Names of set B: tab-separated lines (id, name, ...), in some copies below a header."""
    if not path.exists():
        return tuple(f"item {k}" for k in range(items))
    cells = [line.rstrip("\r\n").split("\t") for line in File(path).lines() if line.strip()]
    rows = [row for row in cells if _ID.fullmatch(row[0].strip()) and len(row) > 1]
    names = {int(row[0]): row[1].strip() for row in rows}
    if len(rows) != items or set(names) != set(range(items)):
        raise DataError(f"{path.name} does not name the items 0 to {items - 1}, each once")
    if "" in names.values() or len({form(name) for name in names.values()}) < items:
        raise DataError(
            f"{path.name} has an item without a name, or two with the same name: fix it"
        )
    return tuple(names[k] for k in range(items))
