"""The house rules that a test can hold: floors, imports, signatures, docstrings."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest

from tests import house
from tests.house.imports import circles

LIGHT = {
    "privrank_jax",
    "privrank_jax.aggregation",
    "privrank_jax.comparisons",
    "privrank_jax.mallows",
    "privrank_jax.pairwise",
    "privrank_jax.personalized",
    "privrank_jax.privacy",
    "privrank_jax.tables",
}


@pytest.mark.parametrize("rule", house.RULES, ids=lambda rule: rule.__name__)
def test_the_rule_is_kept(rule: Callable[[], list[str]]) -> None:
    assert rule() == []


def test_import_is_light_and_leaves_jax_alone() -> None:
    """No optional or heavy dependency, and no change of JAX's configuration, through plain imports."""
    script = f"""
import sys, jax
before = dict(jax.config.values)
for name in {sorted(LIGHT)!r}:
    __import__(name)
assert dict(jax.config.values) == before, "JAX's configuration changed"
heavy = {{"matplotlib", "duckdb", "opendp", "dp_accounting", "typer", "rich", "pandas", "pooch",
         "ibis", "pyarrow", "beartype"}} & set(sys.modules)
assert not heavy, heavy
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_circles_are_found() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}, "e": {"e"}}
    assert circles(graph) == [["a", "b", "c"], ["e"]]
    assert circles({"a": {"b", "c"}, "b": {"c"}}) == []
