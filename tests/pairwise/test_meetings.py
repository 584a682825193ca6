"""Comparison counts beside values: spread evenly, and checked."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from privrank_jax.pairwise.meetings import as_design, checked_ties


def test_ties_are_those_of_real_items_and_no_more_than_comparisons():
    mask, counts = np.array([True, True, False]), np.full((3, 3), 4.0)
    value, design, real = as_design(np.array([1.0, -1.0, np.nan]), counts, mask)
    assert checked_ties(None, value, design, real) is None
    found = checked_ties(counts, value, design, real)
    np.testing.assert_array_equal(found, design)
    np.testing.assert_array_equal(found, [[0, 4, 0], [4, 0, 0], [0, 0, 0]])
    with pytest.raises(ValueError, match="more ties than comparisons"):
        checked_ties(counts + 1, value, design, real)
    traced = jax.jit(lambda ties: checked_ties(ties, value, design, real))(counts + 1)
    assert float(traced[0, 1]) == 5.0  # not looked at under a program
