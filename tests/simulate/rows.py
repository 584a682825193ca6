"""Shared by tests."""

from __future__ import annotations

import math

from privrank_jax.simulate import StudyResult


def row(**changes):
    base = {
        "study": "s",
        "epsilon": 0.5,
        "link": "logistic",
        "private": True,
        "num_items": 30,
        "metric": "error",
        "mean": 0.1 + 0.2,
        "standard_error": 0.01,
        "replicates": 100,
        "nonfinite": 0,
    }
    return {**base, **changes}


RESULT = StudyResult(
    "s", [row(), row(metric="time", mean=math.nan), row(epsilon=math.inf, link='pro"bit, 2')]
)
