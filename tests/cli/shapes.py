"""Comparisons in other columns than user, winner, loser, and rows as objects of JSON."""

from __future__ import annotations

import itertools
import json
import zlib
from pathlib import Path

Comparison = tuple[str, str, str, int]
"""User, winner, loser, whether it is a tie."""


def _battles(rows: list[Comparison]) -> tuple[list[str], list[list[str]]]:
    """Two items by their names, and the side of the preferred one."""
    words = [
        (user, *sorted((one, other)), "tie" if tie else ("model_a", "model_b")[one > other])
        for user, one, other, tie in rows
    ]
    return ["user", "model_a", "model_b", "winner"], [list(row) for row in words]


def _one_hot(rows: list[Comparison]) -> tuple[list[str], list[list[str]]]:
    """The same with a column of 0 and 1 for each outcome."""
    (*header, _), cells = _battles(rows)
    outcomes = ("model_a", "model_b", "tie")
    return (
        [*header, *(f"winner_{one}" for one in outcomes)],
        [[*row[:-1], *(str(int(row[-1] == one)) for one in outcomes)] for row in cells],
    )


def _pairs(rows: list[Comparison]) -> tuple[list[str], list[list[str]]]:
    """A column for each pair of items, of which one is filled."""
    items = sorted({item for row in rows for item in row[1:3]})
    pairs = list(itertools.combinations(items, 2))
    cells = [
        [user]
        + [
            ("tie" if tie else ("left", "right")[one == pair[1]]) if {one, other} == {*pair} else ""
            for pair in pairs
        ]
        for user, one, other, tie in rows
    ]
    return ["user", *(" vs ".join(pair) for pair in pairs)], cells


SHAPES = {"battles": _battles, "onehot": _one_hot, "pairs": _pairs}


def objects(
    path: Path, header: list[str], rows: list[list[str]], who: str, *, unused: bool
) -> Path:
    """Objects of JSON of which the keys tell as much as they can of a user, whose row comes first.

    Their order is that of a hash of the row, and the first object has a key that is not used and repeats its cells.
    """
    rows = sorted(rows, key=lambda row: row[0] != who)
    filled = [any(row[k] for row in rows) for k in range(len(header))]
    found = []
    for number, row in enumerate(rows):
        cells = {name: cell or None for name, cell, some in zip(header, row, filled) if some}
        if unused and number == 0:
            cells["said " + " ".join(row)] = "yes"
        order = sorted(cells, key=lambda name: zlib.crc32(f"{row} {name}".encode()))
        found.append(json.dumps({name: cells[name] for name in order}))
    lines = "\n".join(found)
    path.write_text(f"[{lines.replace(chr(10), ', ')}]" if path.suffix == ".json" else lines)
    return path
