"""Mistakes that analysts make in files: each message names the cure."""

from __future__ import annotations

import pytest

from privrank_jax import datasets
from privrank_jax._cells.errors import DataError

TITLE = "remove that line"
HEADER = "If this line repeats or explains the header, remove it"


@pytest.mark.parametrize(
    ("content", "options", "words"),
    [
        ("Teas of 2026,,\nuser,a,b\nu,1,2\n", {}, TITLE),
        ("Teas of 2026\nuser,a,b\nu,1,2\n", {}, TITLE),
        ("Teas of 2026,,\na,b,c\n1,2,3\n", {"user": None}, TITLE),
        ("user,a,b\nu,1,2\nuser,a,b\nv,2,1\n", {}, HEADER),
        ("user,a,b\nWho?,How good?,How bad?\nu,5,4\n", {"cells": "ratings"}, HEADER),
        ("user;a;b\nu;4,5;2\n", {"cells": "ratings"}, "decimal point: write 4.5"),
        ("user;a;b\nu;4,5;2\n", {}, "decimal point: write 4.5"),
        ("user,a,b\nu,0,1\nv,1,0\n", {}, "ranks start at 0, add 1 to each"),
        ("user,model_a,model_b,winner\nu,x,y,model_a\n", {}, "seems to hold comparisons"),
    ],
)
def test_a_message_names_the_cure(tmp_path, content, options, words):
    path = tmp_path / "file.csv"
    path.write_text(content)
    with pytest.raises(DataError) as caught:
        datasets.read_rankings(path, **options)
    assert words in str(caught.value)


def test_a_title_above_comparisons(tmp_path):
    path = tmp_path / "file.csv"
    path.write_text("Teas of 2026\nuser,winner,loser\nu,a,b\n")
    with pytest.raises(DataError, match="If 'Teas of 2026' is a title above the names of columns"):
        datasets.read_comparisons(path)


@pytest.mark.parametrize("cells", ["u,x,1,2", "u,1.5,1,2", "u,-1,1,2"])
def test_one_wrong_cell_is_no_header_and_no_other_base(tmp_path, cells):
    path = tmp_path / "file.csv"
    path.write_text(f"user,a,b,c\n{cells}\n")
    with pytest.raises(DataError, match="is not a rank") as caught:
        datasets.read_rankings(path)
    assert HEADER not in str(caught.value)
    assert "add 1" not in str(caught.value)


def test_columns_of_a_battle_can_be_items(tmp_path):
    path = tmp_path / "file.csv"
    path.write_text("user,model_a,model_b,winner\nu,1,2,3\n")
    names = ["model_a", "model_b", "winner"]
    assert datasets.read_rankings(path, items=names).item_names == tuple(names)
