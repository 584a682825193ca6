"""Rankings with a row for each user and item, counted in an engine: the same as by the reader in memory."""

from __future__ import annotations

import dataclasses
import re

import ibis
import jax
import numpy as np
import pytest

from privrank_jax.aggregation import PairWeights
from privrank_jax.aggregation.weights import counted_weights
from privrank_jax.data import DataError, engine_counts
from tests.data.readers import load_rankings, read_rankings
from tests.parquet import parquet


def random_ranks(seed: int, users: int = 12, items: int = 4) -> np.ndarray:
    """Ranks from 1 with ties, 0 where an item was not ranked; the first user ranked nothing."""
    ranks = np.random.default_rng(seed).integers(0, items + 1, size=(users, items))
    ranks[0] = 0
    return ranks


NAMES = ("b", "a", "Ünal", "d e")


def long(ranks: np.ndarray) -> str:
    rows = [
        f"('u{k}', '{name}', {rank or 'NULL'})"
        for k, row in enumerate(ranks)
        for name, rank in zip(NAMES, row)
        if rank or k % 2 == 0 or not row.any()
    ]
    return f'SELECT * FROM (VALUES {", ".join(rows)}) t("user", item, rank)'


NOTHING = " UNION ALL VALUES ('v', '', NULL), ('w', NULL, NULL)"
CASES = {
    "ranks": (long, {"cells": "ranks"}),
    "ratings": (long, {"cells": "ratings"}),
    "costs": (long, {"cells": "costs"}),
    "public items": (long, {"items": [*NAMES, "unseen"], "cells": "ranks"}),
    "a public number of users": (long, {"num_users": 15, "cells": "ranks"}),
    "rows that rank nothing": (lambda ranks: long(ranks) + NOTHING, {"cells": "ranks"}),
    "a word that names no item": (
        long,
        {"blank": ["Ünal"], "items": ["d e", "b", "a"], "cells": "ranks"},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_same_as_in_memory(tmp_path, backend, case):
    select, options = CASES[case]
    path = parquet(tmp_path, select(random_ranks(len(case))))
    options = {"missing": "unknown", **options}
    table, rows = load_rankings(path, **options), read_rankings(path, **options)
    for name in (
        "item_names", "num_users", "partial_users", "rare_items", "name", "missing", "notes", "public", "users_are"
    ):  # fmt: skip
        assert getattr(rows, name) == getattr(table, name)
    np.testing.assert_array_equal(rows.in_memory().ranks, table.ranks)
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


ROWS = "SELECT * FROM (VALUES ('u', 'a', '1'), ('u', 'b', '2'), ('v', 'b', ' 1.0'), {}) t(\"user\", item, rank)"
REFUSED = (
    ROWS.format("(NULL, 'a', '1')"), ROWS.format("('w', NULL, '1')"), ROWS.format("('w', 'a', '0')"),
    ROWS.format("('w', 'a', '1.5')"), ROWS.format("('u', 'b', NULL)"), ROWS.format("('w', 'n/a', '1')"),
    ROWS.format("('w', 'B ', '1')"), ROWS.format("('w', 'a', '3')"), "SELECT 'u' AS \"user\", 'a' AS item, 1 AS rank",
    "SELECT 1 AS \"user\", 'a' AS item, 1 AS rank LIMIT 0",
)  # fmt: skip


@pytest.mark.parametrize("select", REFUSED)
def test_refusals_name_the_columns_that_memory_names(tmp_path, backend, select):
    path, said = parquet(tmp_path, select), []
    for read in (load_rankings, read_rankings):
        with pytest.raises(DataError) as error:
            read(path)
        said.append(re.findall(r"^votes\.parquet|column '[^']*'", str(error.value))[:2])
    assert said[1] == said[0]


def test_what_is_unlike_ranks_is_counted_as_in_memory(tmp_path, backend):
    """Ranks from 1 to 4 at random: about half of the users have some like ranks, so that either may be refused."""
    refused = []
    for seed in (0, 1, 7):
        path, said = parquet(tmp_path, long(random_ranks(seed, users=9))), []
        for read in (load_rankings, read_rankings):
            try:
                said.append(read(path).num_users)
            except DataError as error:
                said.append(str(error))
        assert said[1] == said[0]
        refused.append("don't look like ranks" in str(said[0]))
    assert {True, False} == set(refused)


def test_of_many_users_some_tell_whether_the_cells_are_like_ranks(tmp_path, backend, monkeypatch):
    monkeypatch.setattr(engine_counts, "_MOST_SEEN", 4 * 5)
    with pytest.raises(DataError, match="the cells of 5 of 5 users don't look like ranks"):
        read_rankings(parquet(tmp_path, long(np.full((30, 4), [1, 4, 4, 1]))))
    assert read_rankings(parquet(tmp_path, long(np.full((30, 4), [1, 4, 3, 2])))).num_users == 30


def test_other_refusals(tmp_path, backend, monkeypatch):
    path = parquet(tmp_path, long(random_ranks(0)))
    with pytest.raises(DataError, match="need a column of users"):
        read_rankings(path, user=None)
    with pytest.raises(ValueError, match="missing must be"):
        read_rankings(path, missing="first")
    monkeypatch.setattr(engine_counts, "MOST_RANKED_ITEMS", 3)
    with pytest.raises(DataError, match="4 items; a table of all pairs is kept, for at most 3"):
        read_rankings(path, cells="ranks")


@pytest.mark.parametrize(
    "select",
    [
        "SELECT 'u' AS \"user\", 'b' AS rank_1, 'a' AS rank_2",
        "SELECT 'u' AS \"user\", 2 AS a, 1 AS b",
        "SELECT 'u' AS \"user\", ['b', 'a'] AS \"order\"",
    ],
)
def test_a_row_for_each_user_is_read_in_memory(tmp_path, backend, select):
    path = parquet(tmp_path, select)
    options = {"order": "order"} if "order" in select else {}
    assert read_rankings(path, **options).ranks.tolist() == [[1, 0]]
