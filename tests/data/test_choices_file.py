"""Choices from sets and best-worst answers (MaxDiff), each in three forms; faults with the place where they stand."""

from __future__ import annotations

import numpy as np
import pytest

from privrank_jax.data import BestWorst, Choices, DataError
from tests.data.files import SUFFIXES, as_file, frame

LONG_ROWS = "u1,a,1,0", "u2,c,1,", "u1,b,1,1", "u2,a,1,yes", "u2,b,1,0", "u1,b,2,0", "u1,c,2,1"
CHOICES = {
    "texts": (frame("user,chosen,shown", "u1,b,a|b", "u2,a,c;a;b", "u1,c,b| c"), {}),
    "columns": (frame("user,chosen,option_1,option_2,option_3", "u1,b,a,b,", "u2,a,c,a,b", "u1,c,b,,c"), {}),
    "letters": (
        frame("user,pick,x,y,z", "u1,B,a,b,", "u2,y,c,a,b", "u1,c,b,,c"), {"chosen": "pick", "shown": list("xyz")},
    ),
    "long": (frame("user,Item,Block,Chosen", *LONG_ROWS), {"item": "Item", "block": "Block", "chosen": "Chosen"}),
}  # fmt: skip


def sets_of(found):
    """User, first items and all items of each set, by names."""
    names, number = np.array([*found.item_names, ""]), 1 if isinstance(found, Choices) else 2
    rows = zip(map(found.user_names.__getitem__, found.users), names[found.sets])
    return [(user, *row[:number].tolist(), "".join(sorted(row))) for user, row in rows]


@pytest.mark.parametrize("form", CHOICES)
def test_every_form_says_the_same_choices(tmp_path, form):
    columns, options = CHOICES[form]
    expected = [("u1", "b", "ab"), ("u2", "a", "abc"), ("u1", "c", "bc")]
    for source in (columns, *(as_file(tmp_path, columns, suffix) for suffix in SUFFIXES)):
        found = Choices.read(source, **options)
        assert (sets_of(found), found.item_names) == (expected, ("a", "b", "c"))
        assert (found.public, found.comparisons_per_user, found.num_users) == (("items",), 2, 2)
        assert len(found.reading) == 1
        assert "not shown" in repr(found)
    chosen = found.choices(np.array([True, True, False]))
    assert chosen.totals.tolist() == [1, 1, 0]
    assert chosen.offered.sum(1).tolist() == [2, 3, 2]
    listed = Choices.read(columns, items=["c", "b", "a", "d"], **options)
    assert (sets_of(listed), listed.item_names) == (expected, ("c", "b", "a", "d"))
    assert listed.public == ()
    alone = {name: cells for name, cells in columns.items() if name != "user"}
    if form == "long":  # without users blocks are those of all rows
        alone["Block"] = ["1", "2", "1", "2", "2", "3", "3"]
    found = Choices.read(alone, **options)
    assert (found.has_users, len(found), found.sets[:, 0].tolist()) == (False, 3, [1, 0, 2])


Q = {"blocks": ["Q1_1..Q1_3", "Q2_1..Q2_3"], "words": ["1", "2"], "items": ["a", "b", "c"]}
BEST_WORST = {
    "rows": (frame("user,best,worst,shown", "u,a,c,a|b|c", "v,c,b,b|c|a", "u,a,b,a|b"), {}),
    "letters": (
        frame("name,A1,B1,C1,top,last,age", "u,b,a,c,B,C1,4", "v,c,b,a,A,b,5", "u,a,,b,a,c,4"),
        {"user": "name", "best": "top", "worst": "last", "shown": ["A1", "B1", "C1"]},
    ),
    "long": (
        frame(
            "user,Set,item,answer",
            "u,1,c,-1", "u,1,a,1", "v,1,b,-1", "v,1,a,", "v,1,c,1", "u,1,b,0", "u,2,a,1.0", "u,2,b,-1",
        ),
        {"answer": "answer", "block": "Set"},
    ),
    "blocks": (frame("user,Q1_1,Q1_2,Q1_3,Q2_1,Q2_2,Q2_3", "u,1,,2,1,2,", "v,,2,1,,,"), Q),
}  # fmt: skip


