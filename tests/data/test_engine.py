"""Tables of an engine, through Ibis: the same as in memory, bounded by a keyed hash without a look at who won."""

from __future__ import annotations

import collections
import re

import ibis
import numpy as np
import pytest

import privrank_jax as pr
from privrank_jax.data import Comparisons, DataError, Rankings, engine
from privrank_jax.data.engine import bounded_rows, check_users
from tests.data.files import as_file, frame


def kept(expression):
    """The rows of a bounded table, as a multiset."""
    return collections.Counter(tuple(row.values()) for row in expression.to_pyarrow().to_pylist())


def both(kind, columns, **options):
    """The same table in memory and in an engine: data, or messages."""
    found = []
    for source in (columns, ibis.memtable(columns)):
        try:
            found.append(kind.read(source, **options))
        except DataError as error:
            found.append(str(error))
    return found


# --- comparisons ---

NAMES = ("b", "a", "Ünal", "a b", "10")
TIES = ("yes", "no", "", None, " TRUE ")


def votes(seed, users, ties=TIES, rows=60):
    """Rows of few users and items, with duplicates."""
    rng = np.random.default_rng(seed)
    pairs = np.array([rng.choice(len(NAMES), 2, replace=False) for _ in range(rows)])
    columns = {"user": [users(int(k)) for k in rng.integers(6, size=rows)]}
    columns |= {
        one: [NAMES[k] for k in pairs[:, place]] for place, one in enumerate(("winner", "loser"))
    }
    return {**columns, "tie": [ties[k] for k in rng.integers(len(ties), size=rows)]}


CASES = {
    "text": (votes(0, "u{}".format), {}),
    "numbers": (
        votes(1, int, (True, False, None)),
        {"items": ["10", "a", "unseen", "b", "a b", "Ünal"]},
    ),
    "odd names": (votes(2, "é {}".format), {"tie": None}),
    "no users": (votes(3, float), {"user": None}),
    "names of columns made here": (
        {"low": [*"uvu"], "first": [*"xyz"], "number": [*"yzx"], "rows": [*"aba"]},
        {"user": "low", "winner": "first", "loser": "number", "tie": None},
    ),
    "scores": (
        {"user": [*"uvu"], "a": [*"xyz"], "b": [*"yzx"], "h": [1, 2, 2], "g": [1.0, 0.5, 3.0]},
        {"left": "a", "right": "b", "left_score": "h", "right_score": "g", "items": "seen"},
    ),
    "one row": (frame("user,winner,loser", "u,a,b"), {}),
}


@pytest.mark.parametrize("case", CASES)
def test_comparisons_are_counted_as_in_memory(case):
    columns, options = CASES[case]
    table, rows = both(Comparisons, columns, **options)
    found, wanted = rows.win_counts(), table.arrays().win_counts()
    np.testing.assert_array_equal(found.matrix, wanted.matrix)
    assert float(found.ties) == float(wanted.ties) == table.ties
    np.testing.assert_array_equal(rows.ties_of_pairs(), table.ties_of_pairs())
    same = "item_names has_users ties name notes reading public undeclared num_items questionnaire rare_items users_are"
    of_users = "num_users comparisons_per_user" if table.has_users else ""
    for name in (*same.split(), *of_users.split()):
        assert getattr(rows, name) == getattr(table, name), name
    assert len(rows) == len(table)
    again = rows.in_memory()
    np.testing.assert_array_equal(again.winners, table.winners)


REFUSED = (
    (None, "a", "b", "0"), ("  ", "a", "b", "0"), ("u", None, "b", "0"), ("u", "a", "", "0"), ("NaN", "a", "b", "0"),
    ("u", "a", "n/a", "0"), ("u", "a", "a", "0"), ("u", "a", "b", "maybe"), ("u", "A", "b", "0"), ("u", "a", "b ", "0"),
    ("u ", "a", "b", "0"), ("u\u200b", "a", "b", "0"), ("u", "a\0", "b", "0"), ("v\0", "a", "b", "0"),
)  # fmt: skip


@pytest.mark.parametrize("row", REFUSED)
def test_faulty_comparisons_are_refused_as_in_memory(row):
    rows = [("u", "a", "b", "0"), ("v", "b", "a", "1"), row]
    columns = dict(zip(("user", "winner", "loser", "tie"), map(list, zip(*rows))))
    here, there = both(Comparisons, columns)
    assert isinstance(here, str)
    assert isinstance(there, str)
    place = r"column '[^']*'|named twice|missing|NUL"
    assert re.findall(place, here) == re.findall(place, there)


@pytest.mark.parametrize("cells", [[["x"]], [b"x"], [{"x": 1}]])
def test_columns_that_hold_no_text_are_named(cells):
    with pytest.raises(DataError, match="'winner'"):
        pr.read(ibis.memtable({"user": ["a"], "winner": cells, "loser": ["y"]}))


# --- bounds ---


def bounded(rows, limit, salt="pepper"):
    table = ibis.memtable(rows, columns=["user", "low", "high", "outcome"])
    return kept(bounded_rows(table, limit, salt, ["low", "high", "outcome"]))


def random_rows(seed, users=5, rows=60):
    """Users with between none and some twenty rows, duplicates among them."""
    rng = np.random.default_rng(seed)
    low = rng.integers(3, size=rows)
    high = low + rng.integers(1, 3, size=rows)
    who = np.minimum(rng.integers(users, size=rows), rng.integers(users, size=rows))
    outcome = rng.integers(3, size=rows)
    return [(f"u{u}", *map(int, r)) for u, *r in zip(who, low, high, outcome)]


