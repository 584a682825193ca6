"""Rankings counted in an engine: the same as by the loaders."""

from __future__ import annotations

import dataclasses
import re

import ibis
import jax
import numpy as np
import pytest

from privrank_jax.aggregation import PairWeights
from privrank_jax.aggregation.weights import counted_weights
from privrank_jax.data import DataError, Rankings
from tests.data.readers import load_rankings, read_rankings
from tests.parquet import parquet


def random_ranks(seed: int, users: int = 12, items: int = 4) -> np.ndarray:
    """Ranks from 1 with ties, 0 where an item was not ranked; the first user ranked nothing."""
    ranks = np.random.default_rng(seed).integers(0, items + 1, size=(users, items))
    ranks[0] = 0
    return ranks


NAMES = ("b", "a", "Ünal", "d e")


def wide(ranks: np.ndarray, user: str, blank: str) -> str:
    cells = [[blank if rank == 0 else f"'{rank}'" for rank in row] for row in ranks]
    rows = [f"({user.format(k)}, {', '.join(row)})" for k, row in enumerate(cells)]
    columns = ", ".join(f'"{name}"' for name in NAMES)
    return f'SELECT * FROM (VALUES {", ".join(rows)}) t("user", {columns})'


def long(ranks: np.ndarray) -> str:
    rows = [
        f"('u{k}', '{name}', {rank or 'NULL'})"
        for k, row in enumerate(ranks)
        for name, rank in zip(NAMES, row)
        if rank or k % 2 == 0 or not row.any()
    ]
    return f'SELECT * FROM (VALUES {", ".join(rows)}) t("user", item, rank)'


