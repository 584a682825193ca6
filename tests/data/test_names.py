"""Names of items and users: which spellings are one, which words may name nothing, and what the holder says of them."""

from __future__ import annotations

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
)
from privrank_jax.data.names import MISSING, form, person, unclear
from tests.data.files import frame

ENGLAND, SCOTLAND = (
    "\U0001f3f4" + "".join(chr(0xE0000 + ord(c)) for c in f"gb{land}\x7f")
    for land in ("eng", "sct")
)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        *(("Paris", other, True) for other in ("paris", " Paris", "PARIS\t", "\u00a0Paris")),
        *(("Paris", f"Pa{sign}ris", True) for sign in "\u200b\ufeff\u00ad\u200e\u2060\ufe0f"),
        ("Orl\u00e9ans", "Orle\u0301ans", True),
        (ENGLAND, SCOTLAND, False),  # flags that differ by invisible tags alone
    ],
)
def test_spellings_of_items(one, other, same):
    assert (form(one) == form(other)) == same
    votes = {"winner": [one, "x"], "loser": ["x", other]}
    if same:
        with pytest.raises(DataError, match="item named twice"):
            Comparisons.read(votes)
    else:
        assert Comparisons.read(votes).num_items == 3


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        *(("a@x.org", other, True) for other in ("A@x.org", " A@X.ORG")),
        ("Jos\u00e9@x.org", "JOSE\u0301@x.org", True),
        ("\uff41\uff11", "a1", True),
        ("\ufb01n", "fin", True),
        ("u 1", "u\u00a01", True),
        ("u1", "u1\u200b", True),
        *(("u1", "U1", False), ("dQw4w9WgXcQ", "dqw4w9wgxcq", False), ("Jose", "Jos\u00e9", False)),
    ],
)
def test_spellings_of_users(one, other, same):
    assert (person(one) == person(other)) == same
    votes = {"user": [one, other], "winner": ["a", "b"], "loser": ["b", "a"]}
    if same:
        with pytest.raises(DataError, match="user named twice"):
            Comparisons.read(votes)
    else:
        found = Comparisons.read(votes)
        assert (found.user_names, len(found.users_alike)) == ((one, other), 1)


# --- words that name no item: never dropped, never published, until the holder says which ---

MARKS = (
    "undervote", "Skipped", "Exhausted", "blank", "-", "N/A", "none", " Under Vote ", "overvote", "Over Vote",
    "Write-In:", "writein", "Undeclared Write-ins", "Spoiled", "$UNDERVOTE", "[-]", "(no choice)", "Ann\nBo",
)  # fmt: skip
JOINED = ("Ann, Bo", "ann/BO", "Bo and Cy", "Cy; Ann;Bo")


def ballots(word):
    rows = ("Ann", "Bo", word), (word, "Ann", "Bo"), ("Bo", "Cy", "Ann")
    return dict(zip(("rank_1", "rank_2", "rank_3"), map(list, zip(*rows))))


def orders(word):
    return {"order": [f"Ann>Bo>{word}", f"{word}>Ann>Bo", "Bo>Cy>Ann"]}


@pytest.mark.parametrize("word", [*MARKS, *JOINED])
@pytest.mark.parametrize("shape", [ballots, orders])
def test_a_word_that_looks_like_none_needs_a_word_of_the_holder(shape, word):
    assert unclear(word) == (word in MARKS)
    for items in (None, "seen"):
        with pytest.raises(DataError, match=r"(may be a mark|joins names)(.|\n)*blank="):
            Rankings.read(shape(word), user=None, items=items)
    blank = Rankings.read(shape(word), user=None, blank=[word.lower()])
    assert blank.item_names == ("Ann", "Bo", "Cy")
    assert blank.ranks.tolist() == [[0, 1, -1], [0, 1, -1], [2, 0, 1]]
    with pytest.raises(DataError, match=r"is not in the list of items(.|\n)*blank="):
        Rankings.read(shape(word), user=None, items=["Ann", "Bo", "Cy"])
    items = ["Ann", "Bo", "Cy", word.strip() if shape is orders else word]
    listed = Rankings.read(shape(word), user=None, items=items)
    assert listed.ranks.tolist() == [[0, 1, -1, 2], [1, 2, -1, 0], [2, 0, 1, -1]]


def test_names_with_the_same_signs_stay_and_the_words_are_in_the_form_of_cells():
    for word in ("Ann, Jr.", "Ann (left)", "Ann & Dee", "Tea/Ann"):
        assert word in Rankings.read(ballots(word), user=None).item_names
    assert all(word == word.casefold().strip() for word in MISSING)
    assert not any(map(unclear, ["Overton", "voter", "Writer", "write", "spoils", "Ann"]))


