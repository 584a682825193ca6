"""The named sets of rankings: the counts that their description states, and every trap."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from privrank_jax import metrics
from privrank_jax.data import DataError, Rankings, load, named_sets

SIZES = {
    "coffee-rankings": (200, 6),
    "apa": (15449, 5), "apa1998": (18723, 5), "apa1999": (17469, 5), "apa2000": (20239, 5), "apa2001": (17911, 5),
    "apa2002": (17094, 5), "apa2003": (17956, 5), "apa2004": (16245, 5), "apa2005": (14506, 5), "apa2006": (16836, 5),
    "apa2007": (13318, 5), "apa2008": (18286, 5), "apa2009": (15313, 5), "aspen": (2477, 11), "aspen-mayor": (2527, 5),
    "german": (2262, 4), "nascar": (36, 87), "potato": (12, 20), "potato-weighing": (12, 20), "salad": (32, 4),
    "sushi": (5000, 10),
}  # fmt: skip
FULL = {"coffee-rankings", "german", "potato", "potato-weighing", "salad", "sushi"}


def test_every_name_loads_with_its_size(data_folder):
    found = {name: load(name, data_folder) for name in named_sets()}
    tables = {name: table for name, table in found.items() if isinstance(table, Rankings)}
    assert {name: table.ranks.shape for name, table in tables.items()} == SIZES
    assert {name for name, table in tables.items() if table.complete} == FULL
    assert {name for name, table in tables.items() if table.tied} == {"aspen", "aspen-mayor"}
    assert {name for name, table in tables.items() if table.missing == "unknown"} == {"nascar"}
    assert all(table.name == name for name, table in tables.items())


def test_sushi_counts_and_names(data_folder):
    table = load("sushi", data_folder)
    with (data_folder / "sushi" / "item_set_A.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert table.item_names == tuple(row["english"] for row in rows)
    means = [4.917, 5.223, 4.472, 5.898, 5.525, 5.096, 6.855, 3.111, 5.888, 8.014]
    np.testing.assert_allclose(table.ranks.mean(axis=0) + 1, means, atol=6e-4)
    firsts = np.sum(table.ranks == 0, axis=0)
    assert firsts.tolist() == [458, 550, 404, 228, 747, 545, 206, 1713, 113, 36]
    assert table.item_names[int(np.argmax(firsts))] == "fatty tuna"


def test_apa_of_1980(data_folder):
    table = load("apa", data_folder)
    lengths = np.bincount(np.sum(table.ranks >= 0, axis=1), minlength=6)
    assert lengths.tolist() == [0, 5141, 2462, 2108, 0, 5738]
    assert table.ranks[0].tolist() == [-1, -1, -1, -1, 0]


def test_apa_of_1998_by_its_first_lines(data_folder):
    table = load("apa1998", data_folder)
    assert np.sum(np.all(table.ranks == [-1, -1, 0, -1, -1], axis=1)) == 1494
    assert np.sum(np.all(table.ranks == [-1, -1, 1, -1, 0], axis=1)) == 360
    assert np.sum(np.all(table.ranks == [1, 2, 0, 3, 4], axis=1)) == 322


@pytest.mark.parametrize(("name", "orders", "tied"), [("aspen", 1760, 9), ("aspen-mayor", 112, 7)])
def test_aspen_ties_and_distinct_orders(data_folder, name, orders, tied):
    table = load(name, data_folder)
    distinct = np.unique(table.ranks, axis=0)
    assert len(distinct) == orders
    with_ties = [row for row in distinct if len(set(row[row >= 0])) < np.sum(row >= 0)]
    assert len(with_ties) == tied


def test_potato_assessors_come_near_the_truth_and_nearer_by_hand(data_folder):
    with (data_folder / "potato" / "potato_true_ranking.csv").open(encoding="utf-8") as file:
        truth = np.array([row["rank"] for row in csv.DictReader(file)], np.int32) - 1
    assert sorted(truth) == list(range(20))

    def distances(table):
        return [int(metrics.kendall_distance(row, truth)) for row in table.ranks]

    by_eye = distances(load("potato", data_folder))
    by_hand = distances(load("potato-weighing", data_folder))
    assert max(by_eye + by_hand) < 95 / 2  # same coding: chance would give 95 of 190 pairs
    assert np.mean(by_hand) < np.mean(by_eye)


def test_salad_and_nascar(data_folder):
    salad = load("salad", data_folder)
    assert salad.item_names == ("A", "B", "C", "D")
    assert any("most tart" in note for note in salad.notes)
    nascar = load("nascar", data_folder)
    assert np.all(np.sum(nascar.ranks >= 0, axis=1) == 43)
    assert nascar.item_names[82] == "Ward Burton"  # the winner of the first race
    assert nascar.ranks[0, [82, 17, 19]].tolist() == [0, 1, 2]
    last = nascar.ranks[:, 83:]
    assert np.all(last[last >= 0] == 42)


def test_an_unknown_name():
    with pytest.raises(DataError, match=r"no data set named 'shushi' \(did you mean 'sushi'"):
        load("shushi")