CASES = {
    "wide": (lambda ranks: wide(ranks, "'u {}'", "' '"), {}),
    "of numbers": (
        lambda ranks: f"SELECT * EXCLUDE \"user\" FROM ({wide(ranks, '{}', 'NULL')})",
        {"ignore": ["a"], "user": None},
    ),
    "some items": (lambda ranks: wide(ranks, "{}.5", "'NA'"), {"items": ["d e", "a", "b"]}),
    "long": (long, {}),
    "long, public items": (long, {"items": [*NAMES, "unseen"]}),
    "long, a public number of users": (long, {"num_users": 15}),
    "long, with rows that rank nothing": (
        lambda ranks: long(ranks) + " UNION ALL VALUES ('v', '', NULL), ('w', NULL, NULL)", {}
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_the_same_as_by_the_loader(tmp_path, backend, case):
    select, options = CASES[case]
    path = parquet(tmp_path, select(random_ranks(len(case))))
    options = {"missing": "unknown", "cells": "ranks", **options}
    table = load_rankings(path, **options)
    rows = read_rankings(path, **options)
    for name in ("item_names", "num_users", "num_items", "name", "missing", "notes", "public"):
        assert getattr(rows, name) == getattr(table, name)
    assert rows.partial_users == np.sum(np.any(table.ranks < 0, axis=1))
    for missing in ("last", "unknown"):
        weights = dataclasses.replace(rows, missing=missing).weights()
        np.testing.assert_array_equal(weights.twice, counted_weights(table.ranks, missing).twice)
        assert (weights.num_users, weights.num_items) == table.ranks.shape
        with jax.enable_x64(True):
            counted = PairWeights.from_ranks(table.ranks, missing=missing)
            np.testing.assert_allclose(weights.matrix, counted.matrix, atol=1e-12)


def test_a_table_of_an_engine():
    frame = ibis.memtable({"user": [1, 1, 2], "item": ["a", "b", "b"], "rank": [2, 1, 7]})
    counts = read_rankings(frame, name="votes", cells="ranks").weights()
    assert isinstance(counts, PairWeights)
    assert counts.twice.tolist() == [[0, 0], [4, 0]]
    unknown = read_rankings(frame, missing="unknown", cells="ranks").weights()
    assert unknown.twice.tolist() == [[0, 1], [3, 0]]


LONG = "SELECT * FROM (VALUES ('u', 'a', '1'), ('u', 'b', '2'), ('v', 'b', ' 1.0'), {}) t(\"user\", item, rank)"
WIDE = "SELECT * FROM (VALUES ('u', '1', '2'), ('v', '2', NULL), {}) t(\"user\", a, b)"
REFUSED = (
    LONG.format("(NULL, 'a', '1')"), LONG.format("('w', NULL, '1')"), LONG.format("('w', 'a', '0')"),
    LONG.format("('w', 'a', '1.5')"), LONG.format("('u', 'b', NULL)"), LONG.format("('w', 'n/a', '1')"),
    WIDE.format("('u', '1', '2')"), WIDE.format("('w', '1', 'best')"), WIDE.format("('', '1', '2')"),
    WIDE.format("('w', '-1', '2')"), "SELECT 'u' AS \"user\", '1' AS a", "SELECT 1 AS a, 2 AS b LIMIT 0",
    "SELECT 'u' AS \"user\", 'a' AS winner, 'b' AS loser",
    "SELECT 'u' AS \"user\", 'a' AS item, 1 AS rank", "SELECT 'u' AS \"user\", [1] AS a, 2 AS b",
    "SELECT 'u' AS \"user\", 1 AS \"x y\", 2 AS \"X  y\"", "SELECT 'u' AS \"user\", 1 AS a, 3 AS b",
    "SELECT 1 AS id, 2 AS a, 1 AS b", "SELECT 1 AS \"a;b\"",
    LONG.format("('w', 'a', '3')"),
)  # fmt: skip


@pytest.mark.parametrize("select", REFUSED)
def test_refusals_name_the_columns_that_the_loader_names(tmp_path, backend, select):
    path, said = parquet(tmp_path, select), []
    for read in (load_rankings, read_rankings):
        with pytest.raises(DataError) as error:
            read(path)
        said.append(re.findall(r"^votes\.parquet|column '[^']*'", str(error.value))[:2])
    assert said[1] == said[0]


def test_orders_are_left_to_the_loader(tmp_path, backend):
    path = parquet(tmp_path, "SELECT 'u' AS \"user\", 'b' AS rank_1, 'a' AS rank_2")
    assert read_rankings(path).ranks.tolist() == [[1, 0]]


SHAPES = {
    "wide": (lambda ranks: wide(ranks, "'u{}'", "NULL"), {}),
    "of columns left out": (lambda ranks: wide(ranks, "'u{}'", "NULL"), {"items": NAMES[:3]}),
    "long": (long, {}),
}


SEEDS = {
    "wide": (0, 1, 2, 6),
    "of columns left out": (1, 9),
    "long": (0, 1, 7),
}  # of each kind some are refused


@pytest.mark.parametrize("case", SHAPES)
def test_what_is_unlike_ranks_is_counted_as_by_the_loader(tmp_path, backend, case):
    """Ranks from 1 to 4 at random: about half of the rows are like ranks, so that either may be refused."""
    select, options = SHAPES[case]
    refused = []
    for seed in SEEDS[case]:
        path, said = parquet(tmp_path, select(random_ranks(seed, users=9))), []
        for read in (load_rankings, read_rankings):
            try:
                said.append(read(path, **options).num_users)
            except DataError as error:
                said.append(str(error))
        assert said[1] == said[0]
        refused.append("don't look like ranks" in str(said[0]))
    assert {True, False} == set(refused)


def test_columns_that_are_no_items(tmp_path, backend):
    for select, options in (
        ("SELECT 1 + i AS nr, 1 + i % 2 AS a, 2 - i % 2 AS b FROM range(3) t(i)", {}),
        ("SELECT 1 + i AS nr, 1 + i % 2 AS a, 2 - i % 2 AS b FROM range(5) t(i)", {}),
        ("SELECT 1 + i AS nr, 1 + i % 5 AS a, 5 AS b FROM range(11) t(i)", {"cells": "ratings"}),
        (
            "SELECT 9 + 3 * i AS nr, 1 + i % 5 AS a, NULL AS b FROM range(11) t(i)",
            {"cells": "ratings"},
        ),
    ):
        path, said = parquet(tmp_path, select), []
        for read in (load_rankings, read_rankings):
            with pytest.raises(DataError, match="column 'nr'") as error:
                read(path, user=None, **options)
            said.append(str(error.value))
            with pytest.raises(
                DataError, match=r"user='COLUMN' \(--user COLUMN\), or say user=None"
            ):
                read(path, **options)
        assert said[1] == said[0]


def test_other_refusals(tmp_path, backend):
    path = parquet(tmp_path, long(random_ranks(0)))
    with pytest.raises(DataError, match="need a column of users"):
        read_rankings(path, user=None)
    with pytest.raises(ValueError, match="missing must be"):
        read_rankings(path, missing="first")


def test_counts_of_a_table_do_not_depend_on_who_is_who(tmp_path, backend):
    ranks = random_ranks(9)
    first, second = (
        read_rankings(parquet(tmp_path, long(r), f"{k}.parquet"), cells="ranks").weights().twice
        for k, r in enumerate((ranks, ranks[::-1]))
    )
    np.testing.assert_array_equal(first, second)
    table = Rankings(ranks - 1, item_names=NAMES)
    order = [NAMES.index(name) for name in sorted(NAMES)]
    np.testing.assert_array_equal(first, counted_weights(table.ranks).twice[np.ix_(order, order)])
