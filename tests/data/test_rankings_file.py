"""Rankings, ratings and approvals in every form, and what each refusal names."""

from __future__ import annotations

import json

import numpy as np
import pytest

import privrank_jax as pr
from privrank_jax.data import Approvals, Comparisons, DataError, Rankings, Ratings
from privrank_jax.data.ballots import groups_of, sign_of
from privrank_jax.data.rankings import before
from tests.data.files import SUFFIXES, as_file, frame, written

NAMES = ("Oslo", "Paris", "Rome")
RANKS = [[0, 1, 2], [1, 1, 0], [-1, 0, -1]]
LONG_ROWS = (
    "ann,Paris,2", "ann,Oslo,1", "ann,Rome,3", "bob,Rome,1", "bob,Oslo,2", "bob,Paris,2", "cy,Paris,1",
)  # fmt: skip
FORMS = {
    "wide": (frame("user,Oslo,Paris,Rome", "ann,1,2,3", "bob,2,2,1", "cy,,1,"), {}),
    "decimals": (
        frame("user,Oslo,Paris,Rome", "ann,1.0,2nd, 3 ", "bob,2.,2,1", "cy,NA,1,null"),
        {},
    ),
    "long": (frame("user,item,rank", *LONG_ROWS), {}),
    "orders": (frame("user,order", "ann,Oslo>Paris > Rome", "bob,Rome>Oslo=Paris", "cy,Paris"), {}),
    "other names": (
        frame("who,city,place", *LONG_ROWS),
        {"user": "who", "item": "city", "rank": "place"},
    ),
    "question": (
        frame("user,Q!!Oslo,Q!!Paris,Q!!Rome", "ann,1,2,3", "bob,2,2,1", "cy,,1,"),
        {"question": "Q"},
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_says_the_same(tmp_path, form):
    columns, options = FORMS[form]
    for source in (columns, *(as_file(tmp_path, columns, suffix) for suffix in SUFFIXES)):
        if form == "question" and "json" in str(source):
            continue
        found = Rankings.read(source, items="seen", **options)
        assert (found.ranks.tolist(), found.item_names) == (RANKS, NAMES)
        assert found.user_names == ("ann", "bob", "cy")
        assert (found.missing, found.complete, found.tied) == ("last", False, True)
        fixed = form in ("wide", "decimals", "question") and "json" not in str(source)
        assert any("is treated as public" in note for note in found.notes) != fixed
        assert ("participation" in found.public) == (form in ("long", "other names"))
    listed = Rankings.read(columns, items=["Rome", "Oslo", "Paris"], missing="unknown", **options)
    assert listed.ranks.tolist() == [[row[k] for k in (2, 0, 1)] for row in RANKS]
    assert listed.missing == "unknown"
    assert listed.public == ("participation",) * (form in ("long", "other names"))
    turned = {name: cells[::-1] for name, cells in columns.items()}
    assert Rankings.read(turned, items="seen", **options).item_names == NAMES


def test_places_leave_no_ties_and_may_be_skipped():
    columns = frame("user,rank_2,rank_1,rank_3", "ann,Rome,Oslo,Paris", "bob,,Paris,", "cy,,,")
    found = Rankings.read(columns)
    assert found.item_names == NAMES
    assert found.ranks.tolist() == [[0, 2, 1], [-1, 0, -1], [-1, -1, -1]]
    assert len(found.reading) == 1
    assert found.notes[0] == found.reading[0]
    listed = Rankings.read(columns, items=["Rome", "Bonn", "Oslo", "Paris"])
    assert listed.ranks.tolist() == [[1, -1, 0, 2], [-1, -1, -1, 0], [-1] * 4]
    assert Rankings.read(frame("1st,2nd,3rd", "a,,b"), user=None).ranks.tolist() == [[0, 1]]
    numbers = frame("user,rank_1,rank_2", "ann,2,1")
    with pytest.raises(DataError, match=r"are numbers.*`items`"):
        Rankings.read(numbers)
    assert Rankings.read(numbers, items=["1", "2"]).ranks.tolist() == [[1, 0]]


# --- orders ---


@pytest.mark.parametrize(
    ("said", "text", "groups"),
    [
        (None, "A>B=C", [["A"], ["B", "C"]]),
        ("≻", " A  B ≻ c ", [["A  B"], ["c"]]),
        (">", "A;B>C", [["A;B"], ["C"]]),
        (";", "Pay; E=mc2 ;Food;", [["Pay"], ["E=mc2"], ["Food"]]),
        ("semicolon", "A", [["A"]]),
        ("|", "A|B", [["A"], ["B"]]),
        ("comma", "A, B,", [["A"], ["B"]]),
        ("newline", "Light, blue\r\n\r\nRed\n", [["Light, blue"], ["Red"]]),
        ("blank", " a  b\tc ", [["a"], ["b"], ["c"]]),
        (" ", "a b", [["a"], ["b"]]),
        ("\n", "a\nb c", [["a"], ["b c"]]),
        ("->", "a -> b", [["a"], ["b"]]),
    ],
)
def test_texts_of_orders(said, text, groups):
    assert groups_of(text, sign_of(said)) == groups
    names = sorted({name for group in groups for name in group})
    if len(names) > 1:
        found = Rankings.read({"order": [text]}, user=None, order_separator=said)
        assert found.item_names == tuple(names)
        expected = {
            name: sum(map(len, groups[:k])) for k, group in enumerate(groups) for name in group
        }
        assert found.ranks.tolist() == [[expected[name] for name in names]]


def test_what_separates_no_items_and_what_is_no_order():
    for said in ("a", "1", "semi colon", "A>B", ""):
        with pytest.raises(DataError, match="order_separator="):
            sign_of(said)
    for sign, text in ((">", "A>"), (">", "A>>B"), (">", "A= >B"), (";", "A;;B"), (";", ";A;")):
        with pytest.raises(DataError, match=r"row 2, column 'order': .* is no order"):
            Rankings.read({"order": [f"A{sign}B", text]}, order_separator=sign)


@pytest.mark.parametrize(
    ("cells", "said", "right"),
    [
        (["A;B", "B;A"], None, ";"),
        (["A>B", "A;B"], None, ">"),
        (["Washington, DC", "Paris, France"], None, None),
        (["New York", "Rome"], None, None),
        (["A>B", "C"], None, None),
        (["A\nB", "B\nA"], None, "newline"),
        (["A|B", "B|A"], ";", "|"),
    ],
)
def test_nothing_is_detected_between_items(cells, said, right):
    with pytest.raises(DataError, match=r"column 'order': .* is no order.*order_separator="):
        Rankings.read({"order": cells}, order_separator=said)
    if right not in (None, ">"):
        assert Rankings.read({"order": cells}, order_separator=right).num_items == 2
    for items in (cells, [*cells, "x"]):  # a list of items may have any
        found = Rankings.read({"order": cells}, items=items, order_separator=said)
        assert found.ranks.tolist()[0] == [0] + [-1] * (len(items) - 1)


def test_a_sign_in_the_name_of_a_known_item_and_lists(tmp_path):
    orders = {"order": ["E=mc2>Tea", "Tea", "E=mc2"]}
    found = Rankings.read(orders, items=["E=mc2", "Tea", "E", "mc2"])
    assert found.ranks.tolist() == [[-1, 2, 0, 0], [-1, 0, -1, -1], [0, -1, -1, -1]]
    rows = [
        {"user": "u", "order": ["a>b", "c"]},
        {"user": "v", "order": ["c", None, " "]},
        {"user": "w", "order": []},
    ]
    path = written(tmp_path, json.dumps(rows), "v.json")
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    for source in (path, rows, columns, as_file(tmp_path, columns, ".parquet")):
        found = Rankings.read(source)
        assert found.item_names == ("a>b", "c")
        assert found.ranks.tolist() == [[0, 1], [-1, 0], [-1, -1]]


# --- users ---


def test_users_who_ranked_nothing_count_in_a_long_file():
    """They have a row without item and rank, or are counted by a public number of users."""
    columns = frame("user,item,rank", "u,a,1", "u,b,2", "v,,")
    found = Rankings.read(columns)
    assert found.ranks.tolist() == [[0, 1], [-1, -1]]
    assert (found.user_names, found.public) == (("u", "v"), ("items", "participation"))
    told = Rankings.read(columns, num_users=4, items=["a", "b"])
    assert told.ranks.tolist() == [[0, 1]] + [[-1, -1]] * 3
    assert (told.user_names, told.public, told.partial_users) == ((), (), 3)
    for wrong in (1, 0, "4", 2.5):
        with pytest.raises(DataError, match="`num_users`"):
            Rankings.read(columns, num_users=wrong)


# --- ratings ---

RATED = [
    ["5", "4.5", "-1", "5"],
    ["", "3.50", "3.5", "1e1"],
    ["1", " 01 ", "+1.0", "nan"],
    [".5", "5e-1", "0.4", ""],
]
VALUES = [[5, 4.5, -1, 5], [np.nan, 3.5, 3.5, 10], [1, 1, 1, np.nan], [0.5, 0.5, 0.4, np.nan]]
PLACES = [[0, 2, 3, 0], [-1, 1, 1, 0], [0, 0, 0, -1], [0, 0, 2, -1]]


def rated(shape, rows):
    users = [f"u{k}" for k in range(len(rows))]
    if shape == "wide":
        return {"user": users, **dict(zip("abcd", map(list, zip(*rows))))}
    long = [(user, *cell) for user, row in zip(users, rows) for cell in zip("abcd", row)]
    return dict(zip(("user", "item", "rating"), map(list, zip(*long))))


@pytest.mark.parametrize("shape", ["wide", "long"])
def test_ratings_become_ranks_with_their_ties(tmp_path, shape):
    columns = rated(shape, RATED)
    for source in (columns, *(as_file(tmp_path, columns, one) for one in (".csv", ".parquet"))):
        found = Ratings.read(source, ratings="-2:10")
        assert (found.ranks.tolist(), found.missing) == (PLACES, "unknown")
        np.testing.assert_array_equal(found.ratings, VALUES)
        assert found.ends == (-2, 10)
        turned = Ratings.read(source, ratings=(10, -2))  # 10 is the worst
        np.testing.assert_array_equal(turned.ratings, 8 - np.array(VALUES))
        assert (turned.ends, turned.ranks.tolist()[0]) == ((-2, 10), [2, 1, 0, 2])
        assert found.notes[0] != turned.notes[0]
    with pytest.raises(DataError, match=r"row ., column .*: '-1' is not a rating from 0 to 10"):
        Ratings.read(columns, ratings="0:10")
    assert Ratings.read(columns, ratings="0:10", blank="-1").ranks[0].tolist() == [0, 2, -1, 0]


@pytest.mark.parametrize("shape", ["wide", "long"])
def test_ratings_in_words(shape):
    columns = rated(shape, [["Very  Good", "bad", "", "fair"], ["fair", "FAIR", "n/a", "bad"]])
    found = Ratings.read(columns, ratings="bad, fair,very good")
    assert found.ranks.tolist() == [[0, 2, -1, 1], [0, 0, -1, 2]]
    assert (found.ends, found.scale.tolist()) == ((0, 2), [2, 1, 0])
    turned = Ratings.read(columns, ratings=["very good", "fair", "bad"])
    assert turned.ranks[0].tolist() == [2, 0, -1, 1]
    with pytest.raises(DataError, match=r"'fair' is not a rating.*bad, very good.*blank="):
        Ratings.read(columns, ratings="bad,very good")


# --- approvals ---

YES, NO = ("1", "x", "YES", "true", "✓", "Approve"), ("", "0", "No", "false", "✗", "NA")


@pytest.mark.parametrize("suffix", ["", ".csv", ".xlsx", ".parquet"])
def test_words_of_approval(tmp_path, suffix):
    columns = {"user": list("abcdef"), "Tea": list(YES), "Milk": list(NO), "Wine": list(YES)}
    found = Approvals.read(as_file(tmp_path, columns, suffix) if suffix else columns)
    assert found.ratings.tolist() == [[0, 1, 1]] * 6  # Milk, Tea, Wine
    alike = Approvals.read({"user": ["u"], "Tea": ["x"], "Milk": ["x"]})
    assert (alike.scale.tolist(), alike.ends) == ([1, 0], (0, 1))  # whatever was said
    with pytest.raises(DataError, match="row 1, column 'Tea': 'perhaps'"):
        Approvals.read({"user": ["u"], "Tea": ["perhaps"], "Milk": ["x"]})
    long = frame("user,item,approved", "u1,Tea,yes", "u1,Milk,no", "u2,Milk,yes")
    assert Approvals.read(long).levels.tolist() == [[1, 0], [0, -1]]


@pytest.mark.parametrize("options", [{}, {"items": ["Water", "Milk", "Tea"]}])
def test_lists_of_what_users_approve_of(tmp_path, options):
    """Whoever names nothing approves of nothing."""
    cells = ["Tea; Milk", "Milk", "", "Milk;Tea;Water;", "Water"]
    expected = np.array([[1, 1, 0], [1, 0, 0], [0, 0, 0], [1, 1, 1], [0, 0, 1]])
    columns = {"n": ["1", "1", "2", "1", "0"], "Which?": cells}
    lists = [list(filter(None, map(str.strip, cell.split(";")))) for cell in cells]
    told = {"user": None, "order": "Which?", "count": "n", **options}
    for source, sign in (
        (columns, ";"),
        (as_file(tmp_path, columns, ".csv"), "semicolon"),
        ({**columns, "Which?": lists}, None),
    ):
        found = Approvals.read(source, order_separator=sign, **told)
        places = [found.item_names.index(name) for name in ("Milk", "Tea", "Water")]
        assert found.ratings[:, places].tolist() == expected[[0, 1, 2, 2, 3]].tolist()
        assert found.num_users == 5
        assert ("items" in found.public) != bool(options)
        assert any("in any order" in note for note in found.notes)


def test_an_item_that_one_user_alone_approves_of_is_rare():
    found = Approvals.read({"approved": [("Tea", "Milk"), ("Milk", "Tea"), ("My own",)]}, user=None)
    assert found.rare_items == ("My own",)
    votes = frame("user,winner,loser", "u,a,b", "v,a,b", "u,a,x", "u,a,x", "w,y,b")
    assert Comparisons.read(votes).rare_items == ("x", "y")
    assert Comparisons.read(frame("winner,loser", "a,b", "a,x", "b,a")).rare_items == ("x",)
    assert Rankings.read(frame("user,order", "u,a>b", "v,b>c")).rare_items == ("a", "c")


# --- refusals ---

WIDE, LONG, TEXTS = (FORMS[one][0] for one in ("wide", "long", "orders"))
PLACED = frame("user,rank_1,rank_2", "ann,Oslo,Rome", "bob,Rome,")


def changed(columns, name, row, cell):
    return {**columns, name: [cell if k == row else one for k, one in enumerate(columns[name])]}


REFUSED = [
    *((Rankings, changed(WIDE, "Rome", 1, cell), {}, f"row 2, column 'Rome': '{cell}' is not a rank")
      for cell in ("0", "-1", "2.5", "4", "1!")),
    (Rankings, changed(WIDE, "user", 1, "ann"), {}, "row 2, column 'user': user 'ann' has two rows"),
    (Rankings, WIDE, {"user": None}, "column 'user': 'ann' is not a rank.*`ignore`"),
    (Rankings, {**WIDE, " rome": [""] * 3}, {}, "twice"),
    (Rankings, {**WIDE, "": [""] * 3}, {}, "none blank"),
    (Rankings, {"user": [], "a": [], "b": []}, {}, "no rows"),
    (Rankings, frame("user,a", "u,1"), {}, "at least two items"),
    (Rankings, frame("A!!x,A!!y,B [x],B [y]", "1,2,1,2"), {"user": None}, "several questions"),
    (Rankings, WIDE, {"items": ["Oslo", "Pariss"]}, "no column for the item 'Pariss'"),
    (Rankings, WIDE, {"rank": "Oslo"}, "`item`"),
    (Rankings, WIDE, {"order": "vote"}, "no column 'vote'"),
    (Rankings, changed(LONG, "item", 6, "oslo"), {}, "item named twice: 'Oslo' and 'oslo'"),
    (Rankings, changed(LONG, "user", 6, "ann"), {}, "row 7, column 'item': 'Paris' is ranked twice"),
    (Rankings, changed(LONG, "rank", 6, "best"), {}, "row 7, column 'rank': 'best' is not a rank"),
    (Rankings, changed(LONG, "item", 6, ""), {}, "row 7, column 'item': the item is missing"),
    (Rankings, LONG, {"items": ["Oslo", "Paris"]}, "'Rome' is not in the list of items"),
    (Rankings, LONG, {"user": None}, "`user`"),
    (Rankings, {"item": LONG["item"], "rank": LONG["rank"]}, {}, "`user`"),
    (Rankings, frame("user,item,rank", "ann,a,1", "bob,a,1"), {}, "at least two items"),
    (Rankings, changed(PLACED, "rank_2", 0, "Oslo"), {}, "row 1, column 'rank_2': 'Oslo' stands twice"),
    (Rankings, changed(PLACED, "user", 1, "ann"), {}, "row 2, column 'user': user 'ann' has two rows"),
    (Rankings, PLACED, {"items": ["Oslo", "Paris"]}, "row 1, column 'rank_2': 'Rome' is not in the list"),
    (Rankings, PLACED, {"num_users": 7}, "`num_users`"),
    (Rankings, PLACED, {"order_separator": ";"}, "`order_separator`"),
    (Ratings, PLACED, {"ratings": "1:5"}, "not ratings"),
    (Approvals, PLACED, {}, "not approvals"),
    (Rankings, changed(TEXTS, "order", 0, "a>b>a"), {}, "row 1, column 'order': 'a' stands twice"),
    (Rankings, frame("user,order", "u,a"), {}, "at least two items"),
    (Rankings, frame("user,winner,loser", "u,a,b"), {}, "say comparisons"),
    (pr.read, frame("user,Oslo,Rome", "u,1,2"), {}, "`items`"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "columns", "options", "message"), REFUSED)
def test_refusals(kind, columns, options, message):
    with pytest.raises(DataError, match=message) as error:
        getattr(kind, "read", kind)(columns, name="votes", **options)
    assert "votes" in str(error.value)


# --- tables on the host ---


def test_the_table_renumbers_and_cannot_be_written_to():
    found = Rankings([[7, 7, 3, -2]], item_names="abcd")
    assert (found.ranks.tolist(), found.tied, found.complete) == ([[1, 1, 0, -1]], True, False)
    with pytest.raises(ValueError, match="read-only"):
        found.ranks[0, 0] = 2
    found = Rankings([[0, 1, 2], [-1, 7, -1]], item_names="abc")
    assert (found.tied, found.complete) == (False, False)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ranks": [[0.0, 1.0]]}, "whole numbers"),
        ({"ranks": [0, 1]}, "whole numbers"),
        ({"ranks": np.zeros((0, 2), int)}, "whole numbers"),
        ({"item_names": ("a", "b", "c")}, "whole numbers"),
        ({"item_names": ("a", "a")}, "twice"),
        ({"user_names": ("u", "v")}, "whole numbers"),
        ({"missing": "first"}, "`missing`"),
        ({"ranks": [[0]], "item_names": ("a",)}, "at least two items"),
    ],
)
def test_tables_that_do_not_fit_together(change, message):
    with pytest.raises(DataError, match=message):
        Rankings(**{"ranks": [[0, 1]], "item_names": ("a", "b"), **change})


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64])
def test_the_largest_number_of_a_type_is_a_rank_like_any_other(dtype):
    largest = np.iinfo(dtype).max
    ranks = np.array([[-1, largest, 0, -1, largest]], dtype)
    assert before(ranks).tolist() == [[-1, 1, 0, -1, 1]]
