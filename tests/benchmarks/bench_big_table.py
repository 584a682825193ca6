"""Parquet files of 10^6 and 10^7 comparisons of 100 items, each ranked by the command in a process of its own.

``python -m tests.benchmarks.bench_big_table 1e8`` makes and ranks a file of 10^8 rows: 0.9 GB, and 6 GB of temporary
files while it is bounded.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb

from tests.benchmarks.harness import print_table

ITEMS, PER_USER = 100, 20  # on average; users have Poisson many rows
CHOICES = {
    "users, at most 20 rows of each": ("--max-per-user", "20"),
    "users, at most 40 rows of each": ("--max-per-user", "40"),
    "single comparisons": ("--unit", "comparison"),
}
# Item k has score k / 50, and rows are in no order of users.
ROWS = """
WITH drawn AS (
  SELECT hash(i, 'user') % {users} AS number, (hash(i, 'pair') % {items})::INT AS a,
    1 + (hash(i, 'pair') // {items}) % ({items} - 1) AS step, (hash(i, 'won') % 1000000) / 1e6 AS lot
  FROM range({rows}) t(i)
), met AS (SELECT *, ((a + step) % {items})::INT AS b FROM drawn),
played AS (SELECT *, lot < 1 / (1 + exp((b - a) / 50)) AS first FROM met)
SELECT 'u' || number AS "user", 'item' || lpad(if(first, a, b)::VARCHAR, 2, '0') AS winner,
  'item' || lpad(if(first, b, a)::VARCHAR, 2, '0') AS loser
FROM played
"""


def generate(rows: int, path: Path) -> None:
    """Write the file, in 2 GB of memory."""
    connection = duckdb.connect()
    connection.execute("SET memory_limit = '2GB'; SET preserve_insertion_order = false")
    select = ROWS.format(rows=rows, users=rows // PER_USER, items=ITEMS)
    connection.execute(f"COPY ({select}) TO '{path}' (FORMAT parquet)")


def ranked(path: Path, choice: tuple[str, ...]) -> tuple[float, float, float]:
    """Seconds, processor seconds and peak MiB of the command."""
    command = [sys.executable, "-m", "privrank_jax", "rank", str(path), "--epsilon", "1", *choice]
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise RuntimeError(f"{' '.join(command)} ended with status {status}")
    return (time.perf_counter() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def main(sizes: tuple[int, ...]) -> None:
    """Print the table."""
    table = []
    for rows in sizes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "votes.parquet"
            generate(rows, path)
            for name, choice in CHOICES.items():
                seconds, processor, peak = ranked(path, choice)
                size = f"{path.stat().st_size / 1e6:,.0f} MB"
                measured = (f"{seconds:.1f} s", f"{processor:.1f} s", f"{peak:,.0f} MiB")
                table.append((f"{rows:,}", size, name, *measured))
    header = ("rows", "file", "what is protected", "wall", "processor", "peak memory")
    print_table(f"`rank votes.parquet --epsilon 1`, {ITEMS} items", header, table)


if __name__ == "__main__":
    main(tuple(int(float(word)) for word in sys.argv[1:]) or (10**6, 10**7))
