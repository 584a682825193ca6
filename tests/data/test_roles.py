"""What is told of a table, and what its header says: roles of columns, lists of items, columns that nobody spoke of."""

from __future__ import annotations

import numpy as np
import pytest

import privrank_jax as pr
from privrank_jax.data import (
    Approvals,
    BestWorst,
    Choices,
    Comparisons,
    DataError,
    Rankings,
    Ratings,
    Reports,
)
from privrank_jax.data.header import Keys, places_of, without
from privrank_jax.data.reader import kind_of
from tests.data.files import SUFFIXES, as_file, frame, written

VOTES = frame("user,winner,loser", "u,a,b", "v,b,a")
WIDE = frame("user,a,b,c", "u,1,2,3", "v,2,1,3")


# --- kinds by usual names ---


@pytest.mark.parametrize(
    ("header", "kind"),
    [
        ("user,winner,loser", "comparisons"),
        ("USER,Winner ,lo-ser", "comparisons"),
        ("judge,model_a,model_b,winner,turn", "comparisons"),
        ("Left,Right ,Winner", "comparisons"),
        ("item_1,item_2,outcome", "comparisons"),
        ("option a,option b,preference", "comparisons"),
        ("model_a,model_b,winner_model_a,winner_model_b", "comparisons"),
        ("Oslo vs Rome,note", "comparisons"),
        ("left,right,a_wins,b_wins", ""),
        ("home,away,result", ""),  # whose side comes first must be said
        ("user,item,rank", "rankings"),
        ("user,Ranking", "rankings"),
        ("Rank_1,rank-2", "rankings"),
        ("Q1[1],Q1[2]", ""),
        ("user,tea,milk", ""),
        ("user,chosen,shown", "choices"),
        ("Choice,Options,when", "choices"),
        ("chosen,shown_1,shown_2", "choices"),
        ("user,item,block,chosen", "choices"),
        ("chosen,choice,shown", ""),
        ("chosen,shown_1", ""),
        ("user,best,worst,option_1,option_2", "best-worst"),
        ("chosen,rejected,prompt", "preferences"),
        ("item_1,item_2,report,epsilon", "reports"),
        ("synthetic_epsilon,a,b,winner,loser", "synthetic"),
        ("user,user,order", "rankings"),
    ],
)
def test_kinds_by_usual_names(header, kind):
    assert kind_of("f", header.split(","), {}) == kind
    if not set("[ ") & set(header):
        assert kind_of("f", [f"x{name}" for name in header.split(",")], {}) == ""


@pytest.mark.parametrize("suffix", [*SUFFIXES, ""])
def test_columns_by_other_names_in_any_order_in_every_format(tmp_path, suffix):
    columns = frame("note,lost,draw,won,who", "x,Paris,no,Oslo,ann", "y,Rome,yes,Paris,bob")
    source = as_file(tmp_path, columns, suffix) if suffix else columns
    found = Comparisons.read(source, user="who", winner="won", loser="lost", tie="draw")
    assert (found.user_names, found.item_names) == (("ann", "bob"), ("Oslo", "Paris", "Rome"))
    assert (found.winners.tolist(), found.tied.tolist()) == ([0, 1], [False, True])
    json = "json" in suffix
    assert "columns not used: note" in (found.remarks if json else found.notes)
    assert "columns not used: note" not in (found.notes if json else found.remarks)
    assert Comparisons.read(source, winner="won", loser="lost", tie=None).ties == 0


# --- what may be told ---

