"""Files and tables for tests of readers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

HEAD = "user,winner,loser,tie\n"
GOOD = HEAD + "ann,Oslo,Paris,0\nbob,Paris,Rome,1\nann,Oslo,Rome,\n"


def written(folder: Path, content: str | bytes, name: str = "votes.csv") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def frame(*lines: str) -> dict[str, list[str]]:
    """Columns of lines of cells with commas between, of which the first is the header."""
    header, *rows = (line.split(",") for line in lines)
    return {name: [row[k] for row in rows] for k, name in enumerate(header)}


def as_file(folder: Path, columns: dict[str, list[Any]], suffix: str) -> Path:
    """Columns of texts as a file of this kind."""
    path, rows = folder / f"votes{suffix}", list(zip(*columns.values()))
    if suffix in (".csv", ".tsv"):
        sign = {".csv": ",", ".tsv": "\t"}[suffix]
        path.write_text(
            "".join(sign.join(map(str, row)) + "\n" for row in [tuple(columns), *rows]),
            encoding="utf-8",
        )
    elif suffix == ".xlsx":
        from openpyxl import Workbook

        book = Workbook()
        for row in (tuple(columns), *rows):
            book.active.append([None if cell == "" else cell for cell in row])
        book.save(path)
    elif suffix == ".parquet":
        import pyarrow
        from pyarrow import parquet

        parquet.write_table(pyarrow.table(columns), path)
    else:
        objects = [dict(zip(columns, row)) for row in rows]
        path.write_text(
            json.dumps(objects) if suffix == ".json" else "\n".join(map(json.dumps, objects))
        )
    return path


SUFFIXES = (".csv", ".tsv", ".xlsx", ".parquet", ".json", ".jsonl")


def rows_of(table: Any) -> list[tuple[str, str, str, bool]]:
    """Comparisons by names: user (or row), winner, loser, whether a tie."""
    names, users = table.item_names, table.user_names or list(map(str, range(len(table))))
    columns = zip(table.users, table.winners, table.losers, table.tied.tolist(), strict=True)
    return [(users[u], names[w], names[v], tie) for u, w, v, tie in columns]
