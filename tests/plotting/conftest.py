"""Rows of tables to draw."""

from __future__ import annotations

import math

import pytest

from privrank_jax import plotting

ROWS = [
    {
        "study": "s",
        "epsilon": epsilon,
        "num_items": size,
        "metric": metric,
        "mean": offset - size / 100 + 1 / min(epsilon, 9.0),
        "standard_error": 0.1,
    }
    for metric, offset in (("l2_error", 0.0), ("top_k_error", 3.0))
    for epsilon in (0.5, 1.0, math.inf)
    for size in (300, 100, 200)
]


@pytest.fixture
def curves():
    return plotting.study_curves(ROWS, "num_items", curve="epsilon", title="Edge privacy")
