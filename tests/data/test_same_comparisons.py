"""The new reader of comparisons and the old one on the same files: the same table, or both refuse."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privrank_jax import datasets
from privrank_jax.data.choices import read_choices
from privrank_jax.data.comparisons import read_comparisons
from privrank_jax.data.file import File
from privrank_jax.data.table import open_file
from tests.data.agreement import FIELDS, said
from tests.fuzz import strategies
from tests.fuzz.checks import THOROUGH
from tests.fuzz.strategies import fuzz

ARRAYS = ("users", "winners", "losers", "tied", "weights")
KINDS = ("comparisons", "battles", "outcomes", "pairs", "one-hot", "objects")
EXTRA = (
    {},
    {},
    {},
    {"user": None},
    {"tie": None},
    {"items": ["a", "b", "c"]},
    {"items": ["gpt", "phi", "yi"], "user": None},
    {"count": "note"},
    {"weight": "note"},
    {"ignore": ["note"]},
    {"left": "home", "right": "away", "outcome": "Result", "user": "judge"},
    {"left_wins": "a", "right_wins": "b"},
)


def new(path, **options):
    return read_comparisons(open_file(File(path)), **options)


def check(path, options):
    before, why = said(datasets.read_comparisons, path, **options)
    after, now = said(new, path, **options)
    if "not in the first object" in (why or ""):
        return  # keys may be left out now, in the first object too
    assert (before is None) == (after is None), (why, now)
    if before is None or after is None:
        places = [re.match(r"[^,]*, (line \d+), column", text or "") for text in (why, now)]
        if all(places):
            assert places[0][1] == places[1][1], (why, now)
        return
    for field in FIELDS:
        assert getattr(before, field) == getattr(after, field), field
    for field in ARRAYS:
        np.testing.assert_array_equal(getattr(before, field), getattr(after, field))


@pytest.mark.parametrize("kind", KINDS)
def test_same(kind, tmp_path):
    name = "votes.jsonl" if kind == "objects" else "votes.csv"

    @fuzz(THOROUGH)
    @given(content=strategies.contents(kind), options=st.sampled_from(EXTRA))
    def run(content, options):
        path = tmp_path / name
        path.write_bytes(content)
        check(path, options)

    run()


SIDES = (
    "user,winner,loser,tie,first,length,winner_price,loser_price,kind\n"
    "u1,a,b,0,a,1.5,3,4,x\nu2,b,c,1,b,-2,1,1,y\nu3,c,a,0,,0,2,7,x\nu3,a,b,,b,1,2,7,y\n",
    "user,model_a,model_b,winner,first,length,model_a_price,model_b_price,kind\n"
    "u1,a,b,model_b,a,1.5,3,4,x\nu2,b,c,tie,b,-2,1,1,y\nu3,c,a,left,c,0,2,7,x\n",
)
ASKED = (
    {"covariates": ("price",)},
    {"covariates": ("length",), "side": "first"},
    {"covariates": ("length", "price"), "side": "first", "group": "kind"},
    {"side": "model_a"},
    {"side": "first", "group": "kind"},
    {"covariates": ("length",)},
    {"group": "kind"},
)


def old_covariates(path, options):
    used = [*options.get("covariates", ()), options.get("side"), options.get("group")]
    header = path.read_text().split("\n")[0].split(",")
    ignore = [column for column in used if column in header and column != "model_a"]
    table = datasets.read_comparisons(path, ignore=ignore)
    return datasets.add_covariates(path, table, **options)


def test_same_covariates(tmp_path):
    @fuzz(THOROUGH)
    @given(content=strategies.damaged(SIDES, ",", 2), options=st.sampled_from(ASKED))
    def run(content, options):
        path = tmp_path / "votes.csv"
        path.write_bytes(content)
        try:
            path.read_text()
        except UnicodeError:
            return
        before, why = said(old_covariates, path, options)
        after, now = said(new, path, **options)
        assert (before is None) == (after is None), (why, now)
        if before is None:
            return
        for field in ("item_names", "user_names", "public"):
            assert getattr(before.table, field) == getattr(after, field), field
        assert before.sides == after.covariates.sides
        assert list(before.covariates) == list(after.covariates.values)
        for name, column in before.covariates.items():
            np.testing.assert_array_equal(column, after.covariates.values[name])
        np.testing.assert_array_equal(before.first, after.covariates.first)

    run()


CHOSEN = (
    "user,chosen,shown\nu1,tea,milk|tea\nu2,milk,milk|tea|water\nu1,water,water; tea\n",
    "who,Choice,option_1,option_2,option_3,n\nu1,a,a,b,,2\nu2,b,c,b,a,0\nu2,c,,a,c,1\n",
)
CHOICES = ({}, {"user": None}, {"user": "who", "count": "n"}, {"items": ["tea", "milk", "water"]})


def test_same_choices(tmp_path):
    @fuzz(THOROUGH)
    @given(content=strategies.damaged(CHOSEN, ",", 2), options=st.sampled_from(CHOICES))
    def run(content, options):
        path = tmp_path / "votes.csv"
        path.write_bytes(content)
        before, why = said(datasets.read_choices, path, **options)
        after, now = said(lambda: read_choices(open_file(File(path)), **options))
        assert (before is None) == (after is None), (why, now)
        if before is None:
            return
        for field in FIELDS:
            assert getattr(before, field) == getattr(after, field), field
        np.testing.assert_array_equal(before.sets, after.sets)
        np.testing.assert_array_equal(before.users, after.users)

    run()
