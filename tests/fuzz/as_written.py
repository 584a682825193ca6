"""What a table must say, by a plain reading of the file that a loader made it from."""

from __future__ import annotations

import codecs
import contextlib
import csv
import functools
import io
import json
import math
import re

import numpy as np

from privrank_jax.data.names import form, place_of
from tests.reference import cells as reference

SIDES = {
    **dict.fromkeys(("a", "left", "model a", "item a", "option a", "1", "1.0", "item 1"), 0),
    **dict.fromkeys(("w", "win", "won", "1-0"), 0),
    **dict.fromkeys(("b", "right", "model b", "item b", "option b", "0", "0.0", "item 2"), 1),
    **dict.fromkeys(("l", "loss", "lost", "0-1"), 1),
    **dict.fromkeys(
        ("tie", "draw", "0.5", ".5", "both bad", "bothbad", "tie (bothbad)", "tie (both bad)"), 2
    ),
    **dict.fromkeys(("d", "1/2-1/2", "½-½"), 2),
}
USUAL = (
    *("user", "winner", "loser", "tie", "item", "rank", "item_1", "item_2", "report", "epsilon"),
    *("synthetic_epsilon", "budget"),
)


def text_of(content: bytes) -> str:
    """The text of a file, by its mark."""
    marked = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return content.decode("utf-16" if marked else "utf-8-sig")


def csv_rows(content: bytes, delimiter: str) -> list[dict[str, str]]:
    """Rows of a CSV file as the standard library reads them; usual columns under their usual names."""
    text, tables = text_of(content), []
    for sign in (delimiter, *(set(",;\t") - {delimiter})):
        with contextlib.suppress(csv.Error):
            lines = io.StringIO(text, newline="")
            tables.append([row for row in csv.reader(lines, delimiter=sign, strict=True) if row])
    header, *rows = next((table for table in tables if len(table[0]) > 1), tables[0])
    for name in set(USUAL) - set(header):
        spelled = [column for column in header if form(column) == name]
        header = [name if [column] == spelled else column for column in header]
    return [dict(zip(header, row, strict=True)) for row in rows]


def json_rows(content: bytes) -> list[dict[str, str]]:
    """Rows of JSON Lines; numbers as they are written."""
    read = functools.partial(json.loads, parse_int=str, parse_float=str, parse_constant=str)
    found = [read(line) for line in io.StringIO(text_of(content), newline="") if line.strip()]
    words = {True: "true", False: "false", None: ""}
    rows = [{form(key): cell for key, cell in row.items()} for row in found]
    scalar = {key for row in rows for key, cell in row.items() if not isinstance(cell, list | dict)}
    return [{key: words.get(row.get(key, ""), row.get(key, "")) for key in scalar} for row in rows]


def _known(cell: str) -> bool:
    """Whether a cell of numbers or outcomes says something."""
    return bool(cell.strip()) and cell.casefold().strip() not in ("na", "nan", "none")


def _rank(cell: str) -> int | None:
    return int(_number(cell)) if _known(cell) else None


def _number(cell: str) -> float:
    """A rank or rating, also as in "1st"."""
    return (place_of(cell) if cell.isascii() else None) or float(cell)


def _before(ranks: list[str], sign: int) -> list[int]:
    """How many items are ranked before each, or rated above where the sign is -1; -1 where it is not ranked."""
    known = [sign * _number(rank) if _known(rank) else math.inf for rank in ranks]
    return [sum(x < y for x in known) if y < math.inf else -1 for y in known]


def comparisons_as_written(table, rows, options):
    names = table.item_names
    assert [names[k] for k in table.winners] == [row["winner"] for row in rows]
    assert [names[k] for k in table.losers] == [row["loser"] for row in rows]
    assert np.all(table.winners != table.losers)
    yes = [row.get("tie", "").strip().casefold() in ("1", "1.0", "true", "yes") for row in rows]
    assert options.get("tie", "tie") is None or table.tied.tolist() == yes
    if options["user"] in rows[0]:
        assert [table.user_names[k] for k in table.users] == [row[options["user"]] for row in rows]
    if options["items"] is None:
        assert not {form(name) for name in names} & {form(column) for column in rows[0]}


