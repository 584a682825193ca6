"""Cells of ballots that name no item: undervotes are blank; of overvotes and write-ins the holder says."""

from __future__ import annotations

import itertools

import pytest

from privrank_jax.data import DataError
from privrank_jax.data.names import MISSING, unclear
from tests.data.readers import read_comparisons, read_rankings
from tests.parquet import as_parquet

BLANK = [
    "undervote",
    "UNDERVOTE",
    "skipped",
    "Exhausted",
    "blank",
    "-",
    "N/A",
    "none",
    "not ranked",
    " Under Vote ",
]
UNCLEAR = [
    "overvote",
    "Over Vote",
    "write-in",
    "Write-In:",
    "writein",
    "WRITE IN",
    "Undeclared Write-ins",
    "Spoiled",
    "$UNDERVOTE",
    "[-]",
    "(no choice)",
]


def ballots(word: str) -> dict[str, list[str]]:
    return {
        "rank_1": ["Ann", word, "Bo"],
        "rank_2": ["Bo", "Ann", "Cy"],
        "rank_3": [word, "Bo", "Ann"],
    }


def orders(word: str) -> dict[str, list[str]]:
    return {"order": [f"Ann>Bo>{word}", f"{word}>Ann>Bo", "Bo>Cy>Ann"]}


@pytest.mark.parametrize(("shape", "word"), [*itertools.product((ballots, orders), BLANK)])
def test_marks_of_no_vote_are_blank(shape, word):
    found = read_rankings(shape(word), user=None)
    assert found.item_names == ("Ann", "Bo", "Cy")
    assert found.ranks.tolist() == [[0, 1, -1], [0, 1, -1], [2, 0, 1]]


@pytest.mark.parametrize(("shape", "word"), [*itertools.product((ballots, orders), UNCLEAR)])
def test_other_marks_need_a_word_of_the_holder(shape, word):
    assert unclear(word)
    with pytest.raises(DataError, match="may be a mark rather than an item: say blank="):
        read_rankings(shape(word), user=None)
    blank = read_rankings(shape(word), user=None, blank=[word.lower()])
    assert blank.item_names == ("Ann", "Bo", "Cy")
    assert blank.ranks.tolist() == [[0, 1, -1], [0, 1, -1], [2, 0, 1]]
    items = ["Ann", "Bo", "Cy"]
    with pytest.raises(DataError, match=r"is not in the list of items.*or say blank="):
        read_rankings(shape(word), user=None, items=items)
    listed = read_rankings(shape(word), user=None, items=[*items, word])
    assert listed.ranks.tolist() == [[0, 1, -1, 2], [1, 2, -1, 0], [2, 0, 1, -1]]


@pytest.mark.parametrize("word", ["Ann\nBo", "Ann, Bo", "ann/BO", "Bo and Cy", "Cy; Ann;Bo"])
def test_names_of_other_items_joined_need_a_word_of_the_holder(word):
    with pytest.raises(DataError, match=r"(may be a mark|joins names of other items).*say blank="):
        read_rankings(ballots(word), user=None)
    blank = read_rankings(ballots(word), user=None, blank=[word])
    assert blank.item_names == ("Ann", "Bo", "Cy")
    listed = read_rankings(ballots(word), user=None, items=["Ann", "Bo", "Cy", word])
    assert listed.item_names == ("Ann", "Bo", "Cy", word)


def test_names_with_the_same_signs_stay():
    for word in ("Ann, Jr.", "Ann (left)", "Ann & Dee", "Tea/Ann"):
        assert word in read_rankings(ballots(word), user=None).item_names


@pytest.mark.parametrize("word", ["none", "Blank", "-", "skipped"])
def test_a_word_in_the_list_is_an_item(word):
    found = read_rankings(ballots(word), user=None, items=["Ann", "Bo", "Cy", word])
    assert found.ranks.tolist() == [[0, 1, -1, 2], [1, 2, -1, 0], [2, 0, 1, -1]]


def test_any_word_can_be_blank():
    table = read_rankings(ballots("No more"), user=None, blank=["no more"])
    assert table.item_names == ("Ann", "Bo", "Cy")


def test_long_tables(tmp_path, backend):
    path = tmp_path / "long.csv"
    path.write_text(
        "user,item,rank\nu,Ann,1\nu,Bo,2\nu,overvote,3\nv,Bo,1\nv,Ann,2\nw,write-in,1\n"
    )
    for file in (path, as_parquet(path)):
        with pytest.raises(
            DataError, match=r"'(overvote|write-in)' may be a mark rather than an item"
        ):
            read_rankings(file)
        found = read_rankings(file, blank=["overvote", "Write-in"])
        assert (found.item_names, found.num_users) == (("Ann", "Bo"), 3)
    assert read_rankings(path, blank=["overvote", "write-in"]).ranks.tolist() == [
        [0, 1],
        [1, 0],
        [-1, -1],
    ]


@pytest.mark.parametrize("cells", [None, "ratings"])
def test_ranks_and_ratings(tmp_path, cells):
    path = tmp_path / "wide.csv"
    path.write_text("user,A,B,C\nu,1,2,skipped\nv,2,1,-\nw,1,N/A,2\n")
    assert read_rankings(path, cells=cells).ranks[:, 2].tolist()[:2] == [-1, -1]
    assert read_rankings(path, cells=cells).partial_users == 3
    with pytest.raises(DataError, match=r": leave out blank=\('x',\)"):
        read_rankings(path, cells=cells, blank=["x"])


def test_comparisons_without_an_answer(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("user,Oslo vs Rome,Rome vs Bonn\nu,Oslo,skipped\nv,no answer,Bonn\n")
    assert len(read_comparisons(path)) == 2
    path.write_text("user,winner,loser\nu,Ann,undervote\n")
    with pytest.raises(DataError, match="which marks a missing value"):
        read_comparisons(path)
    assert len(read_comparisons(path, items=["Ann", "undervote"])) == 1


def test_the_list_is_in_the_form_by_which_cells_are_looked_up():
    assert all(word == word.casefold().strip() for word in MISSING)
    assert not any(map(unclear, ["Overton", "voter", "Writer", "write", "spoils", "Ann"]))
