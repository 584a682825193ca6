"""Mistakes that analysts make in files: each message names the cure."""

from __future__ import annotations

import re

import pytest

import privrank_jax as pr
from privrank_jax.data.errors import DataError
from tests.data.readers import read_rankings
from tests.parquet import as_parquet

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