REFUSED = [
    (Comparisons, VOTES, {"items": "A,B"}, "items"),
    (Comparisons, VOTES, {"items": ["a"]}, "items"),
    (Comparisons, VOTES, {"items": ["a", "A"]}, "items.*twice"),
    (Comparisons, VOTES, {"blank": [None]}, "blank"),
    (Comparisons, VOTES, {"user": 5}, "user"),
    (Comparisons, VOTES, {"user": "winner"}, "'winner' has two roles"),
    (Comparisons, VOTES, {"tie": "even"}, "no column 'even'.*`tie`"),
    (Comparisons, VOTES, {"user": "usr"}, "no column 'usr'.*'user'.*user=None"),
    (Comparisons, {**VOTES, "Winner": ["a", "b"]}, {}, "."),
    (Comparisons, VOTES, {"ignore": ["los"]}, "no column 'los'.*'loser'.*`ignore`"),
    (Comparisons, VOTES, {"ignore": ["loser"]}, "`loser`"),
    (Rankings, WIDE, {"num_users": 3}, "num_users"),
    (Rankings, WIDE, {"missing": "first"}, "missing"),
    (Rankings, WIDE, {"items": ["a", "d"]}, "no column for the item 'd'"),
    (Rankings, WIDE, {"items": "a..d"}, "no column 'd'.*`items`"),
    (Rankings, WIDE, {"items": "c..a"}, "no span"),
    (Rankings, WIDE, {"items": ["a", "b"], "user": "a"}, "'a' has two roles|`items`|no column for the item 'a'"),
    (Ratings, WIDE, {}, "ratings="),
    (pr.read, VOTES, {"kind": "votes"}, "'votes'"),
    (pr.read, VOTES, {"ignore": 5}, "ignore"),
    (pr.read, VOTES, {"kind": "rankings"}, "'(winner|loser)'"),
    (pr.read, {"tea": ["1"], "milk": ["2"]}, {}, "`items`"),
    (pr.read, "coffee", {"user": "u"}, "leave out `user`"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "columns", "options", "word"), REFUSED)
def test_what_may_not_be_told(kind, columns, options, word):
    with pytest.raises(DataError, match=word):
        getattr(kind, "read", kind)(columns, **options)


def test_arguments_are_those_of_the_roles():
    for kind in (Comparisons, Rankings, Ratings, Approvals, Choices, BestWorst, Reports):
        assert "user: column of users" in kind.read.__doc__
        with pytest.raises(TypeError, match=r"no argument 'usr'.*'user'"):
            kind.read(VOTES, usr="x")
    assert Rankings.read(WIDE, ignore=(one for one in ["c"]), ranks=True).item_names == ("a", "b")
    assert pr.read(VOTES, items=np.array(["c", "a", "b"])).item_names == ("c", "a", "b")


# --- lists of items: a private release needs one that somebody declared public ---

EVERY = {
    "comparisons": (Comparisons, VOTES, {}),
    "pairs": (Comparisons, frame("user,a vs b", "u,a", "v,b"), {}),
    "wide": (Rankings, frame("user,a,b", "u,1,2", "v,2,1"), {}),
    "long": (Rankings, frame("user,item,rank", "u,a,1", "u,b,2", "v,a,1"), {}),
    "orders": (Rankings, frame("user,order", "u,a>b", "v,b"), {}),
    "places": (Rankings, frame("user,rank_1,rank_2", "u,a,b", "v,b,"), {}),
    "ratings": (Ratings, frame("user,a,b", "u,1,2", "v,2,1"), {"ratings": "1:5"}),
    "approvals": (Approvals, frame("user,approved", "u,a>b", "v,b"), {}),
    "choices": (Choices, frame("user,chosen,shown", "u,a,a|b", "v,b,b|a"), {}),
    "best-worst": (BestWorst, frame("user,best,worst,shown", "u,a,b,a|b", "v,b,a,b|a"), {}),
}


@pytest.mark.parametrize("shape", EVERY)
def test_items_are_declared_by_their_holder(tmp_path, shape):
    kind, columns, options = EVERY[shape]
    for source in (columns, *(as_file(tmp_path, columns, one) for one in (".csv", ".jsonl"))):
        found = kind.read(source, **options)
        assert found.undeclared == ("items",)
        with pytest.raises(DataError, match=r"items='seen', .*items=\['a', 'b'\]"):
            found.check_declared()
        seen, listed = (kind.read(source, items=items, **options) for items in ("seen", ["b", "a"]))
        for one in (seen, listed):
            assert one.undeclared == ()
            one.check_declared()
        assert (seen.item_names, listed.item_names) == (("a", "b"), ("b", "a"))
        fixed = shape in ("wide", "ratings") and not str(source).endswith("jsonl")
        assert ("items" in seen.public) != fixed
        assert "items" not in listed.public
        if shape not in ("wide", "ratings"):
            more = kind.read(source, items=["x", "b", "a"], **options)
            assert more.item_names == ("x", "b", "a")
    if shape != "pairs" and shape not in ("wide", "ratings"):
        with pytest.raises(DataError, match="'b' is not in the list of items"):
            kind.read(columns, items=["a", "c"], **options)


