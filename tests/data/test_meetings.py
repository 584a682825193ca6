"""How often items meet, by counting one by one; the tables in memory and in an engine agree."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from privrank_jax.data.kinds import meetings_of_pairs, meetings_of_sets
from tests.data.readers import read_choices, read_comparisons, read_rankings
from tests.parquet import as_parquet

ITEMS = [3, 0]


def test_sets():
    sets = np.random.default_rng(0).random((30, 5)) < 0.5
    met, expected = meetings_of_sets(sets, ITEMS)
    for row, item in enumerate(ITEMS):
        for k in range(5):
            assert met[row, k] == sum(one[item] and one[k] for one in sets)
            assert expected[row, k] == pytest.approx(sets[:, item].sum() * sets[:, k].mean())


def test_pairs():
    """Drawing an opponent by how often each item is compared, every two items are met as often as expected."""
    one, other = np.array(list(itertools.combinations(range(4), 2))).T
    number = np.arange(1, 7)
    met, expected = meetings_of_pairs(one, other, number, 4, ITEMS)
    assert met.tolist() == [[3, 5, 6, 0], [0, 1, 2, 3]]
    once = [6, 10, 12, 14]  # 1 + 2 + 3, 1 + 4 + 5, 2 + 4 + 6, 3 + 5 + 6
    assert expected == pytest.approx(np.outer([14, 6], once) / 42)


def test_tables_of_the_same_data_agree(tmp_path, backend):
    rng = np.random.default_rng(1)
    rows = [rng.permutation(list("abcde"))[: rng.integers(2, 6)].tolist() for _ in range(20)]

    def written(name, header, lines):
        path = tmp_path / name
        path.write_text("\n".join([header, *lines]) + "\n")
        return path

    long = [
        f"u{k},{item},{rank}"
        for k, row in enumerate(rows)
        for rank, item in enumerate(row, start=1)
    ]
    path = written("long.csv", "user,item,rank", long)
    known = read_rankings(path)
    met, expected = read_rankings(as_parquet(path)).meetings([1, 3])
    again = known.meetings([1, 3])
    assert met.tolist() == again[0].tolist()
    assert expected == pytest.approx(again[1])
    sets = written(
        "sets.csv",
        "user,chosen,shown",
        [f"u{k},{row[0]},{'|'.join(row)}" for k, row in enumerate(rows)],
    )
    assert read_choices(sets).meetings([1, 3])[0].tolist() == met.tolist()
    path = written(
        "votes.csv", "user,winner,loser", [f"u{k},{row[0]},{row[1]}" for k, row in enumerate(rows)]
    )
    tables = read_comparisons(path), read_comparisons(as_parquet(path))
    (met, expected), (again, likewise) = (table.meetings([0, 4]) for table in tables)
    assert met.tolist() == again.tolist()
    assert expected == pytest.approx(likewise)
    assert met[0, 1] == sum(set(row[:2]) == {"a", "b"} for row in rows)
