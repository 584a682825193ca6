"""Files of comparisons: what is read, and what each refusal says."""

from __future__ import annotations

import pytest

from privrank_jax.data import Comparisons, DataError
from tests.data.files import GOOD, HEAD, written
from tests.data.readers import load_comparisons, read_comparisons
from tests.parquet import as_parquet, parquet


def named_rows(table: Comparisons) -> list[tuple[str, str, str, bool]]:
    names = table.item_names
    return [
        (table.user_names[u], names[w], names[loser], tie)
        for u, w, loser, tie in zip(
            table.users.tolist(), table.winners.tolist(), table.losers.tolist(), table.tied.tolist()
        )
    ]


ROWS = [
    ("ann", "Oslo", "Paris", False),
    ("bob", "Paris", "Rome", True),
    ("ann", "Oslo", "Rome", False),
]


def test_reads_rows_in_order(tmp_path):
    table = read_comparisons(written(tmp_path, GOOD))
    assert named_rows(table) == ROWS
    assert table.item_names == ("Oslo", "Paris", "Rome")
    assert table.user_names == ("ann", "bob")
    assert table.name == "votes.csv"
    assert any("public" in note for note in table.notes)


@pytest.mark.parametrize(
    ("content", "name"),
    [
        ("\ufeff" + GOOD, "bom.csv"),
        (GOOD.replace("\n", "\r\n"), "windows.csv"),
        (GOOD.replace("\n", "\r"), "old_mac.csv"),
        (GOOD.replace(",", "\t"), "tabs.tsv"),
        (GOOD.replace("Oslo", '"Oslo"'), "quoted.CSV"),
        (GOOD.rstrip("\n"), "no_last_newline.csv"),
        (GOOD.replace("\n", "\n\n"), "empty_lines.csv"),
    ],
)
def test_harmless_variants_read_alike(tmp_path, content, name):
    assert named_rows(read_comparisons(written(tmp_path, content, name))) == ROWS


def test_columns_by_other_names_in_any_order(tmp_path):
    text = "note,lost,draw,won,who\nx,Paris,no,Oslo,ann\ny,Rome,yes,Paris,bob\nz,Rome,,Oslo,ann\n"
    table = read_comparisons(
        written(tmp_path, text), user="who", winner="won", loser="lost", tie="draw"
    )
    assert named_rows(table) == ROWS
    assert any("columns not used: note" in note for note in table.notes)


def test_tie_none_reads_decisions(tmp_path):
    table = read_comparisons(written(tmp_path, GOOD), tie=None)
    assert table.ties == 0
    assert any("columns not used: tie" in note for note in table.notes)


def test_public_items_keep_their_order_and_may_be_unseen(tmp_path):
    items = ["Rome", "Bern", "Paris", "Oslo"]
    table = read_comparisons(written(tmp_path, GOOD), items=items)
    assert table.item_names == tuple(items)
    assert named_rows(table) == ROWS
    assert not any("public" in note for note in table.notes)


def test_the_order_of_seen_items_does_not_depend_on_the_rows(tmp_path):
    header, *rows = GOOD.splitlines()
    turned = "\n".join([header, *reversed(rows)])
    table = read_comparisons(written(tmp_path, turned))
    assert table.item_names == ("Oslo", "Paris", "Rome")
    assert named_rows(table) == ROWS[::-1]


def test_without_users_every_row_is_one(tmp_path):
    table = read_comparisons(written(tmp_path, GOOD), user=None)
    assert not table.has_users
    assert table.users.tolist() == [0, 1, 2]
    assert any("names no users" in note for note in table.notes)


def test_a_mark_of_missing_values_may_be_an_item_of_the_public_list(tmp_path):
    path = written(tmp_path, "user,winner,loser\na,NA,DE\n")
    assert named_rows(read_comparisons(path, items=["DE", "NA"])) == [("a", "NA", "DE", False)]
    with pytest.raises(DataError, match="marks a missing value"):
        read_comparisons(path)


@pytest.mark.parametrize("name", ["tie", " Tie"])
def test_an_item_may_be_named_like_a_column_where_it_is_listed(tmp_path, name):
    path = written(tmp_path, f"{HEAD}u,{name},b,0\nv,b,{name},0\n")
    for file in (path, as_parquet(path)):
        with pytest.raises(DataError, match=f"'{name}' is the name of a column"):
            read_comparisons(file)
        assert read_comparisons(file, items=[name, "b"]).item_names == (name, "b")
    without = written(tmp_path, f"user,winner,loser\nu,{name},b\n")
    assert read_comparisons(without).num_items == 2