@pytest.mark.parametrize("shape", ["wide", "orders", "places", "approvals", "ratings"])
def test_users_of_whole_rows_are_declared_too(shape):
    kind, columns, options = EVERY[shape]
    columns = {name: cells for name, cells in columns.items() if name != "user"}
    found = kind.read(columns, items="seen", **options)
    assert found.undeclared == ("users",)
    with pytest.raises(DataError, match=r"`user`.*user=None"):
        found.check_declared()
    kind.read(columns, items="seen", user=None, **options).check_declared()
    assert Comparisons.read(frame("winner,loser", "a,b"), items="seen").undeclared == ()


def test_a_span_of_columns():
    columns = frame("user,age,Q_1,Q_2,Q_3,why", "u,9,1,2,3,x", "v,8,3,2,1,y")
    found = Rankings.read(columns, items="Q_1 .. q_3")
    assert (found.item_names, found.undeclared) == (("Q_1", "Q_2", "Q_3"), ())
    assert found.notes[-1] == "columns not used: age, why"
    with pytest.raises(DataError, match="no order"):
        Rankings.read([{"user": "u", "Q_1": 1, "Q_2": 2}], items="Q_1..Q_2")


# --- columns that nobody spoke of ---

FACTS = frame("voter,precinct,Ann,Bo,age,Cy", "v1,2,1,2,3,3", "v2,1,3,1,44,2", "v3,1,2,1,5,3")


@pytest.mark.parametrize("suffix", [*SUFFIXES, ""])
@pytest.mark.parametrize("ignore", [["precinct", "age"], "age , precinct"])
def test_facts_on_users_are_refused_or_left_out(tmp_path, suffix, ignore):
    source = as_file(tmp_path, FACTS, suffix) if suffix else FACTS
    with pytest.raises(DataError, match=r"column 'age'.*`ignore`"):
        Rankings.read(source, user="voter")
    found = Rankings.read(source, user="voter", ignore=ignore)
    assert found.item_names == ("Ann", "Bo", "Cy")
    assert found.ranks.tolist() == [[0, 1, 2], [2, 0, 1], [1, 0, 2]]
    said = found.remarks if "json" in suffix else found.notes
    assert said[-1] in ("columns not used: precinct, age", "columns not used: age, precinct")
    assert Rankings.read(source, user="voter", items=["Bo", "Ann"]).item_names == ("Bo", "Ann")


def test_a_name_with_a_comma_is_one_column():
    columns = {"user": ["u"], "Remarks, if any": ["1"], "A": ["1"], "B": ["2"]}
    assert Rankings.read(columns, ignore=["remarks, if any"]).item_names == ("A", "B")
    header = ["a", "a,b", "b", "c"]
    assert without("f", header, ["a,b"]) == ["a", "b", "c"]
    assert without("f", Keys(header), ["a,b"]) == ["c"]  # whoever added the key with a comma
    assert without("f", ["a", "b", "c"], ["a,b"]) == ["c"]


COUNTS = (
    "n", "count", "Freq", "weight", "votes", "Num Votes", "how often", "multiplicity", "ballot_count", "pair count",
    "my_weight", "total-freq",
)  # fmt: skip


@pytest.mark.parametrize("shape", EVERY)
def test_columns_that_look_like_counts_are_refused_until_somebody_speaks_of_them(shape):
    kind, columns, options = EVERY[shape]
    if shape in ("wide", "ratings"):
        options = {**options, "items": ["a", "b"]}
    for name in COUNTS:
        counted = {**columns, name: ["1"] * len(columns["user"])}
        with pytest.raises(DataError, match=f"column '{name}' looks like how often"):
            kind.read(counted, **options)
        assert kind.read(counted, ignore=[name], **options).num_users == 2
    for name in ("country", "discount", "recounted", "no"):
        assert kind.read({**columns, name: ["1"] * len(columns["user"])}, **options).num_users == 2


# --- questions with their places and grids ---


