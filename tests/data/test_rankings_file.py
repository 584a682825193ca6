"""Files of rankings: wide, long, PrefLib's and Kamishima's, and what each refusal says."""

from __future__ import annotations

import pytest

from privrank_jax.data import DataError
from privrank_jax.data.ranks import cells_note
from tests.data.files import written
from tests.data.readers import load_rankings, read_rankings
from tests.parquet import parquet

WIDE = "user,Oslo,Paris,Rome\nann,1,2,3\nbob,2,2,1\ncy,,1,\n"
LONG = "user,item,rank\nann,Paris,2\nann,Oslo,1\nann,Rome,3\nbob,Rome,1\nbob,Oslo,2\nbob,Paris,2\ncy,Paris,1\n"
RANKS = [[0, 1, 2], [1, 1, 0], [-1, 0, -1]]


def assert_expected(table):
    assert table.ranks.tolist() == RANKS
    assert table.item_names == ("Oslo", "Paris", "Rome")
    assert table.user_names == ("ann", "bob", "cy")
    assert table.missing == "last"
    seen = any("items was taken from the file and is treated as public" in n for n in table.notes)
    assert seen == ("items" in table.public)
    assert seen != any("the items are the columns of the file" in note for note in table.notes)


@pytest.mark.parametrize("text", [WIDE, LONG])
@pytest.mark.parametrize(
    ("change", "name"),
    [
        (lambda text: text, "votes.csv"),
        (lambda text: "\ufeff" + text.replace("\n", "\r\n"), "windows.csv"),
        (lambda text: text.replace(",", "\t"), "tabs.tsv"),
        (lambda text: text.replace("\n", "\n\n"), "empty_lines.csv"),
        (lambda text: text.replace(",2", ",2.0").replace(",1,", ", 1 ,"), "decimals.csv"),
    ],
)
def test_reads_wide_and_long(tmp_path, text, change, name):
    assert_expected(read_rankings(written(tmp_path, change(text), name)))


@pytest.mark.parametrize("text", [WIDE, LONG])
def test_parquet_reads_like_csv(tmp_path, text):
    source = written(tmp_path, text)
    assert_expected(load_rankings(parquet(tmp_path, f"SELECT * FROM '{source}'")))


@pytest.mark.parametrize("cell", ["", " ", "NA", "nan", "NULL", "n/a"])
def test_blank_cells_are_not_ranked(tmp_path, cell):
    text = f"a,b,c\n1,{cell},2\n"
    assert read_rankings(written(tmp_path, text), user=None).ranks.tolist() == [[0, -1, 1]]


def test_wide_without_users(tmp_path):
    table = read_rankings(written(tmp_path, "a,b\n2,1\n2,1\n"), user=None)
    assert (table.ranks.tolist(), table.user_names, table.num_users) == ([[1, 0], [1, 0]], (), 2)


def test_items_choose_and_order_the_columns(tmp_path):
    text = "user,age,Oslo,Paris,Rome\nann,31,1,2,3\nbob,?,2,2,1\n"
    table = read_rankings(written(tmp_path, text), items=["Rome", "Oslo"])
    assert table.item_names == ("Rome", "Oslo")
    assert table.ranks.tolist() == [[1, 0], [0, 1]]
    assert table.notes == (cells_note(None), "columns not used: age, Paris")


def test_long_with_a_public_list_keeps_unseen_items(tmp_path):
    table = read_rankings(written(tmp_path, LONG), items=["Rome", "Bern", "Paris", "Oslo"])
    assert table.ranks.tolist() == [[2, -1, 1, 0], [0, -1, 1, 1], [-1, -1, 0, -1]]
    assert table.notes == (cells_note(None),)


def test_users_who_ranked_nothing_count_in_a_long_file(tmp_path):
    """They have a row without item and rank, or are counted by a public number of users."""
    text = "user,item,rank\nu,a,1\nu,b,2\nv,,\n"
    path = written(tmp_path, text)
    table = read_rankings(path)
    assert table.ranks.tolist() == [[0, 1], [-1, -1]]
    assert (table.user_names, table.public) == (("u", "v"), ("items", "participation"))
    told = read_rankings(path, num_users=4, items=["a", "b"])
    assert told.ranks.tolist() == [[0, 1]] + [[-1, -1]] * 3
    assert (told.user_names, told.public) == ((), ())
    with pytest.raises(DataError, match="more users than the 1 "):
        read_rankings(path, num_users=1)
    with pytest.raises(DataError, match="a row is a user"):
        read_rankings(written(tmp_path, "user,a,b\nu,1,2\n"), num_users=2)
    with pytest.raises(DataError, match="item is missing"):
        read_rankings(written(tmp_path, "user,item,rank\nu,a,1\nu,b,2\nv,,1\n"))


