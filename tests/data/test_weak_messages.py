"""Mistakes that analysts make in files: each message names the cure."""

from __future__ import annotations

import re

import pytest

import privrank_jax as pr
from privrank_jax.data.errors import DataError
from tests.data.readers import read_rankings
from tests.parquet import as_parquet


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


LONG = "x" * 10_000


@pytest.mark.parametrize(
    "content",
    [
        f"user,winner,loser\nu,{LONG},{LONG}\n",
        f"user,winner,loser,tie\nu,a,b,{LONG}\n",
        f"user,winner,loser,n\nu,a,b,{LONG}\n",
        f"user,model_a,model_b,winner\nu,a,b,{LONG}\n",
        f"user,winner,loser\nu,a,{LONG}\nv,a,{LONG.upper()}\n",
        f"user,chosen,shown\nu,{LONG},a|b\n",
        f"user,a,b\nu,1,{LONG}\n",
        f"user,a,b\n{LONG},1,2\n{LONG},1,2\n",
        f"user,order\nu,a>{LONG}>{LONG}\n",
        f"user,item,rank\nu,{LONG},1\nu,{LONG},2\n",
        f"item_1,item_2,report,epsilon\na,b,{LONG},1\n",
    ],
)
def test_a_long_cell_is_cut(tmp_path, content, backend):
    path = tmp_path / "file.csv"
    path.write_text(content)
    options = {"count": "n"} if ",n\n" in content else {}
    for file in (path, as_parquet(path)):
        with pytest.raises(DataError) as caught:
            pr.read(file, **options)
        assert re.search("'x{70,90}…'", str(caught.value)), str(caught.value)[:500]
        assert len(str(caught.value)) < 800


def test_columns_of_a_battle_can_be_items(tmp_path):
    path = tmp_path / "file.csv"
    path.write_text("user,model_a,model_b,winner\nu,1,2,3\n")
    names = ["model_a", "model_b", "winner"]
    assert read_rankings(path, items=names).item_names == tuple(names)
