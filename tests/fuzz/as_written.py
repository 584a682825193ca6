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

from privrank_jax.data.names import MISSING, form, place_of

USUAL = (
    *("user", "winner", "loser", "tie", "item", "rank", "item_1", "item_2", "report", "epsilon"),
    *("synthetic_epsilon", "budget"),
)
BY_LETTERS = ("winner", "loser", "tie", "item", "rank")


def _bare(column: str) -> str:
    return "".join(filter(str.isalnum, column.casefold()))


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
        like = _bare if name in BY_LETTERS else form
        spelled = [column for column in header if like(column) == name]
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


def _before(ranks: list[str], sign: int) -> list[int]:
    """How many items are ranked before each, or rated above where the sign is -1; -1 where it is not ranked."""
    known = [
        sign * ((place_of(rank) if rank.isascii() else None) or float(rank))
        if rank.casefold().strip() not in MISSING | {""}
        else math.inf
        for rank in ranks
    ]
    return [sum(x < y for x in known) if y < math.inf else -1 for y in known]


def comparisons_as_written(table, rows, options):
    names = table.item_names
    assert [names[k] for k in table.winners] == [row["winner"] for row in rows]
    assert [names[k] for k in table.losers] == [row["loser"] for row in rows]
    assert np.all(table.winners != table.losers)
    yes = [row.get("tie", "").strip().casefold() in ("1", "1.0", "true", "yes") for row in rows]
    assert table.tied.tolist() == yes
    if options["user"] in rows[0]:
        assert [table.user_names[k] for k in table.users] == [row[options["user"]] for row in rows]


def rankings_as_written(table, rows, options, sign=1):
    """A row for each user, or one for each rank; the items of a row in their order are :func:`test_forms`' task."""
    if table.reading and re.search("are places|holds orders", table.reading[-1]):
        return
    if rows and {"item", "rank"} <= set(rows[0]):
        found = {(row[options["user"]], row["item"]): row["rank"] for row in rows}
        assert len(found) == len(rows)
        whole = [[found.get((user, n), "") for n in table.item_names] for user in table.user_names]
    else:
        whole = [[row[name] for name in table.item_names] for row in rows]
        if table.user_names:
            assert list(table.user_names) == [row[options["user"]] for row in rows]
    assert table.ranks.tolist() == [_before(cells, sign) for cells in whole]


ratings_as_written = functools.partial(rankings_as_written, sign=-1)


def reports_as_written(table, rows, options):
    names = table.item_names
    assert [names[k] for k in table.first] == [row["item_1"] for row in rows]
    assert [names[k] for k in table.second] == [row["item_2"] for row in rows]
    assert table.epsilon.tolist() == [float(row["epsilon"]) for row in rows]
    assert np.all((table.epsilon > 0) & np.isfinite(table.epsilon))


def synthetic_as_written(found, rows, options):
    rankings_as_written(found.table, rows, options)
    assert found.epsilon.tolist() == [float(row["synthetic_epsilon"]) for row in rows]
    assert not found.table.tied


def budgets_as_written(epsilon, rows, options):
    assert set(epsilon.tolist()) == {float(row["budget"]) for row in rows}
    assert np.all((epsilon > 0) & np.isfinite(epsilon))