def test_user_ids_keep_their_case(tmp_path):
    table = read_comparisons(written(tmp_path, "user,winner,loser\nqZ,a,b\nQz,a,b\n"))
    assert table.user_names == ("qZ", "Qz")


REFUSALS = {
    "empty": ("", r"votes\.csv is empty: it needs a header row"),
    "only a byte order mark": ("\ufeff", "is empty"),
    "only empty lines": ("\n\n", "is empty"),
    "header only": (HEAD, "no rows below its header"),
    "unknown column": (
        "user,winer,loser\na,x,y\n",
        r"no column 'winner' \(did you mean 'winer'\?\); the columns are 'user', 'winer', 'loser'",
    ),
    "no user column": ("winner,loser\nx,y\n", "no column 'user'.*user=None"),
    "other separator": ("user|winner|loser\na|x|y\n", r"Say separator='\|'"),
    "column twice": ("user,winner,loser,winner\na,x,y,x\n", "2 columns are named 'winner'"),
    "unnamed tie column": ("user,winner,loser,Is_Tie\na,x,y,1\n", "'Is_Tie' looks like .* ties"),
    "blank winner": (
        HEAD + "a,x,y,0\na,,y,0\n",
        "line 3, column 'winner': the item is missing: name both items of a comparison. A tie has both",
    ),
    "blanks only": (HEAD + "a,x,  ,0\n", "line 2, column 'loser': the item is missing"),
    "blank user": (HEAD + " ,x,y,0\n", "line 2, column 'user': the user is missing"),
    "nan item": (HEAD + "a,x,NaN,0\n", "column 'loser': the item is 'NaN', which marks a missing"),
    "nan user": (HEAD + "null,x,y,0\n", "column 'user': the user is 'null'"),
    "itself": (
        HEAD + "a,x,y,0\na,x,x,0\n",
        "line 3, column 'loser': item 'x' is compared with its",
    ),
    "only one item": (HEAD + "a,x,x,0\n", "compared with itself"),
    "bad tie": (HEAD + "a,x,y,2\n", "line 2, column 'tie': '2' does not say whether it is a tie"),
    "item by case": (HEAD + "a,Paris,y,0\na,y,paris,0\n", "named twice: 'Paris' and 'paris'"),
    "item by blanks": (
        HEAD + "a,Paris,y,0\na,y,Paris ,0\n",
        "line 3.*named twice.*differ only by blanks. Spell",
    ),
    "item by accents": (
        HEAD + "a,Orl\u00e9ans,y,0\na,y,Orle\u0301ans,0\n",
        "named twice.*look the same but",
    ),
    "user by blanks": (HEAD + "ann,x,y,0\nann ,x,y,0\n", "user named twice: 'ann' and 'ann '"),
    "short row": (HEAD + "a,x,y,0\na,x\n", "line 3: 2 fields where the header has 4"),
    "long row": (HEAD + "a,x,y,0,1\n", "line 2: 5 fields where the header has 4"),
    "bytes": (HEAD.encode() + b"a,x,y,0\na,\xe9t\xe9,y,0\n", "line 3: bytes that are not UTF-8"),
    "utf-16 cut short": ((HEAD + "a,x").encode("utf-16")[:-1], "not UTF-16"),
    "utf-16 without mark": (HEAD.encode("utf-16-le"), "NUL bytes"),
    "nul": (HEAD + "a,x\0,y,0\n", "NUL bytes"),
    "open quote": (HEAD + 'a,"x,y,0\n', r"line \d: not valid CSV .*double quotes"),
    "stray quote": (HEAD + 'a,"x"y,z,0\n', "line 2: not valid CSV"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_refusals(tmp_path, case):
    content, message = REFUSALS[case]
    with pytest.raises(DataError, match=message):
        read_comparisons(written(tmp_path, content))


def test_parquet_reads_like_csv(tmp_path):
    path = parquet(tmp_path, f"SELECT * FROM '{written(tmp_path, GOOD)}'", "odd [1]*.parquet")
    table = read_comparisons(path).in_memory()
    assert named_rows(table) == ROWS
    assert table.item_names == ("Oslo", "Paris", "Rome")


def test_parquet_numbers_and_booleans(tmp_path):
    rows = "(7, 1, 2, true), (8, 2, 10, NULL), (7, 10, 1, false)"
    path = parquet(tmp_path, f'SELECT * FROM (VALUES {rows}) AS t("user", winner, loser, tie)')
    table = load_comparisons(path, items=["1", "2", "10"])
    assert table.user_names == ("7", "8")
    assert table.winners.tolist() == [0, 1, 2]
    assert table.losers.tolist() == [1, 2, 0]
    assert table.tied.tolist() == [True, False, False]