PAIRS = frame("user,Oslo vs Rome,Rome vs Bonn", "u,Oslo,skip", "v,skip,Bonn")
WIDE = frame("user,a,b,c", "u,1,2,skip", "v,2,1,", "w,1,skip,2")
SCORES = {"left": "home", "right": "away", "left_score": "h", "right_score": "a"}
BLOCKS = {"blocks": ["a_1..a_3"], "words": ["1", "2"], "items": list("abc")}
EVERY = {
    "winners": (Comparisons, frame("user,winner,loser", "u,a,b", "v,a,skip", "w,b,a"), {}, "winners", [0, 1]),
    "battles": (Comparisons, frame("left,right,result", "a,b,a", "b,a,skip", "skip,a,a"), {}, "winners", [0]),
    "pairs": (Comparisons, PAIRS, {}, "winners", [1, 0]),
    "scores": (Comparisons, frame("home,away,h,a", "x,y,1,2", "skip,y,1,2"), SCORES, "winners", [1]),
    "wide": (Rankings, WIDE, {}, "ranks", [[0, 1, -1], [1, 0, -1], [0, -1, 1]]),
    "long": (Rankings, frame("user,item,rank", "u,a,1", "u,skip,2", "v,a,2", "v,b,1"), {}, "ranks", [[0, -1], [1, 0]]),
    "blank rank": (Rankings, frame("user,item,rank", "u,a,skip", "u,b,1", "v,a,1"), {}, "ranks", [[-1, 0], [0, -1]]),
    "ratings": (Ratings, WIDE, {"ratings": "0:5"}, "levels", [[1, 0, -1], [0, 1, -1], [1, -1, 0]]),
    "approvals": (Approvals, frame("user,a,b", "u,x,skip", "v,skip,no"), {}, "levels", [[0, 1], [1, 1]]),
    "approved": (Approvals, frame("approved", "a>skip", "skip", "b>a"), {}, "levels", [[0, 1], [1, 1], [0, 0]]),
    "choices": (Choices, frame("chosen,shown", "a,a|b", "skip,a|b", "b,b|skip|a"), {}, "sets", [[0, 1], [1, 0]]),
    "best-worst": (BestWorst, frame("user,best,worst,shown", "u,a,b,a|b", "v,a,skip,a|b"), {}, "sets", [[0, 1]]),
    "blocks": (BestWorst, frame("user,a_1,a_2,a_3", "u,1,2,skip", "v,skip,,"), BLOCKS, "sets", [[0, 1, 2]]),
}  # fmt: skip


@pytest.mark.parametrize("shape", EVERY)
def test_any_word_can_be_blank_in_every_kind(shape):
    kind, columns, options, field, expected = EVERY[shape]
    found = kind.read(columns, blank="SKIP ", **options)
    assert "skip" not in found.item_names
    ragged = getattr(found, field).tolist()
    assert [[x for x in row if x >= 0] if field == "sets" else row for row in ragged] == expected
    if field != "levels" and shape != "pairs":  # users whose answers are all blank are still users
        assert found.num_users >= len(expected)


@pytest.mark.parametrize("kind", [Choices, BestWorst])
def test_a_blank_choice_of_long_rows_is_none(kind):
    column = {Choices: "chosen", BestWorst: "answer"}[kind]
    cells = ["u,1,a,0", "u,1,b,-1", "u,1,skip,1", "u,2,a,1", "u,2,b,-1", "u,2,c,0"]
    rows = frame(f"user,block,item,{column}", *cells)
    if kind is Choices:
        rows["chosen"] = [cell.replace("-1", "0") for cell in rows["chosen"]]
    assert kind.read(rows, blank="skip", **{column: column}).sets.tolist() == [[0, 1, 2]]


def test_reports_have_no_blank_items_and_no_counts():
    reports = frame("item_1,item_2,report,epsilon,n", "a,b,1,1,2", "x,a,0,1,1")
    for given in ({"blank": "x", "ignore": "n"}, {"count": "n"}):
        with pytest.raises(DataError, match=next(iter(given))):
            pr.data.Reports.read(reports, **given)


@pytest.mark.parametrize("word", ["NA", "none", "-", " "])
def test_of_users_and_cells_of_numbers(word):
    votes = {"user": ["u", word], "winner": ["a", "b"], "loser": ["b", "a"]}
    with pytest.raises(DataError, match=r"row 2, column 'user': the user is"):
        Comparisons.read(votes, blank=[word])
    ranked = {"user": ["u", "v"], "a": ["1", word], "b": ["2", "1"]}
    assert Rankings.read(ranked).ranks.tolist() == [[0, 1], [-1, 0]]


def test_listed_items_may_be_named_like_blanks_and_columns():
    shown = {"user": ["u", "v"], "chosen": ["A", "none"], "shown": ["A|B|none"] * 2}
    assert Choices.read(shown, items=["A", "B", "none"]).sets.tolist() == [[0, 1, 2], [2, 0, 1]]
    assert pr.read({"order": ["NA", "A>NA"]}, items=["NA", "A"]).ranks.tolist() == [[0, -1], [1, 0]]
    votes = {"winner": [" Tie", "b"], "loser": ["b", " Tie"], "tie": ["0", "0"]}
    with pytest.raises(DataError, match="' Tie' is the name of a column"):
        pr.read(votes)
    assert pr.read(votes, items=[" Tie", "b"]).item_names == (" Tie", "b")
    del votes["tie"]
    assert pr.read(votes).num_items == 2
