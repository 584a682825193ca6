"""Columns that are no items are refused by name, and left out where they are said to be."""

from __future__ import annotations

import csv
import json

import pytest

from privrank_jax.data import DataError
from tests.data.readers import load_rankings, read_choices, read_comparisons, read_rankings
from tests.parquet import as_parquet

HEADER = ["voter", "precinct", "Ann", "Bo", "age", "Cy"]
ROWS = [["v1", 2, 1, 2, 3, 3], ["v2", 1, 3, 1, 4, 2], ["v3", 1, 2, 1, 5, 3]]
RANKS = [[0, 1, 2], [2, 0, 1], [1, 0, 2]]


@pytest.fixture
def wide(tmp_path):
    """The same rankings with two columns of facts on voters, in each form of file."""
    path = tmp_path / "wide.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([HEADER, *ROWS])
    lines = [json.dumps(dict(zip(HEADER, row))) for row in ROWS]
    path.with_suffix(".jsonl").write_text("\n".join(lines))
    path.with_suffix(".json").write_text(f"[{','.join(lines)}]")
    from openpyxl import Workbook

    book = Workbook()
    for row in (HEADER, *ROWS):
        book.active.append(row)
    book.save(path.with_suffix(".xlsx"))
    as_parquet(path)
    return path


@pytest.mark.parametrize(
    ("suffix", "ignore"),
    [
        (".csv", ["precinct", "age"]),
        (".csv", ["Age , PRECINCT"]),
        (".jsonl", "age,precinct"),
        (".json", ["age , precinct"]),
        (".xlsx", "age,precinct"),
        (".parquet", ["precinct", "age"]),
        (".parquet", ["Age , PRECINCT"]),
    ],
)
def test_facts_on_users_are_refused_or_left_out(wide, suffix, ignore, backend):
    path = wide.with_suffix(suffix)
    with pytest.raises(
        DataError,
        match=r"'(precinct', 'age|age', 'precinct)' do not hold .*ignore=\['(precinct', 'age|age', 'precinct)'\]",
    ):
        read_rankings(path, user="voter")
    found = read_rankings(path, user="voter", ignore=ignore)
    assert found.item_names == ("Ann", "Bo", "Cy")
    said = found.remarks if "json" in suffix else found.notes
    assert said[-1] in ("columns not used: precinct, age", "columns not used: age, precinct")
    assert read_rankings(path, user="voter", items=["Ann", "age"], cells="ranks").item_names == (
        "Ann",
        "age",
    )
    with pytest.raises(
        DataError, match=r"no column 'precint' \(did you mean 'precinct'\?\);.* by ignore"
    ):
        read_rankings(path, user="voter", ignore=["precint"])
    assert load_rankings(path, user="voter", ignore=ignore).ranks.tolist() == RANKS


def test_columns_in_memory():
    columns = {name: [row[k] for row in ROWS] for k, name in enumerate(HEADER)}
    with pytest.raises(DataError, match="'precinct', 'age' do not"):
        read_rankings(columns, user="voter")
    assert read_rankings(columns, user="voter", ignore=["age", "precinct"]).ranks.tolist() == RANKS


def test_a_name_with_a_comma_is_one_column(tmp_path):
    path = tmp_path / "v.csv"
    path.write_text('user,"Remarks, if any",A,B\nu,1,1,2\nv,1,2,1\n')
    assert read_rankings(path, ignore=["remarks, if any"]).item_names == ("A", "B")


def test_an_order_beside_other_columns(tmp_path):
    path = tmp_path / "v.csv"
    path.write_text("user,ballot,Remarks\nu,A>B,x\nv,B>A,\n")
    assert read_rankings(path, ignore=["Remarks"]).ranks.tolist() == [[0, 1], [1, 0]]


def test_a_long_table_knows_its_columns(tmp_path, backend):
    path = tmp_path / "v.csv"
    path.write_text("user,item,rank,age\nu,A,1,3\nu,B,2,3\n")
    for file in (path, as_parquet(path)):
        assert load_rankings(file, ignore=["age"]).ranks.tolist() == [[0, 1]]
        assert read_rankings(file, ignore=["age"]).item_names == ("A", "B")
        with pytest.raises(DataError, match="no column 'wave'"):
            read_rankings(file, ignore=["wave"])


def test_files_that_list_their_items_have_nothing_to_ignore(tmp_path):
    path = tmp_path / "v.soc"
    path.write_text("# ALTERNATIVE NAME 1: x\n# ALTERNATIVE NAME 2: y\n3: 2,1\n")
    with pytest.raises(DataError, match="leave out ignore"):
        read_rankings(path, ignore=["x"])


def test_comparisons_without_a_column(tmp_path, backend):
    """A pair that was asked twice, an outcome of something else, and a column with the name of an item."""
    path = tmp_path / "pairs.csv"
    path.write_text(
        "user,Oslo vs Rome,Rome vs Bonn,Oslo versus Rome\nu,Oslo,Rome,Rome\nv,Rome,Bonn,Rome\n"
    )
    assert len(read_comparisons(path, ignore=["Oslo versus Rome"])) == 4
    columns = {"better": ["a", "b"], "worse": ["b", "a"], "result": ["x", "y"]}
    names = {"user": None, "winner": "better", "loser": "worse"}
    with pytest.raises(DataError, match="'result' looks like the outcome"):
        read_comparisons(columns, **names)
    assert read_comparisons(columns, **names, ignore=["Result"]).winners.tolist() == [0, 1]
    path.write_text("better,worse,result\na,b,x\nb,a,y\n")
    rows = read_comparisons(as_parquet(path), **names, ignore=["result"])
    assert len(rows) == 2


def test_choices_without_a_column(tmp_path):
    path = tmp_path / "sets.csv"
    path.write_text("user,chosen,shown,options\nu,a,a|b,x\n")
    assert read_choices(path, ignore=["options"]).item_names == ("a", "b")
