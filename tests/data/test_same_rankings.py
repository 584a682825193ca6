"""The new reader of rankings and the old one on the same files: the same table, or both refuse."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privrank_jax import datasets
from privrank_jax.data.file import File
from privrank_jax.data.rankings import read_rankings
from privrank_jax.data.table import open_file
from tests.data.agreement import FIELDS, said
from tests.fuzz import strategies
from tests.fuzz.checks import THOROUGH
from tests.fuzz.strategies import fuzz

KINDS = ("wide", "long", "shapes", "ratings", "costs", "lists")
EXTRA = (
    {},
    {},
    {},
    {"user": None},
    {"items": ["a", "b", "c"]},
    {"items": ["x", "y", "z"], "user": "user"},
    {"count": "a", "user": None},
    {"ignore": ["note"]},
    {"blank": ["x", "b"]},
    {"num_users": 9},
    {"order_separator": ";"},
    {"order": "ballot"},
    {"cells": "ranks"},
    {"missing": "unknown"},
    {"user": "voterid"},
)


def new(path, **options):
    return read_rankings(open_file(File(path)), **options)


def check(path, options):
    before, why = said(datasets.read_rankings, path, **options)
    after, now = said(new, path, **options)
    assert (before is None) == (after is None), (why, now)
    if before is None or after is None:
        places = [re.match(r"[^,]*, (line \d+), column", text or "") for text in (why, now)]
        if all(places):
            assert places[0][1] == places[1][1], (why, now)
        return
    for field in (*FIELDS, "missing"):
        assert getattr(before, field) == getattr(after, field), field
    np.testing.assert_array_equal(before.ranks, after.ranks)
    if hasattr(after, "ratings"):
        known = after.ranks >= 0
        assert np.all(np.isnan(after.ratings) == ~known)


@pytest.mark.parametrize("kind", KINDS)
def test_same(kind, tmp_path):
    @fuzz(THOROUGH)
    @given(content=strategies.contents(kind), options=st.sampled_from(EXTRA))
    def run(content, options):
        cells = {"cells": kind} if kind in ("ratings", "costs") else {}
        path = tmp_path / "votes.csv"
        path.write_bytes(content)
        check(path, options | cells)

    run()