@pytest.mark.parametrize("form", BEST_WORST)
def test_every_form_says_the_same_best_and_worst(tmp_path, form):
    columns, options = BEST_WORST[form]
    pair = "abc" if form == "blocks" else "ab"  # where all items of a block were shown
    expected = [("u", "a", "b", pair), ("u", "a", "c", "abc"), ("v", "c", "b", "abc")]
    if form == "letters":  # a letter is that of a column, an item its name
        columns = {**columns, "top": ["B", "A", "a"], "last": ["C1", "b", "C"]}
        expected[1], expected[2] = ("u", "a", "c", "abc"), ("v", "c", "b", "abc")
    for source in (columns, *(as_file(tmp_path, columns, suffix) for suffix in SUFFIXES)):
        if form == "blocks" and "json" in str(source):
            with pytest.raises(DataError, match="no order"):
                BestWorst.read(source, **options)
            continue
        found = BestWorst.read(source, **options)
        assert sorted(sets_of(found)) == expected
        assert found.totals.tolist() == [2, -2, 0]
    pairs = found.comparisons()
    assert (len(pairs), pairs.ties, pairs.num_users) == (3, 0, 2)
    assert sorted(zip(pairs.winners.tolist(), pairs.losers.tolist())) == [(0, 1), (0, 2), (2, 1)]


def test_words_of_marks_and_counts():
    columns = frame("user,Q1_1,Q1_2,Q1_3", "u,Best,,worst", "v,WORST,best,", "w,n/a,,")
    told = {"blocks": ["Q1_1..Q1_3"], "words": ["best", "Worst"], "items": ["x", "y", "z"]}
    with pytest.raises(DataError, match="row 3, column 'Q1_1': 'n/a' marks neither"):
        BestWorst.read(columns, **told)
    assert BestWorst.read(columns, blank="N/A", **told).sets.tolist() == [[0, 2, 1], [1, 0, 2]]
    counted = {**columns, "n": ["2", "0", "1"], "user": ["", "", ""]}
    found = BestWorst.read(counted, blank="N/A", user=None, count="n", **told)
    assert found.sets.tolist() == [[0, 2, 1]] * 2


SETS = CHOICES["texts"][0]
LONG = CHOICES["long"][0]
ROWS = ("user,best,worst,shown", "u,a,c,a|b|c")
BLOCKS = ("user,Q1_1,Q1_2,Q1_3,Q2_1,Q2_2,Q2_3", "u,1,,2,,,")


def more(columns, *cells):
    return {name: [*column, cell] for (name, column), cell in zip(columns.items(), cells)}


REFUSED = [
    (Choices, more(SETS, "u3", "d", "a|b"), {}, "row 4, column 'chosen'"),
    (Choices, more(SETS, "u3", "a", "a"), {}, "row 4, column 'shown'"),
    (Choices, more(SETS, "u3", "a", "a|b|a"), {}, "row 4, column 'shown'"),
    (Choices, more(SETS, "u3", "A", "A|b"), {}, "row 4, column 'shown': item named twice"),
    (Choices, SETS, {"items": ["a", "b"]}, "'c' is not in the list of items"),
    (Choices, dict(zip(("user", "y", "seen"), SETS.values())), {}, "`shown`.*`chosen`"),
    (Choices, {name: [] for name in SETS}, {}, "no rows"),
    (Choices, more(LONG, "u3", "a", "1", "1"), {}, "row 8, column '.tem'"),
    (Choices, more(LONG, "u1", "a", "2", "1"), {}, "row 6, column 'Chosen'"),
    (Choices, more(LONG, "u1", "a", "2", "2"), {}, "row 8, column '.hosen': '2'"),
    (Choices, {**LONG, "n": ["1"] * 7}, {"count": "n"}, "`count`"),
    (Choices, frame("item,chosen", "a,1", "b,0"), {}, "`block`"),
    (BestWorst, frame(*ROWS, "v,b,b,a|b"), {}, "row 2, column '(best|worst)'"),
    (BestWorst, frame("user,item,block", "u,a,1", "u,b,1"), {}, "`answer`"),
    (BestWorst, frame("user,item,block,x", "u,a,1,1", "u,b,1,2"), {"answer": "x"}, "row 2, column 'x': '2'"),
    (BestWorst, frame("user,item,block,x", "u,a,1,1", "u,b,1,0"), {"answer": "x"}, "row 1, column 'x'"),
    (BestWorst, frame(*BLOCKS, "v,1,1,2,,,"), Q, "row 2, column 'Q1_1..Q1_3'"),
    (BestWorst, frame(*BLOCKS, "v,,,,1,2,3"), Q, "row 2, column 'Q2_3': '3' marks neither"),
    (BestWorst, frame(*BLOCKS), {**Q, "items": "seen"}, "`items`"),
    (BestWorst, frame(*BLOCKS), {**Q, "words": ["1"]}, "`words`"),
    (BestWorst, frame(*BLOCKS), {**Q, "blocks": ["Q1_1..Q1_9"]}, "no column 'Q1_9'"),
    (BestWorst, frame(*BLOCKS), {**Q, "shown": ["user"]}, "`shown`"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "columns", "options", "message"), REFUSED)
def test_faults_are_refused_with_their_place(kind, columns, options, message):
    with pytest.raises(DataError, match=message):
        kind.read(columns, **options)