def test_columns_by_other_names(tmp_path):
    text = LONG.replace("user,item,rank", "who,city,place")
    table = read_rankings(written(tmp_path, text), user="who", item="city", rank="place")
    assert_expected(table)
    wide = WIDE.replace("user", "who")
    assert_expected(read_rankings(written(tmp_path, wide), user="who"))


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (WIDE.replace("2,2,1", "2,2,x"), {}, "line 3, column 'Rome': 'x' is not a rank.*list the items"),
        (WIDE.replace("2,2,1", "2,2,0"), {}, "'0' is not a rank: write a whole number, 1 = best"),
        (WIDE.replace("2,2,1", "2,2,-1"), {}, "'-1' is not a rank"),
        (WIDE.replace("2,2,1", "2.5,2.5,1"), {}, "column 'Oslo': '2.5' is not a rank"),
        (WIDE.replace("2,2,1", "2,2,1e400"), {}, "is not a rank"),
        (WIDE.replace("2,2,1", "2,2,inf"), {}, "is not a rank"),
        (WIDE.replace("2,2,1", "2,2,1_0"), {}, "is not a rank"),
        (WIDE.replace("2,2,1", "2,2,٣"), {}, "is not a rank"),
        (WIDE.replace("2,2,1", "2,2,99999999999"), {}, "is not a rank"),
        (WIDE.replace("bob", "ann"), {}, "line 3, column 'user': user 'ann' has two rows"),
        (WIDE.replace("bob", " ann"), {}, "user named twice"),
        (WIDE.replace("bob", ""), {}, "line 3, column 'user': the user is missing"),
        (WIDE.replace("Rome", "Paris"), {}, "2 columns are named 'Paris'|item named twice"),
        (WIDE.replace("Rome", " paris"), {}, "votes.csv: .*item named twice, ' paris' and 'Paris'"),
        (WIDE.replace("Rome", ""), {}, "a column has no name"),
        ("user,a,b\n", {}, "no rows below its header"),
        ("user,a\nann,1\n", {}, "a ranking needs at least two items"),
        ("a\n1\n", {"user": None}, "the only column is 'a'; a file of rankings has one column per item"),
        ("user|a|b\nann|1|2\n", {}, "one column per item.*commas"),
        ("Rank_1,Rank_2,Rank_3\n1,2,3\n", {"user": None}, "'Rank_1', 'Rank_2', ... are places.*numbers"),
        ("user,choice 1,choice 2,choice 4\nann,a,b,c\n", {}, "are places"),
        ("user,winner,loser\nann,a,b\n", {}, "holds comparisons .*`privrank rank`"),
        (WIDE, {"items": ["Oslo", "Pariss"]}, r"no column for the item 'Pariss' \(did you mean 'Paris'"),
        (WIDE, {"items": ["Oslo"]}, "at least two items"),
        (WIDE, {"rank": "place"}, "no column 'item'"),
        (WIDE, {"items": ["Oslo", "Paris"], "user": "Oslo"}, "has two roles"),
        (LONG + "ann,Oslo,2\n", {}, "line 9, column 'item': 'Oslo' is ranked twice by one user"),
        (LONG + "dee,oslo,2\n", {}, "item named twice: 'Oslo' and 'oslo'"),
        (LONG + "dee,Oslo,first\n", {}, "line 9, column 'rank': 'first' is not a rank"),
        (LONG + "dee,,1\n", {}, "the item is missing"),
        (LONG, {"items": ["Oslo", "Paris"]}, "'Rome' is not in the list of items"),
        (LONG, {"user": None}, "need a column of users"),
        ("user,item,rank\nann,a,1\nbob,a,1\n", {}, "at least two items, found 1"),
    ],
)  # fmt: skip
def test_refusals(tmp_path, text, options, message):
    with pytest.raises(DataError, match=message) as error:
        read_rankings(written(tmp_path, text), **options)
    assert "votes.csv" in str(error.value) or "items" in str(error.value)


def test_preflib_by_its_suffix(tmp_path):
    text = "# ALTERNATIVE NAME 1: a\n# ALTERNATIVE NAME 2: b\n2: 2\n"
    path = written(tmp_path, text, "votes.soi")
    assert read_rankings(path).ranks.tolist() == [[-1, 0]] * 2
    assert read_rankings(path, missing="unknown").missing == "unknown"
    with pytest.raises(DataError, match="lists its items and"):
        read_rankings(path, items=["a", "b"])
