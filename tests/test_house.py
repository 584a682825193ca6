"""The house rules that a test can hold: floors, imports, signatures, docstrings."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import house
from tests.house.docstrings import described, exported
from tests.sources import TESTS, modules

LIGHT = ("privrank_jax", *(f"privrank_jax.{name}" for name in (
    "aggregation", "comparisons", "mallows", "pairwise", "personalized", "preferences", "privacy", "data",
)))  # fmt: skip


@pytest.mark.parametrize("rule", house.RULES, ids=lambda rule: rule.__name__)
def test_the_rule_is_kept(rule: Callable[[], list[str]]) -> None:
    assert rule() == []


def test_import_is_light_and_leaves_jax_alone() -> None:
    """No optional or heavy dependency, and no change of JAX's configuration, through plain imports."""
    script = f"""
import sys, jax
before = dict(jax.config.values)
for name in {LIGHT!r}:
    __import__(name)
assert dict(jax.config.values) == before, "JAX's configuration changed"
heavy = {{"matplotlib", "duckdb", "flint", "dp_accounting", "typer", "rich", "pandas", "pooch",
         "ibis", "pyarrow", "beartype"}} & set(sys.modules)
assert not heavy, heavy
"""
    subprocess.run([sys.executable, "-c", script], check=True)


CLOCKS = (
    r"^(?!settings.register_profile).*deadline\s*=|timeout=(?!None)|\b(time|monotonic|perf_counter|process_time)(_ns)?\(\)"
    r"|\b(now|today|utcnow)\(|datetime64\(\.now|import .*\b(monotonic|perf_counter|process_time)\b"
)


def test_no_test_looks_at_a_clock():
    """What passes on an idle machine passes on a busy one. Mutants and benchmarks are no tests."""
    found = [
        f"{path.relative_to(TESTS)}: {line.strip()}"
        for path in sorted(TESTS.rglob("*.py"))
        if path != Path(__file__) and not {"benchmarks", "mutants"} & set(path.parts)
        for line in path.read_text("utf-8").splitlines()
        if re.search(CLOCKS, line)
    ]
    assert found == []


@pytest.mark.parametrize("package", ["aggregation", "pairwise"])
def test_the_reference_lists_all_that_a_package_exports(package):
    listed = {name for module, name in described() if module == package}
    assert listed == exported()[package]


@pytest.mark.parametrize(("package", "table"), [("release", "_HOMES"), ("data", "_NAMES")])
def test_names_are_loaded_from_where_type_checkers_see_them(package, table):
    imported = (node for node in modules()[package].nodes if isinstance(node, ast.ImportFrom))
    ours = (node for node in imported if f"privrank_jax.{package}." in f"{node.module}.")
    seen = {alias.name: f"{node.module}".split(".")[2] for node in ours for alias in node.names}
    assert getattr(importlib.import_module(f"privrank_jax.{package}"), table) == seen
    assert exported()[package] == set(seen)
