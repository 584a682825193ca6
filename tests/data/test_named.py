"""The named data sets: every count that their description states, and every trap."""

from __future__ import annotations

import csv
from itertools import combinations

import numpy as np

from privrank_jax.data import Comparisons
from privrank_jax.data.named import load, named_sets


def rows_of(path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return [{k.strip(): v for k, v in row.items()} for row in csv.DictReader(file)]


def pair_counts(table: Comparisons, first: int, second: int) -> tuple[int, int, int]:
    """(first preferred, ties, second preferred) of one pair."""
    here = (table.winners == first) & (table.losers == second)
    there = (table.winners == second) & (table.losers == first)
    ties = int((table.tied & (here | there)).sum())
    return int((here & ~table.tied).sum()), ties, int((there & ~table.tied).sum())


# first / tie / second, in the order of the columns V1 ... V15, of which the last is turned
CEMSPC = [
    (186, 26, 91), (221, 26, 56), (121, 32, 59), (208, 22, 73), (165, 19, 119),
    (135, 28, 140), (217, 19, 67), (157, 37, 109), (104, 67, 132), (144, 25, 134),
    (250, 19, 34), (203, 30, 70), (157, 46, 100), (155, 50, 98), (172, 41, 90),
]  # fmt: skip
LONDON, PARIS, MILANO, STGALLEN, BARCELONA, STOCKHOLM = range(6)
CEMSPC_PAIRS = [
    (LONDON, PARIS), (LONDON, MILANO), (PARIS, MILANO), (LONDON, STGALLEN), (PARIS, STGALLEN),
    (MILANO, STGALLEN), (LONDON, BARCELONA), (PARIS, BARCELONA), (MILANO, BARCELONA),
    (STGALLEN, BARCELONA), (LONDON, STOCKHOLM), (PARIS, STOCKHOLM), (MILANO, STOCKHOLM),
    (STGALLEN, STOCKHOLM), (BARCELONA, STOCKHOLM),
]  # fmt: skip


def test_cemspc_counts(data_folder):
    table = load("cemspc", data_folder)
    assert table.item_names == (
        "London", "Paris", "Milano", "St.Gallen", "Barcelona", "Stockholm"
    )  # fmt: skip
    assert [tuple(pair) for pair in table.questionnaire.tolist()] == CEMSPC_PAIRS
    assert [pair_counts(table, *pair) for pair in CEMSPC_PAIRS] == CEMSPC
    assert (table.num_users, table.num_items) == (303, 6)
    assert len(table) == 303 * 15 - 91 == 4454
    assert table.ties == sum(tie for _, tie, _ in CEMSPC)
    assert table.comparisons_per_user == 15
    assert sorted(set(table.counts_per_user.tolist())) == [14, 15]
    assert (table.counts_per_user == 14).sum() == 91
    assert sum("V15" in note for note in table.notes) == 1


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
    assert len(expected) == len(found) == 4454
    assert set(found) == expected


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
    missing = [98 - sum(counts) for counts in IMMIG.values()]
    assert missing == [10, 10, 14, 16, 18, 17]
    assert sum(missing) == 85
    assert len(table) == 588 - 85 == 503
    assert (table.num_users, table.comparisons_per_user) == (98, 6)
    assert np.bincount(6 - table.counts_per_user).tolist() == [65, 9, 5, 13, 3, 3]


def test_cars_counts(data_folder):
    table = load("cars", data_folder)
    assert (len(table), table.num_users, table.num_items, table.ties) == (2675, 60, 10, 0)
    wins = [187, 322, 174, 184, 223, 355, 314, 320, 264, 332]
    assert np.bincount(table.winners, minlength=10).tolist() == wins
    given = dict.fromkeys(range(1, 61), 45)
    given |= dict.fromkeys((9, 30, 32, 57, 58, 59, 60), 44)
    given |= dict.fromkeys((14, 34, 35, 48), 43) | {45: 41, 50: 39}
    assert table.user_names == tuple(str(user) for user in given)
    assert table.counts_per_user.tolist() == list(given.values())
    assert (table.counts_per_user == 45).sum() == 47
    low = np.minimum(table.winners, table.losers)
    high = np.maximum(table.winners, table.losers)
    assert len(set(zip(table.users.tolist(), low.tolist(), high.tolist()))) == len(table)
    asked = {tuple(pair) for pair in table.questionnaire.tolist()}
    assert asked == set(combinations(range(10), 2)) == set(zip(low.tolist(), high.tolist()))
    assert len(table.questionnaire) == 45
    assert len(table) == 2675


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


def test_load_knows_every_name(data_folder):
    tables = {name: load(name, data_folder) for name in named_sets()}
    sizes = {k: len(table) for k, table in tables.items() if isinstance(table, Comparisons)}
    assert sizes == {"cars": 2675, "cars2": 2206, "cemspc": 4454, "coffee": 2841, "immig": 503}
    assert all(table.name == name for name, table in tables.items())
