"""Comparisons in every form: what each row says, by which words, with what weight; and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import privrank_jax as pr
from privrank_jax.data import Comparisons, DataError, Rankings
from privrank_jax.data.comparisons import LEFT, RIGHT, TIE, plan_of
from privrank_jax.data.roles import ComparisonRoles
from privrank_jax.pairwise import break_rankings
from tests.data.files import GOOD, SUFFIXES, as_file, frame, rows_of, written

SIDES = {"left": "home", "right": "away"}
FORMS = {
    "winners": (
        frame(*GOOD.split()),
        {},
        [("ann", "Oslo", "Paris", False), ("bob", "Paris", "Rome", True), ("ann", "Oslo", "Rome", False)],
    ),
    "battles": (
        frame("user,model_a,model_b,winner", "u,a,b,tie", "v,b,c,model_b", "w,c,a,left", "u,c,a,c"),
        {},
        [("u", "a", "b", True), ("v", "c", "b", False), ("w", "c", "a", False), ("u", "c", "a", False)],
    ),
    "battles with marks of ties": (
        frame("user,home,away,res,draw", "u,Oslo,Rome,H,0", "v,Rome,Bonn,,1", "w,Bonn,Oslo,A,"),
        {**SIDES, "outcome": "res", "tie": "draw"},
        [("u", "Oslo", "Rome", False), ("v", "Rome", "Bonn", True), ("w", "Oslo", "Bonn", False)],
    ),
    "words": (
        frame("user,home,away,res", "u,a,b,One", "v,b,c,two", "w,c,a,EVEN"),
        {**SIDES, "outcome": "res", "words": ["one", "Two", "even"]},
        [("u", "a", "b", False), ("v", "c", "b", False), ("w", "c", "a", True)],
    ),
    "scores": (
        frame("user,home,away,hs,as", "u,a,b,2,1", "v,b,c,0,0", "w,c,a,1,10", "u,c,a,1.5,-2"),
        {**SIDES, "left_score": "hs", "right_score": "as"},
        [("u", "a", "b", False), ("v", "b", "c", True), ("w", "a", "c", False), ("u", "c", "a", False)],
    ),
    "tallies": (
        frame("user,home,away,x,y", "u,Ann,Bob,1,0", "v,Ann,Cy,1,2", "u,Bob,Cy,0,0", "u,Dee,Ann,0,2"),
        {**SIDES, "left_wins": "x", "right_wins": "y"},
        [("u", "Ann", "Bob", False), ("v", "Ann", "Cy", False)]
        + [("v", "Cy", "Ann", False)] * 2
        + [("u", "Ann", "Dee", False)] * 2,
    ),
    "one-hot": (
        frame(
            "user,model_a,model_b,winner_model_a,winner_model_b,winner_tie",
            "u1,gpt,phi,1,0,0", "u2,left,phi,0,1,0", "u3,phi,gpt,0.0,0,1", "u4,tie,gpt,0,0,1",
        ),
        {},
        [
            ("u1", "gpt", "phi", False), ("u2", "phi", "left", False),
            ("u3", "phi", "gpt", True), ("u4", "tie", "gpt", True),
        ],
    ),
    "pairs": (
        frame("user,Oslo vs Rome,Rome vs. Bonn", "u1,Oslo,Bonn", "u2,, right ", "u3,tie,", "u4,B,Rome"),
        {},
        [
            ("u1", "Oslo", "Rome", False), ("u1", "Bonn", "Rome", False), ("u2", "Bonn", "Rome", False),
            ("u3", "Oslo", "Rome", True), ("u4", "Rome", "Oslo", False), ("u4", "Rome", "Bonn", False),
        ],
    ),
    "numbers of columns": (
        frame("user,response_0,response_1,better", "u,x,y,1", "v,x,z,0"),
        {"left": "response_0", "right": "response_1", "outcome": "better"},
        [("u", "y", "x", False), ("v", "x", "z", False)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_each_answer_is_one_comparison(tmp_path, form):
    columns, options, expected = FORMS[form]
    for source in (columns, *(as_file(tmp_path, columns, suffix) for suffix in SUFFIXES)):
        found = Comparisons.read(source, **options)
        assert rows_of(found) == expected
        names = {name for _, *pair, _ in expected for name in pair}
        assert found.item_names == tuple(sorted(names))  # not in the order of the rows
        assert len(found.reading) <= 1
        assert set(found.reading) <= set(found.notes) or "json" in str(source)
    alone = Comparisons.read(
        {name: cells for name, cells in columns.items() if name != "user"}, **options
    )
    assert (alone.user_names, len(alone), alone.has_users) == ((), len(expected), False)
    assert any("names no users" in note for note in alone.notes)
    listed = Comparisons.read(columns, items=[*sorted(names, reverse=True), "unseen"], **options)
    assert (rows_of(listed), listed.item_names[-1]) == (expected, "unseen")
    turned = Comparisons.read({name: cells[::-1] for name, cells in columns.items()}, **options)
    assert sorted(rows_of(turned)) == sorted(expected)
    assert turned.item_names == found.item_names


@pytest.mark.parametrize("form", FORMS)
def test_each_comparison_has_the_weight_of_its_row(form):
    columns, options, _ = FORMS[form]
    rows = len(columns["user"])
    weights = np.arange(1, rows + 1) / 2
    weighted = {**columns, "p": list(map(str, weights))}
    found = Comparisons.read(weighted, weight="p", **options)
    several = {"tallies": [0, 1, 1, 1, 3, 3], "pairs": [0, 0, 1, 2, 3, 3]}
    each = several.get(form, range(rows))
    assert found.weights.tolist() == weights[each].tolist()
    assert Comparisons.read(weighted, **options).weights is None


def test_ties_are_counted_beside_wins():
    """Davidson's data: three numbers for each pair."""
    rng = np.random.default_rng(0)
    pairs = [(i, j) for j in range(4) for i in range(j)]
    wins = rng.integers(0, 5, (len(pairs), 3))
    columns = {"i": [f"t{i}" for i, _ in pairs], "j": [f"t{j}" for _, j in pairs]}
    columns |= {name: list(map(str, wins[:, k])) for k, name in enumerate(("w_ij", "w_ji", "t_ij"))}
    told = {"left": "i", "right": "j", "left_wins": "w_ij", "right_wins": "w_ji"}
    found = Comparisons.read(columns, **told, tie_count="t_ij")
    matrix, tied = np.zeros((4, 4)), np.zeros((4, 4))
    for (i, j), (one, other, both) in zip(pairs, wins):
        matrix[i, j], matrix[j, i] = one + both / 2, other + both / 2
        tied[i, j] = tied[j, i] = both
    np.testing.assert_array_equal(found.arrays().win_counts().matrix, matrix)
    np.testing.assert_array_equal(found.ties_of_pairs(), tied)
    assert (len(found), found.ties) == (wins.sum(), wins[:, 2].sum())
    assert Comparisons.read(columns, **told).ties == 0


