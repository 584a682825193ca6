"""Loaders on Parquet files, and names that survive writing."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privrank_jax.data.errors import DataError
from privrank_jax.data.rankings import Rankings
from privrank_jax.data.synthetic import SyntheticRankings, write_synthetic_rankings
from tests.data import readers
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
USABLE = [name for name in strategies.CELLS if name.strip() and not {"\0", "\ud800"} & set(name)]


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


def parquet_test(examples, folder):
    valid = tuple(_parquet(folder / "valid.parquet", select) for select in SELECTS)
    assert all(valid)

    @fuzz(examples)
    @given(content=strategies.damaged_bytes(valid), load=st.sampled_from(PARQUET_LOADERS))
    def damaged(content, load):
        _check_parquet(folder / "votes.parquet", content, load)

    @fuzz(examples)
    @given(select=selects(), load=st.sampled_from(PARQUET_LOADERS))
    def odd(select, load):
        content = _parquet(folder / "odd.parquet", select)
        if content is not None:
            _check_parquet(folder / "votes.parquet", content, load)

    damaged()
    odd()
    latin = valid[0].replace(b"user", b"us\xe9r").replace(b"u1", b"\xe9\xe9")
    for load in PARQUET_LOADERS[:2]:  # names, and cells, that are not UTF-8
        _check_parquet(folder / "votes.parquet", latin, load)
        _check_parquet(folder / "votes.parquet", valid[0].replace(b"u1", b"\xe9\xe9"), load)


@tiers(QUICK // 4, THOROUGH // 4)
def test_parquet(tmp_path, examples):
    parquet_test(examples, tmp_path)


def _write_and_read(path: Path, items: tuple[str, str], users: tuple[str, str]) -> None:
    table = Rankings(np.array([[0, 1], [1, 0]]), items, user_names=users)
    rankings = SyntheticRankings(table, np.array([1.0, 2.0]))
    try:
        write_synthetic_rankings(path, rankings)
    except DataError as error:
        assert "like a column of" in str(error)  # noqa: PT017
        return
    try:
        found = readers.read_synthetic_rankings(path).table
    except DataError as error:
        assert re.search("missing|blank|may be a mark", str(error))  # noqa: PT017
        return
    assert found.item_names == tuple(sorted(items))
    ranks = [[0, 1], [1, 0]][:: 1 if found.item_names == items else -1]
    assert dict(zip(found.user_names, found.ranks.tolist())) == dict(zip(users, ranks))


@pytest.mark.parametrize(
    "suffix", [".csv", ".tsv", pytest.param(".parquet", marks=pytest.mark.slow)]
)
def test_names_survive_writing(tmp_path, suffix):
    for name in [*USABLE, "User", "Synthetic_Epsilon", "a\rb", "\rb", "a\r\nb", "a\nb"]:
        if len(name) < 1_000:
            _write_and_read(tmp_path / f"new{suffix}", (name, "another"), ("u1", "u2"))
            _write_and_read(tmp_path / f"new{suffix}", ("p", "q"), (name, "another"))


def test_names_in_parquet_survive_writing(tmp_path):
    for name in ("User", "USER", "Synthetic_Epsilon", "a\rb", "é"):
        _write_and_read(tmp_path / "new.parquet", (name, "another"), ("u1", "u2"))


def test_parquet_columns_of_one_name(tmp_path):
    path = tmp_path / "votes.parquet"
    content = _parquet(path, 'SELECT 1 AS "user", 1 AS usex, 2 AS b')
    path.write_bytes(content.replace(b"usex", b"user"))
    with pytest.raises(DataError, match="two columns are named"):
        readers.read_rankings(path)
