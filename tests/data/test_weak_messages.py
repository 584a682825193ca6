"""Mistakes that analysts make in files: each message names the cure."""

from __future__ import annotations

import pytest

from privrank_jax.data.errors import DataError
from tests.data.readers import read_rankings


@pytest.mark.parametrize(
    ("content", "options", "words"),
    [
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
        read_rankings(path, **options)
    assert words in str(caught.value)


@pytest.mark.parametrize("cells", ["u,x,1,2", "u,1.5,1,2", "u,-1,1,2"])
def test_one_wrong_cell_is_no_header_and_no_other_base(tmp_path, cells):
    path = tmp_path / "file.csv"
    path.write_text(f"user,a,b,c\n{cells}\n")
    with pytest.raises(DataError, match="is not a rank") as caught:
        read_rankings(path)
    assert "add 1" not in str(caught.value)


def test_columns_of_a_battle_can_be_items(tmp_path):
    path = tmp_path / "file.csv"
    path.write_text("user,model_a,model_b,winner\nu,1,2,3\n")
    names = ["model_a", "model_b", "winner"]
    assert read_rankings(path, items=names).item_names == tuple(names)