@pytest.mark.parametrize(
    ("header", "places"),
    [
        ("user,rank_1,rank_2,rank_3", "rank_1,rank_2,rank_3"),
        ("2nd choice,age,1st choice", "1st choice,2nd choice"),
        *(
            (both, both)
            for both in (
                "rank_0,rank_1", "rank1,rank2", "Rank 1,Rank 2", "1st,2nd", "choice-1,choice-2", "top1,top2",
                "First choice,Second choice", "rank (1),rank (2)", "1. place,2. place", "pref#1,pref#2",
            )
        ),
        *(
            (none, "")
            for none in (
                "user,P1,P2", "Place de la Paix,Top Gun", "rank,ranking", "item_1x,item_2x", "user,1,2",
                "rank_1,rank_3",
                "rank_2,rank_3", "rank_1,rank_1,rank_2", "rank_1,top 1,rank_2", "rank_1", "user,a,b",
            )
        ),
    ],
)  # fmt: skip
def test_places(header, places):
    assert places_of(header.split(",")) == tuple(filter(None, places.split(",")))


@pytest.mark.parametrize(
    ("question", "places"),
    [
        ("Please rank the colours.", "Please rank the colours. [Rank {}]"),  # LimeSurvey
        ("colours", "Colours/_{}th_choice"),  # KoboToolbox
        ("Colours", "Colours Choice {} of 3"),
        ("For Mayor", "For Mayor Choice {} (45)"),
        ("Q1", "Q1[{}]"),
    ],
)
def test_places_of_a_question(question, places):
    cells = (["Green", "Red", ""], ["Light, blue", "", ""], ["Red", "", ""])
    columns = {"id": ["1", "2", "3"], **{places.format(k): cells[k - 1] for k in (1, 2, 3)}}
    columns |= {"Seed": ["7"] * 3, "Other Choice 1": ["x"] * 3, "Other Choice 2": ["y"] * 3}
    found = Rankings.read(columns, user="id", question=question)
    assert found.item_names == ("Green", "Light, blue", "Red")
    assert found.ranks.tolist() == [[0, 1, 2], [-1, -1, 0], [-1, -1, -1]]
    with pytest.raises(DataError, match="`question`"):
        pr.read(columns, user="id")
    rows = [dict(zip(columns, row)) for row in zip(*columns.values())]
    with pytest.raises(DataError, match="'Green' is not a rank"):  # a user could add keys
        Rankings.read(rows, user="id", question=question)


@pytest.mark.parametrize("sign", ["!!{}", " [{}]", ": {}", " - {}", "/{}"])
def test_a_question_with_a_column_for_each_item(sign):
    names = ["Ada", "Bo - B", "Mayoress"]
    columns = {f"Mayor{sign.format(one)}": [f"{k}", f"{4 - k}"] for k, one in enumerate(names, 1)}
    columns |= {f"Council{sign.format(one)}": ["1", "2"] for one in ("Cy", "Dee")}
    columns |= {"Mayoress: Eve": ["x", "y"], "user": ["u", "v"]}
    found = Rankings.read(columns, question="MAYOR", items="seen")
    assert (found.item_names, found.ranks.tolist()) == (tuple(names), [[0, 1, 2], [2, 1, 0]])
    some = Rankings.read(columns, question="Mayor", items=["Mayoress", "Ada"])
    assert (some.item_names, some.ranks.tolist()) == (("Mayoress", "Ada"), [[1, 0], [0, 1]])
    rated = Ratings.read(columns, question="Council", ratings="1:2")
    assert rated.ratings.tolist() == [[1, 1], [2, 2]]
    for given in ({"question": "Judge"}, {"question": "Mayor", "items": ["Ada", "Cy"]}):
        with pytest.raises(DataError, match=r"'Judge'|'Cy'"):
            Rankings.read(columns, **given)


def test_files_that_list_their_items_take_nothing_of_it(tmp_path):
    path = written(tmp_path, "# ALTERNATIVE NAME 1: x\n# ALTERNATIVE NAME 2: y\n3: 2,1\n", "v.soc")
    assert pr.read(path, items="seen").ranks.tolist() == [[1, 0]] * 3
    for kind, given in (
        (Rankings, {"ignore": ["x"]}),
        (Rankings, {"items": ["x", "y"]}),
        (Ratings, {"ratings": "1:5"}),
    ):
        with pytest.raises(DataError, match=f"`{next(iter(given))}`"):
            kind.read(path, **given)