# --- words ---

MODELS = ("model_a", "model_b")


def outcomes(rows, names=MODELS, **options):
    """Outcomes of rows of an outcome and two items each."""
    word, left, right = (list(cells) for cells in zip(*rows))
    columns = {names[0]: left, names[1]: right, "said": word}
    found = Comparisons.read(columns, left=names[0], right=names[1], outcome="said", **options)
    won = np.where(np.array(found.item_names)[found.winners] == left, LEFT, RIGHT)
    return np.where(found.tied, TIE, won).tolist()


@pytest.mark.parametrize(
    ("cells", "names", "expected"),
    [
        ("a|A|left| Left |model_a|MODEL A|1|1.0|gpt|W|win|Won|1-0", MODELS, LEFT),
        ("b|B|right|model_b|Model B|0|0.0|phi|L|loss|lost|0-1", MODELS, RIGHT),
        ("tie|Tie|draw|0.5|tie (bothbad)|both bad|both_bad|bothbad|D|1/2-1/2|½-½|both_equal", MODELS, TIE),
        ("0|0.0|response_0", ("response_0", "response_1"), LEFT),
        ("1|1.0|B", ("Response 0 source", "Response 1 source"), RIGHT),
        ("0", ("answer_1", "answer_0"), RIGHT),
        ("1", ("item_1", "item_2"), LEFT),
        ("2|0|2.0", ("item_1", "item_2"), RIGHT),
        ("1", ("item_2", "item_1"), LEFT),
        ("1", ("v0_model_0", "v1_model_1"), RIGHT),
        ("1", ("v0_model_1", "v1_model_0"), LEFT),
        ("1", ("gpt_3", "gpt_4"), LEFT),
        ("H|1|home|homeTEAM", ("HomeTeam", "AwayTeam"), LEFT),
        ("A|away|0", ("HomeTeam", "AwayTeam"), RIGHT),
        ("X|D", ("home", "away"), TIE),
    ],
)  # fmt: skip
def test_words_for_outcomes(cells, names, expected):
    found = outcomes([(cell, "gpt", "phi") for cell in cells.split("|")], names)
    assert found == [expected] * len(found)


