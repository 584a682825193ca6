"""Loaders on Parquet files, and names that survive writing."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from privrank_jax.data.errors import DataError
from tests.fuzz import strategies
from tests.fuzz.checks import PARQUET_LOADERS, QUICK, THOROUGH, _names, _plain, tiers
from tests.fuzz.strategies import fuzz

SELECTS = (
    "SELECT * FROM (VALUES ('u1', 'a', 'b'), ('u2', 'b', 'c'), ('u3', 'c', 'a')) t(\"user\", winner, loser)",
    'SELECT i AS "user", i % 3 AS winner, (i + 1) % 3 AS loser, i = 2 AS tie FROM range(9) t(i)',
    'SELECT i AS "user", 1 + i % 2 AS a, 2 - i % 2 AS b FROM range(4) t(i)',
    "SELECT * FROM (VALUES ('u1', 'a', 'b', 1, 1.0), ('u2', 'b', 'c', 0, 2.5)) "
    't("user", item_1, item_2, report, epsilon)',
    'SELECT i AS "user", 1.5 AS synthetic_epsilon, 1 + i % 2 AS a, 2 - i % 2 AS b FROM range(4) t(i)',
)
# Cells of other types, and columns that no loader expects.
VALUES = (
    "NULL", "''", "'NA'", "'a'", "chr(0) || 'a'", "'nan'::DOUBLE", "'-inf'::FLOAT", "1e308", "1.5", "-1", "true",
    "170141183460469231731687303715884105727::HUGEINT", "0.3::DECIMAL(9, 4)", "[1, 2]", "{'a': 1}", "MAP {'k': 1}",
    "'a'::BLOB", "TIMESTAMP '2020-01-01 00:00:00'", "DATE '2020-01-01'", "INTERVAL 1 DAY", "TIME '01:02:03'",
    "uuid()", "'101'::BIT", "'x'::ENUM ('x', 'y')", "repeat('z', 200000)", "[[1], []]", "NULL::INTEGER",
)  # fmt: skip
NAMES = ("user", "User", "USER", "winner", "Winner", "loser", "tie", "a", "A", "", " ", 'q"', "é", "rank", "item",
         "item_1", "item_2", "report", "epsilon", "synthetic_epsilon", "x\ny", "../z", "budget")  # fmt: skip


def _parquet(path: Path, select: str) -> bytes | None:
    """Content of a file; None where DuckDB does not write such a table."""
    quoted = str(path).replace("'", "''")
    with duckdb.connect() as connection:
        try:
            connection.execute(f"COPY ({select}) TO '{quoted}' (FORMAT parquet)")
        except duckdb.Error:
            return None
    return path.read_bytes()


@st.composite
def selects(draw) -> str:
    """A table of some columns and few rows, all of one odd type."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=5))
    names += draw(st.sampled_from(((), ("user", "winner", "loser"), ("user", "a", "b"))))
    values = [draw(st.sampled_from(VALUES)) for _ in names]
    columns = ", ".join(
        f'{value} AS "{name.replace(chr(34), 2 * chr(34)) or "_"}"'
        for name, value in zip(names, values)
    )
    return f"SELECT {columns} FROM range({draw(st.integers(0, 3))})"


def _check_parquet(path: Path, content: bytes, load) -> None:
    path.write_bytes(content)
    try:
        found = load(path)
    except DataError as error:
        _plain(str(error), path)
        return
    table = getattr(found, "table", found)
    if not isinstance(table, np.ndarray):
        _names(table.item_names)
        _names(table.user_names)


@tiers(QUICK // 4, THOROUGH // 4)
def test_parquet(tmp_path, examples):
    path = tmp_path / "votes.parquet"
    valid = tuple(_parquet(path, select) for select in SELECTS)
    assert all(valid)

    @fuzz(examples)
    @given(content=strategies.damaged_bytes(valid), load=st.sampled_from(PARQUET_LOADERS))
    def damaged(content, load):
        _check_parquet(path, content, load)

    @fuzz(examples)
    @given(select=selects(), load=st.sampled_from(PARQUET_LOADERS))
    def odd(select, load):
        content = _parquet(tmp_path / "odd.parquet", select)
        if content is not None:
            _check_parquet(path, content, load)

    damaged()
    odd()
    latin = valid[0].replace(b"user", b"us\xe9r").replace(b"u1", b"\xe9\xe9")
    for load in PARQUET_LOADERS[:2]:  # names, and cells, that are not UTF-8
        _check_parquet(path, latin, load)
        _check_parquet(path, valid[0].replace(b"u1", b"\xe9\xe9"), load)
