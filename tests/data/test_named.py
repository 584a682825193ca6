"""The named data sets: every count that their description states, and every trap."""

from __future__ import annotations

import csv
from itertools import combinations

import numpy as np
import pytest

from privrank_jax import metrics
from privrank_jax.data import Comparisons, DataError, Rankings, load, named_sets


def rows_of(path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return [{k.strip(): v for k, v in row.items()} for row in csv.DictReader(file)]


def pair_counts(table: Comparisons, first: int, second: int) -> tuple[int, int, int]:
    """(first preferred, ties, second preferred) of one pair."""
    here = (table.winners == first) & (table.losers == second)
    there = (table.winners == second) & (table.losers == first)
    ties = int((table.tied & (here | there)).sum())
    return int((here & ~table.tied).sum()), ties, int((there & ~table.tied).sum())


def test_cemspc_agrees_with_the_independent_long_form(data_folder):
    """BradleyTerry2 keeps the same students in the same order, without the reversed pair."""
    rows = rows_of(data_folder / "cemspc" / "CEMS_preferences.csv")
    table = load("cemspc", data_folder)
    code = {name: k for k, name in enumerate(table.item_names)}
    expected = set()
    for row in rows:
        if row["tied"] == "NA":
            continue
        first, second = code[row["school1"]], code[row["school2"]]
        if row["win2"] == "1":
            first, second = second, first
        expected.add((int(row["student"]) - 1, first, second, row["tied"] == "1"))
    columns = (table.users, table.winners, table.losers, table.tied)
    found = list(zip(*(column.tolist() for column in columns)))
    assert len(expected) == len(found) == 303 * 15 - 91
    assert set(found) == expected
    assert table.item_names == (
        "London", "Paris", "Milano", "St.Gallen", "Barcelona", "Stockholm"
    )  # fmt: skip
    assert {tuple(sorted(pair)) for pair in table.questionnaire.tolist()} == set(
        combinations(range(6), 2)
    )
    assert (table.num_users, table.comparisons_per_user) == (303, 15)
    assert np.bincount(table.counts_per_user)[14:].tolist() == [91, 212]
    assert sum("V15" in note for note in table.notes) == 1


# 1 / 0 / -1 by pair, items from 0
IMMIG = {
    (0, 1): (53, 23, 12), (0, 2): (34, 16, 38), (1, 2): (20, 21, 43),
    (0, 3): (48, 19, 15), (1, 3): (31, 28, 21), (2, 3): (50, 17, 14),
}  # fmt: skip


def test_immig_counts(data_folder):
    table = load("immig", data_folder)
    assert table.item_names == ("crimRate", "position", "socBurd", "culture")
    # the order of the columns: V23 before V14
    assert [tuple(pair) for pair in table.questionnaire.tolist()] == list(IMMIG)
    for pair, counts in IMMIG.items():
        assert pair_counts(table, *pair) == counts
    assert len(table) == sum(map(sum, IMMIG.values())) == 503
    assert (table.num_users, table.comparisons_per_user) == (98, 6)
    assert np.bincount(6 - table.counts_per_user).tolist() == [65, 9, 5, 13, 3, 3]


def test_cars_counts(data_folder):
    table = load("cars", data_folder)
    assert (len(table), table.num_users, table.num_items, table.ties) == (2675, 60, 10, 0)
    wins = [187, 322, 174, 184, 223, 355, 314, 320, 264, 332]
    assert np.bincount(table.winners, minlength=10).tolist() == wins
    assert table.user_names == tuple(map(str, range(1, 61)))
    assert np.bincount(table.counts_per_user)[39:].tolist() == [1, 0, 1, 0, 4, 7, 47]
    low = np.minimum(table.winners, table.losers)
    high = np.maximum(table.winners, table.losers)
    assert len(set(zip(table.users.tolist(), low.tolist(), high.tolist()))) == len(table)
    asked = {tuple(pair) for pair in table.questionnaire.tolist()}
    assert asked == set(combinations(range(10), 2)) == set(zip(low.tolist(), high.tolist()))
    assert len(table.questionnaire) == 45


def test_car_names_spell_out_the_codes(data_folder):
    names = load("cars", data_folder).item_names
    assert names[0] == "car 1: SUV, manual, 2.5 L, not hybrid"
    assert names[1] == "car 2: sedan, automatic, 5.5 L, hybrid"
    names = load("cars2", data_folder).item_names
    assert names[1] == "car 2: hatchback, automatic, 3.5 L, not hybrid, all-wheel drive"
    assert len(names) == 20


def test_cars2_counts(data_folder):
    table = load("cars2", data_folder)
    assert (len(table), table.num_users, table.num_items, table.ties) == (2206, 60, 20, 0)
    assert (table.counts_per_user.min(), table.counts_per_user.max()) == (33, 38)
    assert table.questionnaire is None
    low = np.minimum(table.winners, table.losers)
    high = np.maximum(table.winners, table.losers)
    assert len(set(zip(low.tolist(), high.tolist()))) == 187
    assert len(table) - len(set(zip(table.users.tolist(), low.tolist(), high.tolist()))) == 8


# --- rankings ---

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
    compared = {name: len(table) for name, table in found.items() if name not in tables}
    assert compared == {"cars": 2675, "cars2": 2206, "cemspc": 4454, "coffee": 2841, "immig": 503}
    assert {name: table.ranks.shape for name, table in tables.items()} == SIZES
    assert {name for name, table in tables.items() if table.complete} == FULL
    assert {name for name, table in tables.items() if table.tied} == {"aspen", "aspen-mayor"}
    assert {name for name, table in tables.items() if table.missing == "unknown"} == {"nascar"}
    assert all(table.name == name for name, table in found.items())


def test_sushi_counts_and_names(data_folder):
    table = load("sushi", data_folder)
    with (data_folder / "sushi" / "item_set_A.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert table.item_names == tuple(row["english"] for row in rows)
    means = [4.917, 5.223, 4.472, 5.898, 5.525, 5.096, 6.855, 3.111, 5.888, 8.014]
    np.testing.assert_allclose(table.ranks.mean(axis=0) + 1, means, atol=6e-4)
    firsts = np.sum(table.ranks == 0, axis=0)
    assert firsts.tolist() == [458, 550, 404, 228, 747, 545, 206, 1713, 113, 36]


def test_apa(data_folder):
    table = load("apa", data_folder)
    lengths = np.bincount(np.sum(table.ranks >= 0, axis=1), minlength=6)
    assert lengths.tolist() == [0, 5141, 2462, 2108, 0, 5738]
    assert table.ranks[0].tolist() == [-1, -1, -1, -1, 0]
    ranks = load("apa1998", data_folder).ranks
    for row, users in (
        ([-1, -1, 0, -1, -1], 1494),
        ([-1, -1, 1, -1, 0], 360),
        ([1, 2, 0, 3, 4], 322),
    ):
        assert np.sum(np.all(ranks == row, axis=1)) == users


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
