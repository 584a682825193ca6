"""Rows of modules, found by name."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import pytest

from privrank_jax._registry import collect, find


def test_rows_come_in_the_order_of_the_modules_and_each_name_once(monkeypatch):
    for name, rows in {"late": "za", "early": "m", "other": "ba"}.items():
        module = ModuleType(name)
        module.ROWS = tuple(SimpleNamespace(name=row) for row in rows)
        monkeypatch.setitem(sys.modules, name, module)
    assert list(collect(["late", "early"], "ROWS", "study")) == ["z", "a", "m"]
    with pytest.raises(ValueError, match="'a'"):
        collect(["late", "other"], "ROWS", "study")


def test_a_wrong_name_gets_the_nearest_or_all():
    known = {"dp-borda": 1, "noise-all": 2}
    assert find(known, "noise-all", "mechanism", list(known)) == 2
    for name, words in (("dp-brda", "mean dp-borda"), ("xyz", "'dp-borda', 'noise-all'")):
        with pytest.raises(ValueError, match=words):
            find(known, name, "mechanism", list(known))
