"""Kamishima's order files of the SUSHI data (``sushi3a.5000.10.order``, ``sushi3b.5000.10.order``).

They may be used for research, but not passed on; they are at www.kamishima.net/sushi. A header line ``10 1`` or
``100 1`` holds the number of items; then each line ``0 10 i1 ... i10`` is one person's order: two leading numbers, and
item ids from 0, best first. The ten items of set A have other ids than the same items in set B.
"""

from __future__ import annotations

import re

import numpy as np

from privrank_jax.data.elections import check_size, in_line
from privrank_jax.data.errors import BadCell
from privrank_jax.data.file import File
from privrank_jax.data.rankings import Rankings, ranks_from_orders

SUFFIX = ".order"
SET_A = (
    "shrimp", "sea eel", "tuna", "squid", "sea urchin", "salmon roe", "egg", "fatty tuna", "tuna roll", "cucumber roll",
)  # fmt: skip
_NUMBERS = re.compile(r"\d{1,9}(?:\s+\d{1,9})*", re.ASCII)


def read_kamishima(file: File) -> Rankings:
    """Read an order file of the SUSHI data; of set B each person ranks 10 of 100 items, the others are unknown.

    Ten items are those of set A; others are named by their ids, ``item 0``, ``item 1``, ...
    """
    file.checked((SUFFIX,), "give an .order file")
    items, orders = 0, []
    for line, text in enumerate(map(str.strip, file.lines()), start=1):
        row = [int(cell) for cell in text.split()] if _NUMBERS.fullmatch(text) else []
        with in_line(file.name, line):
            if text and not items:
                items = row[0] if len(row) == 2 else 0
                if items < 2:
                    raise BadCell("the number of items and a 1 are expected first, as in 10 1")
            elif text:
                order, length = row[2:], len(orders[0]) if orders else len(row) - 2
                ids = len(set(order)) == len(order) == length > 0 and max(order) < items
                if not ids or row[1] != length:
                    raise BadCell(
                        "0, the length of the order, the same in all lines, and as many distinct ids of items, whole "
                        f"numbers from 0 to {items - 1}, are expected"
                    )
                orders.append(order)
    check_size(file.name, len(orders), items)
    known = SET_A if items == len(SET_A) else tuple(f"item {k}" for k in range(items))
    missing = "last" if len(orders[0]) == items else "unknown"
    ranks = ranks_from_orders(np.array(orders), items)
    return Rankings(ranks, item_names=known, name=file.name, missing=missing)