@pytest.mark.parametrize(
    "cell", ["2", "-1", "GPT", "yi", "skip", "winner", "both", "0.25", None, "", " "]
)
def test_other_words_are_no_outcomes_until_they_are_told(cell):
    with pytest.raises(DataError, match=r"row 1, column 'said': .*(`words`|`tie`)"):
        outcomes([(cell, "gpt", "phi")])
    if cell and cell.strip() and cell != "GPT":
        assert outcomes(
            [(cell, "gpt", "phi"), ("even", "phi", "gpt")], words=["x", cell.title(), "even"]
        ) == [RIGHT, TIE]
        columns = {"model_a": ["gpt", "phi"], "model_b": ["phi", "gpt"], "winner": [cell, "a"]}
        assert Comparisons.read(columns, blank=cell).winners.tolist() == [1]


def test_told_words_are_the_only_ones_but_items_and_two_say_no_tie():
    for cell in ("a", "model_a", "tie", "z"):
        with pytest.raises(DataError, match="column 'said'"):
            outcomes([(cell, "gpt", "phi")], words=["x", "y"])
    found = outcomes([("phi", "gpt", "phi"), ("gpt", "gpt", "phi")], words=["x", "y"])
    assert found == [RIGHT, LEFT]


def test_items_named_like_outcomes_are_never_guessed():
    assert outcomes([("A", "A", "B")]) == [LEFT]  # whichever is meant
    letters = [("D", "D", "E"), ("W", "E", "W")]  # of games, of items in the row
    assert outcomes(letters) == [LEFT, RIGHT]
    for rows in (
        [("A", "B", "A")], [("tie", "tie", "B")], [("1", "2", "1")],
        [("A", "A", "B"), ("a", "C", "D")], [("D", "D", "E"), ("D", "E", "F")],
    ):  # fmt: skip
        with pytest.raises(DataError, match=r"rename the item|does not say"):
            outcomes(rows)


# --- headers ---

WINS = {**SIDES, "left_wins": "x", "right_wins": "y"}
SCORES = {**SIDES, "left_score": "x", "right_score": "y"}
ARENA = "model_a,model_b,winner_model_a,winner_model_b,winner_tie"


@pytest.mark.parametrize(
    ("header", "told", "kind"),
    [
        ("x_versus_y,canvas,vs b", {}, "pairs"),
        ("Winner,loser,model_a,model_b", {}, "winners"),
        ("left,right,said,winner", {"outcome": "said"}, "battles"),
        ("left,right,x,y", {"left_wins": "x", "right_wins": "y"}, "tallies"),
        ("left,right,winner,loser", {}, "winners"),
        ("left,right,x,y,winner", {"left_score": "x", "right_score": "y"}, "scores"),
        ("x,y,winner,loser", {"winner": "x", "loser": "y"}, "winners"),
    ],
)
def test_forms_by_the_header(header, told, kind):
    assert plan_of("f", header.split(","), ComparisonRoles(**told)).kind == kind


@pytest.mark.parametrize(
    ("header", "told", "word"),
    [
        (ARENA + ",a vs b", {}, "unclear"),
        (ARENA + ",winner", {}, "unclear"),
        (ARENA.partition(",")[2], {}, "no columns with usual names"),
        ("left,right,winner,outcome", {}, "no columns with usual names"),
        ("left,left,right,winner", {}, "no columns with usual names"),
        ("home,away,r", {"left": "home", "outcome": "r"}, "`right`"),
        ("home,away,r", SIDES, "`outcome`"),
        ("home,away,x,y", {"left_score": "x", "right_score": "y"}, "`left`"),
        ("home,away,x,y", {**SIDES, "left_wins": "x", "right_score": "y"}, "`right_wins`"),
        ("home,away,x,y", {**WINS, "count": "n"}, "`count`"),
        ("home,away,x,y", {**WINS, "words": ["x", "y"]}, "`words`"),
        ("home,away,x,y", {**SCORES, "tie_count": "y"}, "`tie_count`"),
        ("home,away,r", {**SIDES, "outcome": "r", "words": ["x"]}, "`words`"),
        ("home,away,r", {**SIDES, "outcome": "r", "words": ["x", "X"]}, "`words`"),
        ("winner,loser,a", {"winner": "a", "outcome": "a"}, "`outcome`"),
        ("winner,loser", {"words": ["a", "b"]}, "`words`"),
        ("x,y", {"winner": "x"}, "`loser`"),
        ("x|y", {}, "separator="),
        ("a vs b vs c", {}, "'a vs b vs c'"),
        ("a vs A ", {}, "by two items"),
        ("a vs b,A vs c", {}, "twice"),
        ("a vs b", {"side": "x"}, "`side`"),
        ("a vs b", {"time": "x"}, "`time`"),
    ],
)
def test_headers_that_say_too_little_or_two_things(header, told, word):
    with pytest.raises(DataError, match=word):
        plan_of("f", header.split(","), ComparisonRoles(**told))