def rankings_as_written(table, rows, options):
    for ranks, row in zip(table.ranks.tolist(), rows, strict=True):
        assert ranks == _before([row[name] for name in table.item_names], options["sign"])
    if table.user_names:
        assert list(table.user_names) == [row[options["user"]] for row in rows]


def rows_as_written(table, rows, options):
    """Of rankings with one row per user and item."""
    found = {(row[options["user"]], row["item"]): row["rank"] for row in rows}
    assert len(found) == len(rows)
    for user, ranks in zip(table.user_names, table.ranks.tolist(), strict=True):
        cells = [found.get((user, name), "") for name in table.item_names]
        assert ranks == _before(cells, options["sign"])


def table_as_written(table, rows, options):
    long = rows and {"item", "rank"} <= set(rows[0])
    (rows_as_written if long else rankings_as_written)(table, rows, options)


def outcomes_as_written(table, rows, options):
    """The preferred item of each row by a plain reading of its outcome."""
    if "hold battles" not in "".join(table.reading[-1:]):
        comparisons_as_written(table, rows, options)
        return
    said = [form(name) for name in re.findall(r"'(.+?)'", table.reading[-1])]
    left, right, outcome = (next(c for c in rows[0] if form(c) == name) for name in said[:3])
    renamed, words = [], set()
    for row in rows:
        items, cell = (row[left], row[right]), row[outcome]
        if cell in items:
            side = items.index(cell)
        else:
            numbered = [re.findall("[0-9]+", one) for one in (left, right)] == [["1"], ["2"]]
            word = " ".join(cell.replace("_", " ").casefold().split())
            side = 1 if numbered and word in ("2", "2.0") else SIDES[word]
            words.add(form(cell))
        winner, loser = items if side != 1 else items[::-1]
        renamed.append({**row, "winner": winner, "loser": loser, "tie": str(int(side == 2))})
    assert not words & {form(name) for name in table.item_names}
    comparisons_as_written(table, renamed, {**options, "items": table.item_names})


def pairs_as_written(table, rows, options):
    """A comparison for each pair that was answered."""
    if "hold pairs" not in "".join(table.reading[-1:]):
        outcomes_as_written(table, rows, options)
        return
    found = []
    for row in rows:
        for column, cell in row.items():
            items = [
                name.strip() for name in re.split(r"(?i)(?:\s+|_)(?:vs\.?|versus)(?:\s+|_)", column)
            ]
            if len(items) == 2 and all(items):
                found += [{**row, "items": items, "cell": cell}]
    found = [row for row in found if _known(row["cell"]) or row["cell"] in row["items"]]
    sides = [
        row["items"].index(row["cell"])
        if row["cell"] in row["items"]
        else SIDES[" ".join(row["cell"].replace("_", " ").casefold().split())]
        for row in found
    ]
    _sides_as_written(table, found, sides, options)


def one_hot_as_written(table, rows, options):
    """In each row one outcome is marked, that of the comparison."""
    said = re.findall(r"'(.+?)'", "".join(table.reading[-1:]))
    if "winner" not in "".join(said[2:3]) or "hold tallies" not in "".join(table.reading[-1:]):
        outcomes_as_written(table, rows, options)
        return
    left, right, *outcomes = (
        next(c for c in rows[0] if name in (repr(c)[1:-1], form(c))) for name in said
    )
    marked = [
        [k for k, column in enumerate(outcomes) if row[column].strip().casefold() in ("1", "1.0", "true", "yes")]
        for row in rows
    ]  # fmt: skip
    found = [{**row, "items": [row[left], row[right]]} for row in rows]
    _sides_as_written(table, found, [min(k, 2) for (k,) in marked], options)


