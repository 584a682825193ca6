"""Parquet files for tests, written by an engine of their own."""

from __future__ import annotations

from pathlib import Path

import duckdb


def parquet(folder: Path, select: str, name: str = "votes.parquet") -> Path:
    path = folder / name
    duckdb.connect().execute(f"COPY ({select}) TO '{path}' (FORMAT parquet)")
    return path