def test_a_word_for_the_preferred_item_in_a_column_of_winners_is_refused():
    """Battles that are read as winners and losers would rank the columns."""
    columns = frame("model_a,model_b,said", "gpt,phi,model_a", "phi,llama,model_b")
    renamed = {name.replace("model_a", "Model_A"): cells for name, cells in columns.items()}
    for source in (columns, renamed):
        with pytest.raises(DataError, match=r"'model_a' is the name of a column.*`left`"):
            Comparisons.read(source, winner="said", loser="model_b")


REFUSED = {
    "no rows": (["user,winner,loser"], "no rows below its header"),
    "blank winner": (["user,winner,loser", "a,x,y", "a,,y"], "line 3, column 'winner': the item is missing"),
    "blank user": (["user,winner,loser", " ,x,y"], "line 2, column 'user': the user is missing"),
    "itself": (["user,winner,loser", "a,x,y", "a,x,x"], "line 3, column 'loser': an item is compared with itself"),
    "bad tie": (["user,winner,loser,tie", "a,x,y,2"], "line 2, column 'tie': '2'"),
    "by blanks": (["user,winner,loser", "a,P,y", "a,y,P "], "line 3, column 'loser': item named twice"),
    "short row": (["user,winner,loser", "a,x,y", "a,x"], "line 3: 2 fields where the header has 3"),
    "open quote": (["user,winner,loser", 'a,"x,z'], r"line \d: not valid CSV .*double quotes"),
    "column twice": (["user,winner,loser,user", "a,x,y,a"], "2 columns are named 'user'"),
    "pair": (["user,a vs b", "u,c"], "line 2, column 'a vs b': 'c'"),
    "no answers": (["user,a vs b", "u,"], "no answers"),
    "pair of words": (["right vs left", "right"], "rename"),
    "two marks": ([ARENA, "gpt,phi,1,1,0"], "line 2, column .* must be 1"),
    "bad mark": ([ARENA, "gpt,phi,2,0,0"], "line 2, column .* must be 1"),
    "no tie": (["model_a,model_b,winner,tie", "x,y,a,1"], "line 2, column 'winner': 'a' is no tie"),
    "bad mark of a tie": (["model_a,model_b,winner,tie", "x,y,a,2"], "line 2, column 'tie': '2'"),
    "blank outcome": (["model_a,model_b,winner,tie", "x,y,,0"], "line 2, column 'winner': .*`tie`"),
    "empty": ([""], "is empty"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_faulty_rows_are_refused_with_their_place(tmp_path, case):
    lines, message = REFUSED[case]
    with pytest.raises(DataError, match=rf"votes\.csv.*{message}"):
        Comparisons.read(written(tmp_path, "\n".join(lines)))


def test_the_first_fault_is_said(tmp_path):
    path = written(tmp_path, "user,winner,loser,tie\nu,a,b,0\nv,b,b,0\nw,a,,maybe\n")
    with pytest.raises(DataError, match="line 3, column 'loser'"):
        pr.read(path)
    path = written(tmp_path, "n,order\n2,a>b\nx,c/d\n")
    with pytest.raises(DataError, match="line 3, column 'n'"):  # before signs are compared
        Rankings.read(path, user=None, count="n")


def test_rankings_break_into_the_pairs_that_the_library_breaks():
    orders, ranks = [[2, 0, 1], [1, 2], [0, 3, 2, 1]], np.full((3, 4), -1)
    for user, order in enumerate(orders):
        ranks[user, order] = np.arange(len(order))
    found = Rankings(ranks, item_names="abcd").comparisons()
    expected = break_rankings(orders, num_items=4)
    rows, wanted = (
        sorted(zip(*(np.asarray(one).tolist() for one in (of.users, of.winners, of.losers))))
        for of in (found, expected)
    )
    assert rows == wanted
    assert found.user_names == ("1", "2", "3")
    assert Rankings(ranks, "abcd", user_names="xyz").comparisons().user_names == ("x", "y", "z")
    assert (found.comparisons_per_user, found.ties, found.has_users) == (6, 0, True)
