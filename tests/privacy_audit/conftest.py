"""Runs the contract on the rows of the module that a file is named for."""

from __future__ import annotations

import importlib

import pytest

pytest.register_assert_rewrite("tests.privacy_audit.contract")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    name = metafunc.module.__name__.rpartition(".test_")[2]
    if "row" not in metafunc.fixturenames or not name.startswith("audited_"):
        return
    but = [name for mark in metafunc.definition.iter_markers("but_rows") for name in mark.args]
    rows = importlib.import_module(f"privrank_jax.privacy_audit.{name}").AUDITED
    rows = [row for row in rows if row.name not in but]
    metafunc.parametrize("row", rows, ids=lambda row: row.name)