def _sides_as_written(table, rows, sides, options):
    """Rows of two ``items``, of which the one on this side is preferred; 2: neither."""
    renamed = [
        {
            **row,
            "winner": row["items"][side == 1],
            "loser": row["items"][side != 1],
            "tie": str(int(side == 2)),
        }
        for row, side in zip(rows, sides, strict=True)
    ]
    comparisons_as_written(table, renamed, {**options, "items": table.item_names})


def lists_as_written(table, rows, options):
    """The items of each row in their order, whatever else the file holds."""
    if not table.reading or not re.search("are places|holds orders", table.reading[-1]):
        ranks_as_written(table, rows, options)
        return
    texts = table.reading[-1].startswith("column ")
    if texts:
        texts_as_written(table, rows, options)
        return
    places = [column for column in rows[0] if place_of(column) is not None]
    for row, ranks in zip(rows, table.ranks.tolist(), strict=True):
        cells = [row[column] for column in sorted(places, key=place_of)]
        known = [[cell] for cell in cells if cell.strip()]
        assert ranks == _ranks_of(known, table.item_names)
    if table.user_names:
        assert list(table.user_names) == [row[options["user"]] for row in rows]


def _ranks_of(groups, names):
    """The number of items before each of these; -1 where it is in none of the groups."""
    found, before = dict.fromkeys(names, -1), 0
    for group in groups:
        for name in group:
            assert found[name] == -1
            found[name] = before
        before += len(group)
    return list(found.values())


def texts_as_written(table, rows, options):
    """Orders with > between items, and = between ties; an item that is listed may have these in its name."""
    (column,) = (
        name for name in rows[0] if name != options["user"] and repr(name) in table.reading[-1]
    )
    for row, ranks in zip(rows, table.ranks.tolist(), strict=True):
        cell = row[column].strip()
        whole = cell in (options["items"] or ())
        groups = [[cell]] if whole else [one.split("=") for one in re.split("[>≻]", cell) if cell]
        stripped = [[name.strip() for name in group] for group in groups]
        assert ranks == _ranks_of(stripped, table.item_names)
    if table.user_names:
        assert list(table.user_names) == [row[options["user"]] for row in rows]


def ranks_as_written(table, rows, options):
    """And nothing in them is unlike ranks."""
    if table.reading and re.search("are places|holds orders", table.reading[-1]):
        lists_as_written(table, rows, options)
        return
    table_as_written(table, rows, {**options, "sign": 1})
    if {"item", "rank"} <= set(rows[0]):
        found = {(row[options["user"]], row["item"]): _rank(row["rank"]) for row in rows}
        written = [[found.get((u, i)) for i in table.item_names] for u in table.user_names]
        others = 0
    else:
        written = [[_rank(row[name]) for name in table.item_names] for row in rows]
        others = len(rows[0]) - (options["user"] in rows[0]) - table.num_items
        others -= "synthetic_epsilon" in rows[0]
    assert max(rank or 0 for row in written for rank in row) <= table.num_items + others
    unlike, users = reference.unlike(written, others > 0)
    assert 2 * unlike <= users


def ratings_as_written(table, rows, options):
    table_as_written(table, rows, {**options, "sign": -1})


def costs_as_written(table, rows, options):
    table_as_written(table, rows, {**options, "sign": 1})


def reports_as_written(table, rows, options):
    names = table.item_names
    assert [names[k] for k in table.first] == [row["item_1"] for row in rows]
    assert [names[k] for k in table.second] == [row["item_2"] for row in rows]
    assert table.epsilon.tolist() == [float(row["epsilon"]) for row in rows]
    assert np.all((table.epsilon > 0) & np.isfinite(table.epsilon))


def synthetic_as_written(found, rows, options):
    rankings_as_written(found.table, rows, {**options, "sign": 1})
    assert found.epsilon.tolist() == [float(row["synthetic_epsilon"]) for row in rows]
    assert not found.table.tied


def budgets_as_written(epsilon, rows, options):
    assert set(epsilon.tolist()) == {float(row["budget"]) for row in rows}
    assert np.all((epsilon > 0) & np.isfinite(epsilon))
