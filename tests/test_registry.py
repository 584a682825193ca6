"""Rows of modules, found by name."""

from __future__ import annotations

import sys
import types
from dataclasses import dataclass

import pytest

from privrank_jax._registry import collect, find


@dataclass
class Row:
    name: str


@pytest.fixture
def modules(monkeypatch):
    def make(**rows):
        for name, found in rows.items():
            module = types.ModuleType(name)
            module.ROWS = tuple(Row(row) for row in found)
            monkeypatch.setitem(sys.modules, name, module)
        return list(rows)

    return make


def test_rows_come_in_the_order_of_the_modules(modules):
    assert list(collect(modules(late=["z", "a"], early=["m"]), "ROWS", "study")) == ["z", "a", "m"]


def test_a_name_may_be_registered_once(modules):
    with pytest.raises(ValueError, match="two studys are named 'a'"):
        collect(modules(one=["a"], other=["b", "a"]), "ROWS", "study")


def test_a_wrong_name_gets_the_nearest_or_all():
    known = {"dp-borda": 1, "noise-all": 2}
    assert find(known, "noise-all", "mechanism", list(known)) == 2
    with pytest.raises(ValueError, match=r"no mechanism named 'dp-brda'; did you mean dp-borda\?"):
        find(known, "dp-brda", "mechanism", list(known))
    with pytest.raises(ValueError, match=r"choose one of \['dp-borda', 'noise-all'\]"):
        find(known, "xyz", "mechanism", list(known))