def test_at_most_the_bound_of_each_user_and_of_others_all():
    rows = random_rows(0)
    number = collections.Counter(user for user, *_ in rows)
    for limit in (1, 7, 100):
        stay = bounded(rows, limit)
        assert stay <= collections.Counter(rows)
        users = collections.Counter(user for user, *_ in stay.elements())
        assert users == {user: min(limit, count) for user, count in number.items()}
        of_nobody = [(None, 0, 1, 2)] * 5 + [("u0", 0, 1, 2)] * 3
        assert bounded(of_nobody, limit) == {("u0", 0, 1, 2): min(limit, 3)}


def test_the_choice_depends_on_the_rows_and_the_salt_alone():
    rows = random_rows(1)
    stay = bounded(rows, 4)
    assert bounded(rows[::-1], 4) == stay
    assert bounded(rows, 4, "salt") != stay


def test_who_won_does_not_matter_for_which_pairs_stay():
    rows = random_rows(2)
    turned = [(*row[:3], 2 - row[3]) if k % 3 else (*row[:3], 1) for k, row in enumerate(rows)]
    pairs = [
        collections.Counter(row[:3] for row in bounded(version, 4).elements())
        for version in (rows, turned)
    ]
    assert pairs[0] == pairs[1]


def test_other_users_rows_stay_whatever_one_user_does():
    rows = random_rows(3)
    others = [row for row in rows if row[0] != "u0"]
    stay = [
        collections.Counter({row: n for row, n in bounded(version, 3).items() if row[0] != "u0"})
        for version in (rows, others, [*others, *(("u0", 0, 1, 2),) * 50])
    ]
    assert stay[0] == stay[1] == stay[2]


def test_every_row_is_as_likely_to_stay_as_any_other():
    # Each of 3,000 users gave the same six rows; five standard deviations of a binomial count are 137.
    content = [(0, 1, 0), (0, 1, 2), (0, 2, 1), (1, 2, 0), (1, 2, 0), (1, 2, 2)]
    rows = [(f"u{k}", *row) for k in range(3000) for row in content]
    found = collections.Counter(row[1:] for row in bounded(rows, 3).elements())
    for row, number in collections.Counter(content).items():
        assert abs(found[row] - 1500 * number) < 137 * number


def test_bounded_counts():
    columns = votes(5, "u{}".format, ("1", "0"))
    rows = Comparisons.read(ibis.memtable(columns))
    wins = rows.win_counts(2, "salt")
    stay = kept(bounded_rows(rows.rows, 2, "salt", ["code"]))
    assert set(collections.Counter(user for user, _ in stay.elements()).values()) == {2}
    assert float(wins.matrix.sum()) == stay.total()
    np.testing.assert_array_equal(wins.matrix, rows.win_counts(2, "salt").matrix)
    assert np.any(np.asarray(wins.matrix) != np.asarray(rows.win_counts(2, "pepper").matrix))
    alone = Comparisons.read(ibis.memtable(columns), user=None)
    cases = (rows, (2,), "salt"), (rows, (0, "salt"), "max_per_user"), (alone, (2, "salt"), "users")
    for data, given, word in cases:
        with pytest.raises(ValueError, match=word):
            data.win_counts(*given)


# --- sources ---


def test_a_large_parquet_file_stays_in_an_engine(tmp_path, monkeypatch):
    path = as_file(tmp_path, votes(6, "u{}".format, ("1", "0")), ".parquet")
    here = Comparisons.read(path)
    assert isinstance(here, Comparisons)
    monkeypatch.setattr(engine, "_LARGE", 1)
    there = Comparisons.read(path)
    assert isinstance(there, engine.ComparisonRows)
    for name in ("sha256", "item_names", "num_users", "notes"):
        assert getattr(there, name) == getattr(here, name)


def test_rankings_are_read_into_memory():
    for columns in (
        {"user": ["u", "u"], "item": ["b", "a"], "rank": [1, 2]},
        {"user": ["u"], "rank_1": ["b"], "rank_2": ["a"]},
        {"user": ["u"], "order": [["b", "a"]]},
    ):
        assert Rankings.read(ibis.memtable(columns)).ranks.tolist() == [[1, 0]]


def test_more_items_than_a_table_of_pairs_holds(monkeypatch):
    monkeypatch.setattr(engine, "MOST_ITEMS", 3)
    with pytest.raises(DataError, match="at most 3"):
        Comparisons.read(ibis.memtable(votes(0, "u{}".format)))


@pytest.mark.parametrize(
    "again", [lambda rows: rows.win_counts(1, "salt"), lambda rows: rows.in_memory()]
)
def test_a_parquet_file_that_changed_is_not_counted(tmp_path, monkeypatch, again):
    monkeypatch.setattr(engine, "_LARGE", 1)
    columns = frame("user,winner,loser", "u,a,b", "v,b,a")
    rows = pr.read(as_file(tmp_path, columns, ".parquet"))
    as_file(tmp_path, {name: cells * 2 for name, cells in columns.items()}, ".parquet")
    with pytest.raises(DataError, match="changed while it was read"):
        again(rows)


def test_users_are_counted_and_spellings_of_one_are_refused():
    def users(*names):
        rows = [(name, "a", "b") for name in names]
        table = ibis.memtable(rows, columns=["user", "winner", "loser"])
        return check_users("votes", table, "user")

    assert users("u", "v", "u", "é x") == (3, 2, ())
    with pytest.raises(DataError, match="user is missing"):
        users("u", "NaN")
    for one, other in (("u", "u "), ("a@x.org", "A@x.org"), ("u", "u\u200b"), ("\uff41", "a")):
        with pytest.raises(DataError, match="user named twice"):
            users("w", other, one, "z@x.org")
    assert users("u", "U", "V", "v", "w", "X") == (6, 1, (("U", "u"), ("V", "v")))
    assert len(users(*"aAbBcCdDeE")[2]) == 3
