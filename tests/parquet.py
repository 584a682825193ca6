"""Parquet files for tests, written by one engine for all of them: each of its own takes 17 ms to start."""

from __future__ import annotations

from pathlib import Path

import duckdb


def parquet(folder: Path, select: str, name: str = "votes.parquet") -> Path:
    path = folder / name
    duckdb.execute(f"COPY ({select}) TO '{path}' (FORMAT parquet)")
    return path


def as_parquet(path: Path) -> Path:
    """The table of a CSV file as another file beside it, all cells text."""
    read = f"read_csv('{path}', all_varchar = true, header = true, delim = ',')"
    return parquet(path.parent, f"SELECT * FROM {read}", path.with_suffix(".parquet").name)
