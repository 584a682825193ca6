"""What a cell says where it is no name: numbers, times, marks and scales by one rule; long cells in messages."""

from __future__ import annotations

import re

import numpy as np
import pytest

import privrank_jax as pr
from privrank_jax.data import Approvals, Choices, Comparisons, DataError, Rankings, Ratings, Reports
from privrank_jax.data.cells import parsed_time, scale_of
from tests.data.files import as_file, frame

PAIR = {"user": ["u", "v"], "winner": ["a", "b"], "loser": ["b", "a"], "n": ["CELL", "1"]}
WIDE = {"user": ["u", "v"], "a": ["CELL", "1"], "b": ["2", "2"]}
XY = {"left": "x", "right": "y"}
SIDES = {"x": ["a", "b"], "y": ["b", "a"], "n": ["CELL", "1"], "m": ["2", "2"]}
ROLES = {
    "count": (Comparisons, PAIR, {"count": "n"}),
    "weight": (Comparisons, PAIR, {"weight": "n"}),
    "covariate": (Comparisons, {**PAIR, "x": ["a", "a"]}, {"covariates": ["n"], "side": "x"}),
    "time": (Comparisons, PAIR, {"time": "n"}),
    "score": (Comparisons, SIDES, {**XY, "left_score": "n", "right_score": "m"}),
    "wins": (Comparisons, SIDES, {**XY, "left_wins": "m", "right_wins": "n"}),
    "rank": (Rankings, WIDE, {}),
    "rating": (Ratings, WIDE, {"ratings": "0:5"}),
    "approval": (Approvals, {**WIDE, "b": ["1", "0"]}, {}),
    "epsilon": (Reports, frame("item_1,item_2,report,epsilon", "a,b,1,CELL"), {}),
}


@pytest.mark.parametrize(
    "cell",
    ["1_0", "\uff11", "0x1", "inf", "nan ", "1,5", "--1", "1e999", "9" * 40, "half", ["1"], ""],
)
@pytest.mark.parametrize("role", ROLES)
def test_one_rule_for_numbers(role, cell):
    """Underscores and digits of other scripts are Python's, not the file's."""
    kind, columns, options = ROLES[role]
    filled = {
        name: [cell if one == "CELL" else one for one in cells] for name, cells in columns.items()
    }
    if role in ("rank", "rating", "approval") and cell in ("", "nan "):
        assert kind.read(filled, **options).levels[0, 0] == 1 if role == "approval" else True
        return
    with pytest.raises(DataError, match=r"row 1, column '(n|a|epsilon)'"):
        kind.read(filled, **options)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-05-31", "2024-05-31T00:00"),
        (" 2024-05-31T18:30:00 ", "2024-05-31T18:30"),
        ("2024-05-31T18:30:00Z", "2024-05-31T18:30"),
        ("2024-05-31 18:30:00+02:00", "2024-05-31T16:30"),
        ("20240531", "2024-05-31T00:00"),
        ("1717180200.5", "2024-05-31T18:30:00.5"),
        ("0", "1970-01-01T00:00"),
        *((none, None) for none in ("noon", "", "2024-13-01", "nan")),
        ("0001-01-01T00:00:00+14:00", None),
        ("9999-12-31T23:00-05:00", None),
    ],
)  # fmt: skip
def test_what_a_text_says_of_time(text, expected):
    assert parsed_time(text) == (None if expected is None else np.datetime64(expected, "us"))


def test_times_stand_in_the_order_of_the_rows_and_count_with_them(tmp_path):
    at = ["2024-05-31", "2024-05-30T12:00", "0"]
    votes = {"winner": ["a", "b", "a"], "loser": ["b", "a", "b"], "when": at, "n": [2, 0, 1]}
    expected = np.array([at[0], at[0], "1970-01-01"], "datetime64[us]")
    np.testing.assert_array_equal(Comparisons.read(votes, time="when", count="n").times, expected)
    stamps = np.array([*at[:2], "1970-01-01"], "datetime64[ns]")
    for when in (stamps, stamps.astype("datetime64[us]").astype(object)):
        found = Comparisons.read({**votes, "when": when}, time="when", count="n").times
        np.testing.assert_array_equal(found, expected)
    path = as_file(tmp_path, {**votes, "when": stamps}, ".parquet")
    np.testing.assert_array_equal(Comparisons.read(path, time="when", count="n").times, expected)
    with pytest.raises(DataError, match="row 3, column 'when'"):
        Comparisons.read(
            {**votes, "when": np.array([*at[:2], "NaT"], "datetime64[ns]")}, time="when", ignore="n"
        )


@pytest.mark.parametrize(
    "said",
    ["5", "1:1", "a", "a,A", "a,,b", "1:x", "", (1,), (1, 2, 3), ("bad", 2), (0, float("inf"))],
)
def test_what_is_no_scale(said):
    with pytest.raises(DataError, match="is no scale"):
        scale_of(said)
    with pytest.raises(DataError, match="ratings="):
        Ratings.read({"a": ["1"], "b": ["1"]}, ratings=said)


LONG = "x" * 10_000


@pytest.mark.parametrize(
    ("kind", "rows", "options"),
    [
        (Comparisons, ("user,winner,loser,tie", f"u,a,b,{LONG}"), {}),
        (Comparisons, ("user,winner,loser", f"u,a,{LONG}", f"v,a,{LONG.upper()}"), {}),
        (Rankings, ("user,a,b", f"{LONG},1,2", f"{LONG},1,2"), {}),
        (Rankings, ("user,order", f"u,a>{LONG}>{LONG}"), {}),
        (Reports, ("item_1,item_2,report,epsilon", f"a,b,{LONG},1"), {}),
        (Comparisons, ("user,winner,loser", f"u,a,${LONG}"), {}),
        (Rankings, ("user,a,b", f"u,1,{LONG}"), {}),
        (Ratings, ("user,a,b", f"u,1,{LONG}"), {"ratings": "1:5"}),
    ],
)
def test_a_long_cell_is_cut(tmp_path, kind, rows, options):
    columns = frame(*rows)
    for source in (columns, *(as_file(tmp_path, columns, one) for one in (".csv", ".parquet"))):
        with pytest.raises(DataError) as caught:
            kind.read(source, **options)
        assert re.search(r"'\$?x{70,90}…'", str(caught.value)), str(caught.value)[:500]
        assert len(str(caught.value)) < 800


def test_cells_that_name_nothing():
    votes = {"user": ["u", "v"], "winner": ["a", "b"], "loser": ["b", "a"]}
    for column, cell, word in (
        ("winner", "\ud800", "half a surrogate pair"),
        ("winner", "x\0", "NUL"),
        ("winner", ["a", "b"], "a list"),
        ("user", ["a", "b"], "a list"),
        ("user", None, "the user is missing"),
        ("loser", " ", "the item is missing"),
    ):
        with pytest.raises(DataError, match=word):
            pr.read({**votes, column: [cell, votes[column][1]]})
    with pytest.raises(DataError, match="a list"):
        Choices.read({"chosen": ["A"], "option_1": [["A", "B"]], "option_2": ["C"]})
