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


def triads(table: Comparisons, pair: tuple[int, int] | None = None) -> tuple[int, int]:
    """(strict triads, circular ones) over all users; with ``pair``, only triads through it."""
    strict = circular = 0
    for user in range(table.num_users):
        mine = (table.users == user) & ~table.tied
        beats = set(zip(table.winners[mine].tolist(), table.losers[mine].tolist()))
        for triad in combinations(range(table.num_items), 3):
            if pair is not None and not set(pair) <= set(triad):
                continue
            won = [sum((i, j) in beats for j in triad) for i in triad]
            if sum(won) == 3:
                strict += 1
                circular += won == [1, 1, 1]
    return strict, circular


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
    assert (table.num_users, table.num_items, table.missing) == (303, 6, 91)
    assert len(table) == 303 * 15 - 91 == 4454
    assert table.ties == sum(tie for _, tie, _ in CEMSPC)
    assert table.comparisons_per_user == 15
    assert sorted(set(table.counts_per_user.tolist())) == [14, 15]
    assert (table.counts_per_user == 14).sum() == 91
    assert sum("V15" in note for note in table.notes) == 1


def test_cemspc_ties_hold_the_first_school_as_winner(data_folder):
    table = load("cemspc", data_folder)
    pairs = zip(table.winners[table.tied].tolist(), table.losers[table.tied].tolist())
    assert set(pairs) <= set(CEMSPC_PAIRS)


def test_turning_v15_in_code_gives_the_corrected_file(data_folder):
    rows = rows_of(data_folder / "cemspc" / "cemspc_v15_corrected.csv")
    answers = []
    for user, row in enumerate(rows):
        for k, (first, second) in enumerate(CEMSPC_PAIRS):
            code = row[f"V{k + 1}"]
            if code == "2":
                answers.append((user, second, first, False))
            elif code in ("0", "1"):
                answers.append((user, first, second, code == "1"))
    table = load("cemspc", data_folder)
    columns = (table.users, table.winners, table.losers, table.tied)
    assert list(zip(*(column.tolist() for column in columns))) == answers


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


def test_the_reversed_column_shows_in_circular_triads(data_folder):
    through = (BARCELONA, STOCKHOLM)
    table = load("cemspc", data_folder)
    assert triads(table, through) == (878, 7)
    both = table.winners + table.losers == sum(through)
    both &= np.isin(table.winners, through)
    winners, losers = (
        np.where(both, one, other)
        for one, other in ((table.losers, table.winners), (table.winners, table.losers))
    )
    turned = Comparisons(table.users, winners, losers, table.tied, table.item_names)
    assert triads(turned, through) == (878, 268)


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
    assert table.missing == sum(missing) == 85
    assert len(table) == 588 - 85 == 503
    assert (table.num_users, table.comparisons_per_user) == (98, 6)
    assert np.bincount(6 - table.counts_per_user).tolist() == [65, 9, 5, 13, 3, 3]


def test_immig_has_no_reversed_column(data_folder):
    table = load("immig", data_folder)
    assert triads(table) == (138, 6)
    for first, second in IMMIG:
        turned = (table.winners + table.losers == first + second) & (
            np.minimum(table.winners, table.losers) == first
        )
        winners = np.where(turned, table.losers, table.winners)
        losers = np.where(turned, table.winners, table.losers)
        flipped = Comparisons(table.users, winners, losers, table.tied, table.item_names)
        assert triads(flipped)[1] >= 20


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
    assert table.missing == 60 * 45 - 2675


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
    assert (table.questionnaire, table.missing) == (None, None)
    low = np.minimum(table.winners, table.losers)
    high = np.maximum(table.winners, table.losers)
    assert len(set(zip(low.tolist(), high.tolist()))) == 187
    assert len(table) - len(set(zip(table.users.tolist(), low.tolist(), high.tolist()))) == 8


def test_load_knows_every_name(data_folder):
    tables = {name: load(name, data_folder) for name in named_sets()}
    sizes = {k: len(table) for k, table in tables.items() if isinstance(table, Comparisons)}
    assert sizes == {"cars": 2675, "cars2": 2206, "cemspc": 4454, "coffee": 2841, "immig": 503}
    assert all(table.name == name for name, table in tables.items())
