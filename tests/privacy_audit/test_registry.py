"""The registry of audits: every private function has a row, and rows are consistent."""

from __future__ import annotations

import inspect

import jax
import numpy as np

from privrank_jax import (
    aggregation,
    mallows,
    pairwise,
    preferences,
    privacy,
    privacy_audit,
    release,
)
from privrank_jax.privacy.guarantee import TRUSTS

ROWS = [privacy_audit.get(name) for name in privacy_audit.names()]


def test_every_private_function_is_audited():
    private = {
        name
        for module in (pairwise, privacy, mallows, aggregation, preferences)
        for name, function in vars(module).items()
        if inspect.isfunction(function)
        and list(inspect.signature(function).parameters)[:1] == ["key"]
        and {"epsilon", "privacy"} & set(inspect.signature(function).parameters)
    }
    assert private == {row.function for row in ROWS}


def test_every_exact_release_has_a_row():
    exact = {name for name in release.__all__ if name.startswith("exact_")}
    public = {"exact_bound", "exact_samplers_available"}  # what they return depends on no answer
    assert {row.released_by for row in ROWS} - {""} == exact - public
    assert all(row.sound for row in ROWS if row.released_by)


def test_rows_make_sense():
    assert {row.name for row in ROWS if not row.sound} == {
        "noisy-counts-users-published", "top-item-published", "dp-kwiksort-published",
        "ldp-kwiksort-published",
    }  # fmt: skip
    for row in ROWS:
        assert row.trust in TRUSTS
        first, second = (jax.tree.leaves(data) for data in row.neighbors)
        assert [np.shape(x) for x in first] == [np.shape(x) for x in second]
        assert not all(map(np.array_equal, first, second))
