"""Comparisons counted in an engine: the same as by the loaders, and bounded without a look at who won."""

from __future__ import annotations

import collections

import ibis
import numpy as np
import pytest

from privrank_jax.data import DataError
from privrank_jax.data.engine_counts import bounded_rows
from tests.data.readers import load_comparisons, read_comparisons
from tests.data.rows import VOTES, kept
from tests.parquet import as_parquet, parquet


def random_votes(seed: int, users: str, ties: str) -> str:
    """Forty rows of few users and items, with duplicates."""
    rng = np.random.default_rng(seed)
    names = np.array(["b", "a", "Ünal", "a b", "10"])
    rows = []
    for _ in range(40):
        first, second = rng.choice(len(names), 2, replace=False)
        who = users.format(rng.integers(6))
        rows.append(f"({who}, '{names[first]}', '{names[second]}', {rng.choice(ties.split('|'))})")
    return f'SELECT * FROM (VALUES {", ".join(rows)}) t("user", winner, loser, tie)'


CASES = {
    "text": ("'u{}'", "'yes'|'no'|''|NULL|' TRUE '", {}),
    "numbers": ("{}", "true|false|NULL", {"items": ["10", "a", "unseen", "b", "a b", "Ünal"]}),
    "odd names": ("'é {}'", "1|0", {"tie": None}),
    "no users": ("{}.5", "0.0|1.0", {"user": None}),
}


@pytest.mark.parametrize("case", CASES)
def test_the_same_as_by_the_loader(tmp_path, backend, case):
    users, ties, options = CASES[case]
    path = parquet(tmp_path, random_votes(len(case), users, ties))
    table, rows = (load_comparisons(path, **options), read_comparisons(path, **options))
    found, wanted = rows.win_counts(), table.arrays().win_counts()
    np.testing.assert_array_equal(found.matrix, wanted.matrix)
    assert float(found.ties) == float(wanted.ties) == table.ties
    tied = rows.ties_of_pairs()
    np.testing.assert_array_equal(tied, table.ties_of_pairs())
    assert np.triu(tied).sum() == table.ties
    assert np.all((tied == tied.T) & (tied <= wanted.comparisons))
    for name in ("item_names", "has_users", "ties", "name", "notes", "num_items", "questionnaire"):
        assert getattr(rows, name) == getattr(table, name)
    assert len(rows) == len(table)
    if table.has_users:
        assert rows.num_users == table.num_users
        assert rows.comparisons_per_user == table.comparisons_per_user


def test_a_table_of_an_engine():
    frame = ibis.memtable({"judge": [1, 1], "w": [7, 8], "l": [8, 9], "l2": [6, 8]})
    columns = {"user": "judge", "winner": "w", "loser": "l", "name": "battles"}
    rows = read_comparisons(frame, **columns)
    assert (rows.name, rows.item_names, rows.num_users) == ("battles", ("7", "8", "9"), 1)
    with pytest.raises(
        DataError, match=r"^battles, a row, column 'l2': item '8' is compared with itself"
    ):
        read_comparisons(frame, **{**columns, "loser": "l2"})


REFUSED = (
    "(NULL, 'a', 'b', '0')", "('  ', 'a', 'b', '0')", "('u', NULL, 'b', '0')", "('u', 'a', '', '0')",
    "('NaN', 'a', 'b', '0')", "('u', 'a', 'n/a', '0')", "('u', 'a', 'a', '0')", "('u', 'a', 'b', 'maybe')",
    "('u', 'A', 'b', '0')", "('u', 'a', 'b ', '0')", "('u ', 'a', 'b', '0')",
    "(' u', 'a', 'b', '0'), ('u  ', 'a', 'b', '0')", "('u', chr(0), 'b', '0')", "('v' || chr(0), 'a', 'b', '0')",
)  # fmt: skip


@pytest.mark.parametrize("row", REFUSED)
def test_refusals_in_the_words_of_the_loader(tmp_path, backend, row):
    path = parquet(tmp_path, VOTES.format(row))
    with pytest.raises(DataError) as of_loader:
        load_comparisons(path)
    with pytest.raises(DataError) as of_engine:
        read_comparisons(path)
    said = [str(error.value) for error in (of_loader, of_engine)]
    if "named twice" in said[0]:  # either spelling may be met first
        assert "differ only by blanks" in said[1]
        assert said[1].startswith("votes.parquet, row ")
    else:
        assert said[1] == said[0]


def test_bounded_counts(tmp_path, backend):
    path = parquet(tmp_path, random_votes(5, "'u{}'", "'1'|'0'"))
    rows = read_comparisons(path)
    wins = rows.win_counts(2, "salt")
    stay = kept(bounded_rows(rows.rows, 2, "salt", ["code"]))
    assert set(collections.Counter(user for user, _ in stay.elements()).values()) == {2}
    assert float(wins.matrix.sum()) == stay.total()
    np.testing.assert_array_equal(wins.matrix, rows.win_counts(2, "salt").matrix)
    assert np.any(np.asarray(wins.matrix) != np.asarray(rows.win_counts(2, "pepper").matrix))
    with pytest.raises(ValueError, match="needs a salt"):
        rows.win_counts(2)
    with pytest.raises(ValueError, match="must be positive"):
        rows.win_counts(0, "salt")
    with pytest.raises(ValueError, match="no users to bound"):
        read_comparisons(path, user=None).win_counts(2, "salt")


@pytest.mark.parametrize(
    ("header", "rows", "rare"),
    [
        ("user,winner,loser", ["u,a,b", "v,a,b", *["u,a,x"] * 3, "w,y,b"], ("x", "y")),
        ("user,winner,loser", ["u,a,b", "v,a,b", *["u,a,b"] * 3], ()),
        ("winner,loser", ["a,b", "a,x", "b,a", "b,a"], ("x",)),
        ("user,winner,loser", ["u,a,b", "u,b,a"], ("a", "b")),
    ],
)
def test_items_of_one_user_are_those_of_the_loader(tmp_path, header, rows, rare):
    path = tmp_path / "votes.csv"
    path.write_text("\n".join([header, *rows, ""]), encoding="utf-8")
    user = "user" if "user" in header else None
    assert read_comparisons(path, user=user).rare_items == rare
    assert read_comparisons(as_parquet(path), user=user).rare_items == rare
